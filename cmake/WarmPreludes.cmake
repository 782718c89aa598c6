# Programs of ours that run inside cells become constants: those that make a runtime wait (src/languages/*/warm.*, Warm.*)
# and those that show or guard what a program does (rich.py, guard.py).
set(warm_out ${PROJECT_BINARY_DIR}/generated/warm_preludes.cc)
file(GLOB warm_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/languages/*/warm.py ${PROJECT_SOURCE_DIR}/src/languages/*/warm.js
  ${PROJECT_SOURCE_DIR}/src/languages/*/Warm.java ${PROJECT_SOURCE_DIR}/src/languages/*/rich.py
  ${PROJECT_SOURCE_DIR}/src/languages/*/guard.py)
set(warm_rows "")
foreach(f IN LISTS warm_files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${f})
  file(READ ${f} warm_text)
  get_filename_component(warm_name ${f} NAME)
  string(APPEND warm_rows "  if (name == \"${warm_name}\") return R\"prelude(${warm_text})prelude\";\n")
endforeach()
file(CONFIGURE OUTPUT ${warm_out} @ONLY CONTENT "// Made from src/languages/*/warm.*, Warm.*, rich.py and guard.py.
#include \"languages/common/warm.h\"

namespace hotcell {

std::string_view warm_prelude(std::string_view name) {
${warm_rows}  return {};
}

}  // namespace hotcell
")
target_sources(hotcell_lang_common PRIVATE ${warm_out})
