# hotcell-attack: the built-in attacks as one small static program, since a cell need have no interpreter. musl where
# it is there (120 KB, starts faster), the static C library of the host otherwise. Never sanitized: it is run in cells.
file(GLOB attack_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/attacks/*.cc)
list(FILTER attack_sources EXCLUDE REGEX "_test\\.cc$")
find_program(HOTCELL_MUSL_GCC musl-gcc)
set(attack_program ${CMAKE_BINARY_DIR}/bin/hotcell-attack)
set(attack_flags -x c++ -std=c++20 -O2 -fno-exceptions -fno-rtti -fno-threadsafe-statics -nostdinc++ -static -s
  -Wall -Wextra -Wshadow -Wold-style-cast -Wformat=2 -Werror)
if(HOTCELL_MUSL_GCC)
  set(attack_compiler ${HOTCELL_MUSL_GCC})
  # musl has no kernel headers of its own; after its own folders, so that glibc's are never preferred.
  list(APPEND attack_flags -idirafter /usr/include -idirafter /usr/include/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
else()
  set(attack_compiler ${CMAKE_CXX_COMPILER})
endif()
add_custom_command(OUTPUT ${attack_program}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/bin
  COMMAND ${attack_compiler} ${attack_flags} ${attack_sources} -o ${attack_program}
  DEPENDS ${attack_sources} ${PROJECT_SOURCE_DIR}/src/attacks/attack.h
  VERBATIM)
add_custom_target(hotcell-attack ALL DEPENDS ${attack_program})
install(PROGRAMS ${attack_program} DESTINATION libexec/hotcell)

file(GLOB attack_tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/attacks/*_test.cc)
if(BUILD_TESTING AND attack_tests)
  add_executable(attacks_test ${attack_tests})
  target_link_libraries(attacks_test PRIVATE hotcell_flags GTest::gtest_main)
  target_compile_definitions(attacks_test PRIVATE HOTCELL_ATTACK_PROGRAM="${attack_program}")
  add_dependencies(attacks_test hotcell-attack)
  hotcell_add_test(attacks_test unit)
  add_dependencies(unit_tests attacks_test)
endif()
if(TARGET cli_test)
  add_dependencies(cli_test hotcell-attack)
endif()
