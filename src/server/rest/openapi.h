#pragma once
#include <string_view>

namespace hotcell::server {

std::string_view openapi_document();   // src/server/rest/openapi.json, embedded at build

}  // namespace hotcell::server
