# Programs of ours that run inside cells become constants: those that make a runtime wait (src/languages/*/warm.*, Warm.*)
# the layer below WASI modules (src/languages/wasm/wasi*), those that show or guard what a program does (show.py, rich.py, guard.py), and the drivers of contexts.
set(warm_out ${PROJECT_BINARY_DIR}/generated/warm_preludes.cc)
file(GLOB warm_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/languages/*/warm.py ${PROJECT_SOURCE_DIR}/src/languages/*/warm.js
  ${PROJECT_SOURCE_DIR}/src/languages/*/Warm.java ${PROJECT_SOURCE_DIR}/src/languages/*/rich.py
  ${PROJECT_SOURCE_DIR}/src/languages/*/guard.py ${PROJECT_SOURCE_DIR}/src/languages/*/show.py
  ${PROJECT_SOURCE_DIR}/src/languages/wasm/wasi*.c ${PROJECT_SOURCE_DIR}/src/languages/wasm/wasi.h
  ${PROJECT_SOURCE_DIR}/src/cells/contexts/driver.* ${PROJECT_SOURCE_DIR}/src/cells/contexts/driver_jobs.sh)
set(warm_rows "")
foreach(f IN LISTS warm_files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${f})
  file(READ ${f} warm_text)
  get_filename_component(warm_name ${f} NAME)
  string(APPEND warm_rows "  if (name == \"${warm_name}\") return R\"prelude(${warm_text})prelude\";\n")
endforeach()
file(CONFIGURE OUTPUT ${warm_out} @ONLY CONTENT "// Made from src/languages/*/warm.*, Warm.*, show.py, rich.py and guard.py, and src/cells/contexts/driver*.
#include \"languages/common/warm.h\"

namespace hotcell {

std::string_view warm_prelude(std::string_view name) {
${warm_rows}  return {};
}

}  // namespace hotcell
")
target_sources(hotcell_lang_common PRIVATE ${warm_out})
