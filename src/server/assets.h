// The dashboard's files, inside the program: no folder to find, to swap or to forget.
#pragma once
#include <span>
#include <string_view>

#include "server/http/exchange.h"

namespace hotcell::server {

struct Asset {
  std::string_view path;          // "/", "/assets/app-<hash>.js"
  std::string_view content_type;
  std::string_view bytes;
  std::string_view gzip;          // the same, packed when the program was built
  std::string_view etag;          // quoted, of `bytes`

  bool named_by_content() const { return path != "/"; }   // such a name never means anything else
};

std::span<const Asset> assets();
const Asset* find_asset(std::string_view path);

// 200 or 304. The arguments are the request's headers, empty where it has none.
HttpResponse asset_response(const Asset& asset, std::string_view if_none_match, std::string_view accept_encoding);

}  // namespace hotcell::server
