# The programs that make a runtime wait (src/languages/*/warm.*, Warm.*) become constants.
set(warm_out ${PROJECT_BINARY_DIR}/generated/warm_preludes.cc)
file(GLOB warm_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/languages/*/warm.py ${PROJECT_SOURCE_DIR}/src/languages/*/warm.js
  ${PROJECT_SOURCE_DIR}/src/languages/*/Warm.java)
set(warm_rows "")
foreach(f IN LISTS warm_files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${f})
  file(READ ${f} warm_text)
  get_filename_component(warm_name ${f} NAME)
  string(APPEND warm_rows "  if (name == \"${warm_name}\") return R\"prelude(${warm_text})prelude\";\n")
endforeach()
file(CONFIGURE OUTPUT ${warm_out} @ONLY CONTENT "// Made from src/languages/*/warm.* and Warm.*.
#include \"languages/common/warm.h\"

namespace hotcell {

std::string_view warm_prelude(std::string_view name) {
${warm_rows}  return {};
}

}  // namespace hotcell
")
target_sources(hotcell_lang_common PRIVATE ${warm_out})
