# Programs that stand between the walls of a tool and what runs there: `seal` puts on our system call filter, `wait` starts
# what it is told later. Static, against musl, embedded like init (cmake/Init.cmake).
foreach(program seal wait harmless)
  set(program_source ${PROJECT_SOURCE_DIR}/src/backends/seal/${program}_main.cc)
  set(program_binary ${PROJECT_BINARY_DIR}/init/hotcell-${program})
  add_custom_command(OUTPUT ${program_binary}
    COMMAND ${HOTCELL_MUSL_GCC} -x c++ -std=c++20 -O2 -g0 -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-asynchronous-unwind-tables
      -nostdinc++ -D_GNU_SOURCE -Wall -Wextra -Wshadow -Werror -ffunction-sections -Wl,--gc-sections -Wl,-z,noexecstack -s -static
      -iquote ${PROJECT_SOURCE_DIR}/src -idirafter /usr/include -idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE} -o ${program_binary} ${program_source}
    DEPENDS ${program_source} VERBATIM)
  add_custom_target(hotcell-${program} DEPENDS ${program_binary})

  set(program_embed ${PROJECT_BINARY_DIR}/${program}_embed.S)
  file(WRITE ${program_embed}.in ".section .rodata\n.balign 16\n.global hotcell_${program}_begin\nhotcell_${program}_begin:\n.incbin \"${program_binary}\"\n.global hotcell_${program}_end\nhotcell_${program}_end:\n.section .note.GNU-stack,\"\",%progbits\n")
  file(GENERATE OUTPUT ${program_embed} INPUT ${program_embed}.in)
  target_sources(hotcell_backends PRIVATE ${program_embed})
  set_source_files_properties(${program_embed} PROPERTIES OBJECT_DEPENDS ${program_binary} GENERATED TRUE)
  add_dependencies(hotcell_backends hotcell-${program})
endforeach()
