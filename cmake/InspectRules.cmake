# The rules of the inspectors, checked and embedded when this is built. A rule that is wrong stops this library alone.
set(inspect_rules_out ${PROJECT_BINARY_DIR}/generated/inspect_rules.cc)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated)
add_executable(inspect_rules_gen ${PROJECT_SOURCE_DIR}/src/inspect/rules_gen.cc ${PROJECT_SOURCE_DIR}/src/inspect/rules_yaml.cc
  ${PROJECT_SOURCE_DIR}/src/inspect/regex.cc ${PROJECT_SOURCE_DIR}/src/inspect/signs.cc ${PROJECT_SOURCE_DIR}/src/inspect/pattern_reader.cc
  ${PROJECT_SOURCE_DIR}/src/inspect/names.cc)
target_link_libraries(inspect_rules_gen PRIVATE hotcell_base yaml-cpp re2)
file(GLOB inspect_rules_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/inspect/rules/*.yaml)
add_custom_command(OUTPUT ${inspect_rules_out} COMMAND inspect_rules_gen ${inspect_rules_out} ${inspect_rules_files}
  DEPENDS inspect_rules_gen ${inspect_rules_files} VERBATIM)
add_library(hotcell_inspect_rules STATIC ${inspect_rules_out})
target_link_libraries(hotcell_inspect_rules PUBLIC hotcell_base)
