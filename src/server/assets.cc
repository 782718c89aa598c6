#include "server/assets.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/strings.h"

// Made by web/build.mjs: the bytes by .incbin, a line for each in assets_table.inc.
#define X(index, path, type, hash)                                                                 \
  extern "C" const char hotcell_asset_##index##_begin[], hotcell_asset_##index##_end[];            \
  extern "C" const char hotcell_asset_##index##_gz_begin[], hotcell_asset_##index##_gz_end[];
#include "assets_table.inc"
#undef X

namespace hotcell::server {

namespace {

std::string_view between(const char* begin, const char* end) { return {begin, static_cast<std::size_t>(end - begin)}; }

// Nothing but what this server itself serves: no inline script or style, no frame but those without an address, no
// plug-in, no form, and nobody may frame the page. Pictures may be data, since that is how programs' figures come.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// Whether a list like `gzip, br;q=0` takes gzip.
bool takes_gzip(std::string_view accept_encoding) {
  for (std::string_view item : split(accept_encoding, ',')) {
    const auto semicolon = item.find(';');
    const auto name = trim(item.substr(0, semicolon));
    if (name != "gzip" && name != "x-gzip" && name != "*") continue;
    if (semicolon == std::string_view::npos) return true;
    const auto weight = trim(item.substr(semicolon + 1));
    return weight.find_first_of("123456789") != std::string_view::npos;
  }
  return false;
}

// Weak comparison: a proxy that packs on its way makes W/"…" of ours.
bool names(std::string_view if_none_match, std::string_view etag) {
  for (std::string_view item : split(if_none_match, ',')) {
    item = trim(item);
    if (item.starts_with("W/")) item.remove_prefix(2);
    if (item == "*" || item == etag) return true;
  }
  return false;
}

}  // namespace

std::span<const Asset> assets() {
  static const auto all = std::to_array<Asset>({
#define X(index, path, type, hash)                                                 \
  {path, type, between(hotcell_asset_##index##_begin, hotcell_asset_##index##_end), \
   between(hotcell_asset_##index##_gz_begin, hotcell_asset_##index##_gz_end), "\"" hash "\""},
#include "assets_table.inc"
#undef X
  });
  return all;
}

const Asset* find_asset(std::string_view path) {
  const auto all = assets();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Asset& a) { return a.path == path; });
  return found == all.end() ? nullptr : &*found;
}

HttpResponse asset_response(const Asset& asset, std::string_view if_none_match, std::string_view accept_encoding) {
  HttpResponse out;
  out.content_type = asset.content_type;
  out.headers = {
      {"ETag", std::string(asset.etag)},
      {"Vary", "Accept-Encoding"},
      {"Cache-Control", asset.named_by_content() ? "public, max-age=31536000, immutable" : "no-cache"},
      {"X-Content-Type-Options", "nosniff"},
      {"Content-Security-Policy", std::string(kPolicy)},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Permissions-Policy", "camera=(), geolocation=(), microphone=()"},
  };
  if (names(if_none_match, asset.etag)) {
    out.status = 304;
    return out;
  }
  if (takes_gzip(accept_encoding) && asset.gzip.size() < asset.bytes.size()) {
    out.headers.emplace_back("Content-Encoding", "gzip");
    out.body = asset.gzip;
  } else {
    out.body = asset.bytes;
  }
  return out;
}

}  // namespace hotcell::server
