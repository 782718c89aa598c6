// Secrets of the library's proxy, with the real hotcell-tls; servers and proxy are on loopback.
#include <gtest/gtest.h>

#include "hotcell/proxy.h"
#include "net/net_testing.h"

namespace hotcell {
namespace {

using net::testing::connect_to;
using net::testing::hear;
using net::testing::say;
using net::testing::Server;

const std::string kValue = "tok_Real-1234567890";

class LibrarySecrets : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = ProxySecrets::start({.values = {{"TOKEN@good.test", kValue}}});
    ASSERT_TRUE(started.ok()) << started.error().message;
    secrets = std::move(started).value();
    auto placed = secrets->place(default_policy(), request);
    ASSERT_TRUE(placed.ok()) << placed.error().message;
    placeholder = request.env["TOKEN"];
    options.secrets = secrets;
    options.rules = {.allow = {"evil.test"}, .allow_private = {"127.0.0.1"}};
    options.names = {{"good.test", {"127.0.0.1"}}, {"evil.test", {"127.0.0.1"}}};
    auto listening = EgressProxy::listen(options, "127.0.0.1", 0);
    ASSERT_TRUE(listening.ok()) << listening.error().message;
    proxy = std::move(listening).value();
  }
  // What the server was asked, and what came back.
  std::pair<std::string, std::string> ask(const std::string& host, const std::string& path = "/") {
    auto c = connect_to(proxy->port());
    std::string place = cat(host, ":", server.port());
    say(c, cat("GET http://", place, path, " HTTP/1.1\r\nHost: ", place, "\r\nX-Token: ", placeholder, "\r\n\r\n"));
    std::string answer = hear(c);
    std::lock_guard lock(mutex);
    return {std::exchange(seen, {}), answer};
  }

  std::mutex mutex;
  std::string seen, placeholder;
  Server server{[this](const sys::Fd& fd) {
    std::string head = hear(fd, "\r\n\r\n");
    auto at = head.find("X-Token: ") + 9;
    std::string token = head.substr(at, kValue.size());
    {
      std::lock_guard lock(mutex);
      seen = token;
    }
    if (head.starts_with("GET /chunks")) {
      auto chunk = [](const std::string& text) { return cat(text.size(), "\r\n", text, "\r\n"); };  // shorter than ten
      say(fd, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      for (std::size_t i = 0; i < token.size(); i += 7) say(fd, chunk(token.substr(i, 7)));
      say(fd, "0\r\nX-Trailer: ignored\r\n\r\n");
      hear(fd);
      return;
    }
    if (head.starts_with("GET /packed")) return say(fd, cat("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", token));
    say(fd, cat("HTTP/1.1 200 OK\r\nContent-Length: ", token.size(), "\r\nConnection: close\r\n\r\n", token));
  }};
  Request request;
  EgressProxyOptions options;
  std::shared_ptr<ProxySecrets> secrets;
  std::unique_ptr<EgressProxy> proxy;
};

TEST_F(LibrarySecrets, ReachTheirHostAndNoOtherAndNeverComeBack) {
  EXPECT_EQ(placeholder.size(), kValue.size());
  EXPECT_NE(placeholder, kValue);
  auto [seen_by_good, answer] = ask("good.test");  // allowed since a secret is for it
  EXPECT_EQ(seen_by_good, kValue);
  EXPECT_TRUE(answer.ends_with(placeholder)) << answer;
  EXPECT_EQ(answer.find(kValue), std::string::npos) << answer;
  EXPECT_EQ(ask("evil.test").first, placeholder);
  ASSERT_TRUE(proxy->set_rules({.block = {"evil.test"}, .allow_private = {"127.0.0.1"}}).ok());
  EXPECT_EQ(ask("good.test").first, kValue) << "other rules do not take its host away";
  EXPECT_EQ(ask("evil.test").first, "");
  ASSERT_TRUE(proxy->set_rules({.block = {"good.test"}, .allow_private = {"127.0.0.1"}}).ok());
  EXPECT_EQ(ask("good.test").first, "") << "a block wins";
}

// Where a server cuts what it says back is often up to who asks: half a value here and half there is still the value.
TEST_F(LibrarySecrets, DoNotComeBackInPieces) {
  auto [seen_by_good, answer] = ask("good.test", "/chunks");
  EXPECT_EQ(seen_by_good, kValue);
  std::string body = answer.substr(answer.find("\r\n\r\n") + 4);
  EXPECT_TRUE(body.ends_with("0\r\n\r\n")) << answer;
  for (std::size_t i = 0; i + 6 <= kValue.size(); ++i) EXPECT_EQ(body.find(kValue.substr(i, 6)), std::string::npos) << answer;
  std::string whole;
  for (std::string_view rest = body; !rest.empty();) {
    std::size_t size = std::stoul(std::string(rest), nullptr, 16), from = rest.find("\r\n") + 2;
    whole += rest.substr(from, size);
    rest.remove_prefix(from + size + 2);
  }
  EXPECT_EQ(whole, placeholder);
  answer = ask("good.test", "/packed").second;
  EXPECT_EQ(answer.find(kValue), std::string::npos) << "what cannot be searched is not passed on: " << answer;
}

TEST_F(LibrarySecrets, ThePlaceholderIsWhatTheRequestHasAndWhatIsCleanedBecomes) {
  EXPECT_EQ(secrets->clean("a " + kValue + " b"), "a " + placeholder + " b");
  EXPECT_EQ(request.files.size(), 2u);
  EXPECT_TRUE(request.env.contains("SSL_CERT_FILE"));
  Policy passing = default_policy();
  passing.env.pass = {"TOKEN"};
  auto refused = secrets->place(passing, request);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("passes TOKEN on"), std::string::npos) << refused.error().message;
}

TEST(LibrarySecretsStart, SaysWhatIsWrong) {
  EXPECT_FALSE(ProxySecrets::start({}).ok());
  EXPECT_FALSE(ProxySecrets::start({.values = {{"TOKEN", kValue}}}).ok()) << "for nobody";
  EXPECT_FALSE(ProxySecrets::start({.values = {{"TOKEN@*", kValue}}}).ok()) << "for everybody";
  EXPECT_FALSE(ProxySecrets::start({.values = {{"TOKEN@good.test", "short"}}}).ok());
  auto missing = ProxySecrets::start({.values = {{"TOKEN@good.test", kValue}}, .program = "/nonexistent/hotcell-tls"});
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("/nonexistent/hotcell-tls"), std::string::npos) << missing.error().message;
}

}  // namespace
}  // namespace hotcell
