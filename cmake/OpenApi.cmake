# src/server/rest/openapi.json becomes a constant in the program.
set(openapi_in ${PROJECT_SOURCE_DIR}/src/server/rest/openapi.json)
set(openapi_out ${PROJECT_BINARY_DIR}/generated/openapi_embedded.cc)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${openapi_in})
file(READ ${openapi_in} openapi_text)
file(CONFIGURE OUTPUT ${openapi_out} @ONLY CONTENT "// Made from src/server/rest/openapi.json.
#include \"server/rest/openapi.h\"

namespace hotcell::server {

std::string_view openapi_document() {
  return R\"openapi(${openapi_text})openapi\";
}

}  // namespace hotcell::server
")
target_sources(hotcell_server_rest PRIVATE ${openapi_out})
