#include "server/assets.h"

#include <gtest/gtest.h>

#include <string>

namespace hotcell::server {
namespace {

std::string header_of(const HttpResponse& response, std::string_view name) {
  for (const auto& [key, value] : response.headers)
    if (key == name) return value;
  return "";
}

const Asset& script() {
  for (const Asset& a : assets())
    if (a.path.starts_with("/assets/app-") && a.path.ends_with(".js")) return a;
  ADD_FAILURE() << "no script";
  return assets().front();
}

TEST(Assets, ThePageNamesOnlyFilesThatAreThere) {
  const Asset* page = find_asset("/");
  ASSERT_NE(page, nullptr);
  std::size_t named = 0;
  const auto text = page->bytes;
  for (auto at = text.find("/assets/"); at != std::string_view::npos; at = text.find("/assets/", at + 1)) {
    const auto path = text.substr(at, text.find('"', at) - at);
    EXPECT_NE(find_asset(path), nullptr) << path;
    ++named;
  }
  EXPECT_EQ(named + 1, assets().size());
}

TEST(Assets, ThePageHasNoScriptOrStyleOfItsOwn) {
  const auto page = find_asset("/")->bytes;
  EXPECT_EQ(page.find("<style"), std::string_view::npos);
  EXPECT_EQ(page.find("style="), std::string_view::npos);
  EXPECT_EQ(page.find(" on"), std::string_view::npos);
  for (std::size_t at = page.find("<script"); at != std::string_view::npos; at = page.find("<script", at + 1))
    EXPECT_TRUE(page.substr(at).starts_with("<script src=\"/assets/"));
}

TEST(Assets, WhatIsPackedIsGzipAndSmaller) {
  const auto packed = asset_response(script(), "", "deflate, gzip;q=1.0, *;q=0.5");
  EXPECT_EQ(header_of(packed, "Content-Encoding"), "gzip");
  EXPECT_TRUE(packed.body.starts_with("\x1f\x8b"));
  EXPECT_LT(packed.body.size(), script().bytes.size() / 2);
  EXPECT_EQ(header_of(packed, "Vary"), "Accept-Encoding");
}

TEST(Assets, WhoTakesNoGzipGetsTheBytesThemselves) {
  for (std::string_view accept : {"", "identity", "br", "gzip;q=0", "gzip;q=0.0, identity", "gzipped"}) {
    const auto plain = asset_response(script(), "", accept);
    EXPECT_EQ(header_of(plain, "Content-Encoding"), "") << accept;
    EXPECT_EQ(plain.body, script().bytes) << accept;
  }
}

TEST(Assets, AKnownTagIsAnsweredWithoutABody) {
  const std::string etag(script().etag);
  for (const auto& tag : {etag, "\"x\", " + etag, "W/" + etag, std::string("*")}) {
    const auto answer = asset_response(script(), tag, "gzip");
    EXPECT_EQ(answer.status, 304) << tag;
    EXPECT_EQ(answer.body, "");
    EXPECT_EQ(header_of(answer, "ETag"), etag);
  }
  EXPECT_EQ(asset_response(script(), "\"other\"", "gzip").status, 200);
}

TEST(Assets, OnlyNamesWithAHashAreKeptForever) {
  EXPECT_EQ(header_of(asset_response(*find_asset("/"), "", ""), "Cache-Control"), "no-cache");
  EXPECT_NE(header_of(asset_response(script(), "", ""), "Cache-Control").find("immutable"), std::string::npos);
}

TEST(Assets, ThePolicyAllowsNothingInlineAndNobodyElse) {
  const auto policy = header_of(asset_response(*find_asset("/"), "", ""), "Content-Security-Policy");
  EXPECT_TRUE(policy.starts_with("default-src 'none'; "));
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_EQ(policy.find("http"), std::string::npos);
  EXPECT_NE(policy.find("frame-ancestors 'none'"), std::string::npos);
}

TEST(Assets, OtherPathsAreNotThere) {
  for (std::string_view path : {"", "/index.html", "/assets/", "/assets/app.js", "/assets/../etc/passwd"})
    EXPECT_EQ(find_asset(path), nullptr) << path;
}

}  // namespace
}  // namespace hotcell::server
