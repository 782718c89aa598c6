# The program that waits in a lasting cell: static, against musl, embedded like init (cmake/Init.cmake).
file(GLOB spawner_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cells/spawner/*.cc)
list(APPEND spawner_sources ${PROJECT_SOURCE_DIR}/src/cells/tar/tar.cc)
file(GLOB spawner_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/cells/spawner/*.h ${PROJECT_SOURCE_DIR}/src/cells/tar/*.h
  ${PROJECT_SOURCE_DIR}/src/core/launch/init_exec.h)
set(spawner_binary ${PROJECT_BINARY_DIR}/init/hotcell-spawner)
add_custom_command(OUTPUT ${spawner_binary}
  COMMAND ${HOTCELL_MUSL_GCC} -x c++ -std=c++20 -O2 -g0 -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-asynchronous-unwind-tables
    -nostdinc++ -D_GNU_SOURCE -Wall -Wextra -Wshadow -Werror -ffunction-sections -Wl,--gc-sections -Wl,-z,noexecstack -s -static
    -iquote ${PROJECT_SOURCE_DIR}/src -idirafter /usr/include -idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
    -o ${spawner_binary} ${spawner_sources}
  DEPENDS ${spawner_sources} ${spawner_headers} VERBATIM)
add_custom_target(hotcell-spawner DEPENDS ${spawner_binary})

set(spawner_embed ${PROJECT_BINARY_DIR}/spawner_embed.S)
file(WRITE ${spawner_embed}.in ".section .rodata\n.balign 16\n.global hotcell_spawner_begin\nhotcell_spawner_begin:\n.incbin \"${spawner_binary}\"\n.global hotcell_spawner_end\nhotcell_spawner_end:\n.section .note.GNU-stack,\"\",%progbits\n")
file(GENERATE OUTPUT ${spawner_embed} INPUT ${spawner_embed}.in)
target_sources(hotcell_keeper PRIVATE ${spawner_embed})
set_source_files_properties(${spawner_embed} PROPERTIES OBJECT_DEPENDS ${spawner_binary} GENERATED TRUE)
add_dependencies(hotcell_keeper hotcell-spawner)
