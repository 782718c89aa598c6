# The rules of all languages are checked and compiled at build time: rules_gen prints them as constants. A library of its
# own, so that a rule that is wrong stops the verifier's build and nothing else.
set(rules_out ${PROJECT_BINARY_DIR}/generated/rules_embedded.cc)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated)
add_executable(rules_gen ${PROJECT_SOURCE_DIR}/src/verify/rules_gen.cc)
target_link_libraries(rules_gen PRIVATE hotcell_verify)

file(GLOB rules_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/languages/*/rules.yaml)
set(rules_arguments "")
foreach(f IN LISTS rules_files)
  get_filename_component(folder ${f} DIRECTORY)
  get_filename_component(language ${folder} NAME)
  list(APPEND rules_arguments ${language}=${f})
endforeach()
add_custom_command(OUTPUT ${rules_out} COMMAND rules_gen ${rules_out} ${rules_arguments}
  DEPENDS rules_gen ${rules_files} VERBATIM)
add_library(hotcell_rules STATIC ${rules_out})
target_link_libraries(hotcell_rules PUBLIC hotcell_verify)
