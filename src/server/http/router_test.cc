#include <gtest/gtest.h>

#include "base/strings.h"
#include "server/http/exchange.h"
#include "server/http/target.h"

namespace hotcell::server {
namespace {

Router make() {
  Router router;
  auto nothing = [](ExchangePtr) {};
  router.add("GET", "/", Scope::kNone, nothing);
  router.add("GET", "/executions", Scope::kRead, nothing);
  router.add("GET", "/executions/:id", Scope::kRead, nothing);
  router.add("POST", "/executions/:id/kill", Scope::kRun, nothing);
  router.add("DELETE", "/executions/:id", Scope::kAdmin, nothing);
  router.add("GET", "/assets/*", Scope::kNone, nothing);
  return router;
}

// "scope params…", or "405 Allow", or "404".
std::string route(std::string_view method, std::string_view path) {
  static const Router router = make();
  auto match = router.match(method, path);
  if (match.handler == nullptr) return match.allowed.empty() ? "404" : "405 " + join(match.allowed, ",");
  return cat(static_cast<int>(match.scope), " ", join(match.params, ","));
}

TEST(Router, FindsByMethodAndParts) {
  EXPECT_EQ(route("GET", "/"), "0 ");
  EXPECT_EQ(route("GET", "/executions"), "1 ");
  EXPECT_EQ(route("GET", "/executions/a b"), "1 a b");
  EXPECT_EQ(route("POST", "/executions/7/kill"), "2 7");
  EXPECT_EQ(route("DELETE", "/executions/7"), "3 7");
  EXPECT_EQ(route("GET", "/assets/js/a.js"), "0 js/a.js");
  EXPECT_EQ(route("HEAD", "/executions/7"), "1 7");
}

TEST(Router, SaysWhatIsThereInstead) {
  EXPECT_EQ(route("PUT", "/executions/7"), "405 GET,DELETE,HEAD");
  EXPECT_EQ(route("GET", "/executions/7/kill"), "405 POST");
  for (const char* path : {"/nothing", "/executions/", "/executions//kill", "//executions", "/executions/7/kill/x", "",
                           "/assets", "executions"})
    EXPECT_EQ(route("GET", path), "404") << path;
}

TEST(Target, IsDecodedOnce) {
  auto target = parse_target("/a%20b/%C3%A4?x=1&y=a+b%26c&z&=q");
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target.value().path, "/a b/ä");
  const std::vector<std::pair<std::string, std::string>> query = {{"x", "1"}, {"y", "a b&c"}, {"z", ""}, {"", "q"}};
  EXPECT_EQ(target.value().query, query);
  EXPECT_EQ(parse_target("/%2541").value().path, "/%41");
  EXPECT_EQ(parse_target("HTTP://Host:80/p").value().authority, "Host:80");
  EXPECT_EQ(parse_target("http://host").value().path, "/");
}

TEST(Target, WhatIsAmbiguousIsRefused) {
  for (const char* bad :
       {"",     "a",      "/%",       "/%4",     "/%4g",      "/..",         "/a/../b",    "/./a",  "/a/.",
        "/%2e", "/a%2fb", "/a%5cb",   "/a\\b",   "/%00",      "/%0a",        "/%7f",       "/?%00", "/?%f",
        "/%80", "/#a",    "ftp://h/", "http://", "http:///x", "http://u@h/", "http://u:p/"})
    EXPECT_FALSE(parse_target(bad).ok()) << bad;
}

}  // namespace
}  // namespace hotcell::server
