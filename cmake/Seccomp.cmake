# The presets' filters are compiled at build time: seccomp_gen prints them as constants, which hotcell_kernel embeds.
set(seccomp_dir ${PROJECT_SOURCE_DIR}/src/core/kernel)
set(seccomp_out ${PROJECT_BINARY_DIR}/generated/seccomp_embedded.cc)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated)

add_executable(seccomp_gen ${seccomp_dir}/seccomp_gen.cc ${seccomp_dir}/seccomp_compile.cc ${seccomp_dir}/seccomp_lists.cc
  ${seccomp_dir}/seccomp_model.cc ${seccomp_dir}/seccomp_names.cc)
target_link_libraries(seccomp_gen PRIVATE hotcell_base)

add_custom_command(OUTPUT ${seccomp_out} COMMAND seccomp_gen ${seccomp_out} DEPENDS seccomp_gen VERBATIM)
target_sources(hotcell_kernel PRIVATE ${seccomp_out})
# Boost.JSON reads `syscalls.file`, in seccomp_oci.cc alone.
target_link_libraries(hotcell_kernel PUBLIC boost_json)
