# The cell's init: freestanding, static, against musl (a static glibc program costs 0.3 ms more to start: it asks the
# processor 68 questions that trap on a virtual machine). Embedded in the launch library, so there is no file to find,
# to swap or to forget.
find_program(HOTCELL_MUSL_GCC musl-gcc REQUIRED)
set(init_sources src/core/launch/init_main.cc src/core/launch/init_template.cc src/core/kernel/namespaces_apply.cc src/core/kernel/mounts_apply.cc
  src/core/kernel/landlock_apply.cc src/core/kernel/caps_apply.cc src/core/kernel/rlimits_apply.cc
  src/core/kernel/cgroup_apply.cc src/core/kernel/seccomp_apply.cc src/core/kernel/lsm_apply.cc)
list(TRANSFORM init_sources PREPEND ${PROJECT_SOURCE_DIR}/)
file(GLOB init_headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/core/kernel/*apply.h ${PROJECT_SOURCE_DIR}/src/core/kernel/ops.h
  ${PROJECT_SOURCE_DIR}/src/core/launch/init*.h ${PROJECT_SOURCE_DIR}/src/sys/uapi/*.h)
set(init_binary ${PROJECT_BINARY_DIR}/init/hotcell-init)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/init)
# Kernel headers come after musl's own, hence -idirafter. Sorted by alignment, what is small lies together behind the stacks: every cell
# has pages of its own of what it writes to, and that is one then, musl's variables included.
add_custom_command(OUTPUT ${init_binary}
  COMMAND ${HOTCELL_MUSL_GCC} -x c++ -std=c++20 -O2 -g0 -fno-exceptions -fno-rtti -fno-threadsafe-statics -fno-asynchronous-unwind-tables
    -nostdinc++ -D_GNU_SOURCE -Wall -Wextra -Wshadow -Werror -ffunction-sections -fdata-sections -Wl,--gc-sections -Wl,--sort-section=alignment -Wl,-z,noexecstack -Wl,-z,norelro -s -static
    -iquote ${PROJECT_SOURCE_DIR}/src -idirafter /usr/include -idirafter /usr/include/${CMAKE_LIBRARY_ARCHITECTURE}
    -o ${init_binary} ${init_sources}
  DEPENDS ${init_sources} ${init_headers} VERBATIM)
add_custom_target(hotcell-init DEPENDS ${init_binary})

set(init_embed ${PROJECT_BINARY_DIR}/init_embed.S)
file(WRITE ${init_embed}.in ".section .rodata\n.balign 16\n.global hotcell_init_begin\nhotcell_init_begin:\n.incbin \"${init_binary}\"\n.global hotcell_init_end\nhotcell_init_end:\n.section .note.GNU-stack,\"\",%progbits\n")
file(GENERATE OUTPUT ${init_embed} INPUT ${init_embed}.in)
enable_language(ASM)
target_sources(hotcell_launch PRIVATE ${init_embed})
set_source_files_properties(${init_embed} PROPERTIES OBJECT_DEPENDS ${init_binary} GENERATED TRUE)
add_dependencies(hotcell_launch hotcell-init)
