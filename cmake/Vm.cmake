# The program of the vm backend: the guest's first process and, beside QEMU, the runner. Static, against musl, embedded like
# init (cmake/Init.cmake).
file(GLOB vm_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/backends/vm_guest/*.cc)
file(GLOB vm_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/backends/vm_guest/*.h)
set(vm_binary ${PROJECT_BINARY_DIR}/init/hotcell-vm)
add_custom_command(OUTPUT ${vm_binary}
  COMMAND ${HOTCELL_MUSL_GCC} -x c++ -std=c++20 -O2 -g0 -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-asynchronous-unwind-tables
    -nostdinc++ -D_GNU_SOURCE -Wall -Wextra -Wshadow -Werror -ffunction-sections -Wl,--gc-sections -Wl,-z,noexecstack -s -static
    -iquote ${PROJECT_SOURCE_DIR}/src -idirafter /usr/include -idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
    -o ${vm_binary} ${vm_sources}
  DEPENDS ${vm_sources} ${vm_headers} VERBATIM)
add_custom_target(hotcell-vm DEPENDS ${vm_binary})

set(vm_embed ${PROJECT_BINARY_DIR}/vm_embed.S)
file(WRITE ${vm_embed}.in ".section .rodata\n.balign 16\n.global hotcell_vm_begin\nhotcell_vm_begin:\n.incbin \"${vm_binary}\"\n.global hotcell_vm_end\nhotcell_vm_end:\n.section .note.GNU-stack,\"\",%progbits\n")
file(GENERATE OUTPUT ${vm_embed} INPUT ${vm_embed}.in)
target_sources(hotcell_backends PRIVATE ${vm_embed})
set_source_files_properties(${vm_embed} PROPERTIES OBJECT_DEPENDS ${vm_binary} GENERATED TRUE)
add_dependencies(hotcell_backends hotcell-vm)
