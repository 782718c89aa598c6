#include "server/auth.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/sha256.h"
#include "server/http/test_client.h"
#include "sys/file.h"
#include "sys/socket.h"

namespace hotcell::server {
namespace {

using testing::body_of;
using testing::Client;
using testing::status_of;
using testing::TestServer;

constexpr const char* kKey = "hc_0123456789abcdefghijABCDEFGHIJ0123456789";

AuthOptions with_key(KeyInfo info = {}) {
  AuthOptions options;
  options.own_uid = ::geteuid();
  info.sha256_hex = sha256_hex(kKey);
  if (info.name.empty()) info.name = "agent";
  options.find_key = [info](std::string_view hash) {
    return hash == info.sha256_hex ? std::optional<KeyInfo>(info) : std::nullopt;
  };
  return options;
}

Peer local() {
  Peer peer;
  peer.loopback = true;
  return peer;
}

HttpRequest with(std::vector<std::pair<std::string, std::string>> headers) {
  HttpRequest request;
  request.headers = std::move(headers);
  return request;
}

int admit(Authenticator& auth, const Peer& peer, HttpRequest request, Scope scope, std::string* name = nullptr) {
  std::shared_ptr<void> lease;
  auto refusal = auth.admit(peer, request, scope, lease);
  if (name) *name = request.caller.name;
  return refusal ? refusal->status : 200;
}

TEST(Authenticator, TheLoopbackNeedsNoKeyUnlessToldTo) {
  Authenticator open(with_key());
  std::string name;
  EXPECT_EQ(admit(open, local(), with({}), Scope::kAdmin, &name), 200);
  EXPECT_EQ(name, "local");
  AuthOptions strict = with_key();
  strict.require_key = true;
  Authenticator closed(strict);
  EXPECT_EQ(admit(closed, local(), with({}), Scope::kRead), 401);
  EXPECT_EQ(admit(closed, local(), with({}), Scope::kNone), 200);
  EXPECT_EQ(admit(open, Peer(), with({}), Scope::kRead), 401);
}

TEST(Authenticator, AKeyIsGoodForItsScopesAndAWrongOneForNothing) {
  KeyInfo info;
  info.run = true;
  Authenticator auth(with_key(info));
  const auto bearer = with({{"authorization", std::string("Bearer ") + kKey}});
  std::string name;
  EXPECT_EQ(admit(auth, Peer(), bearer, Scope::kRun, &name), 200);
  EXPECT_EQ(name, "agent");
  EXPECT_EQ(admit(auth, Peer(), bearer, Scope::kRead), 403);
  EXPECT_EQ(admit(auth, Peer(), bearer, Scope::kOwn), 200);   // what it has started itself
  EXPECT_EQ(admit(auth, Peer(), bearer, Scope::kAdmin), 403);
  EXPECT_EQ(admit(auth, Peer(), with({{"x-api-key", kKey}}), Scope::kRun), 200);
  EXPECT_EQ(admit(auth, Peer(), with({{"authorization", "Bearer hc_wrong"}}), Scope::kRun), 401);
  EXPECT_EQ(admit(auth, Peer(), with({{"authorization", "Basic YTpi"}}), Scope::kRun), 401);
  // On the loopback, too: who shows a key wants to be treated as its owner.
  EXPECT_EQ(admit(auth, local(), with({{"authorization", "Bearer hc_wrong"}}), Scope::kRun), 401);
  EXPECT_EQ(admit(auth, local(), bearer, Scope::kAdmin), 403);
}

TEST(Authenticator, AKeyHasItsRate) {
  KeyInfo info;
  info.read = true;
  info.requests_per_minute = 3;
  Authenticator auth(with_key(info));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(admit(auth, Peer(), with({{"x-api-key", kKey}}), Scope::kRead), 200);
  HttpRequest request = with({{"x-api-key", kKey}});
  std::shared_ptr<void> lease;
  auto refusal = auth.admit(Peer(), request, Scope::kRead, lease);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 429);
  EXPECT_GE(refusal->retry_after, 19u);
  EXPECT_LE(refusal->retry_after, 21u);
}

TEST(Authenticator, AKeyRunsSoManyAtOnce) {
  KeyInfo info;
  info.run = info.read = true;
  info.max_running = 2;
  Authenticator auth(with_key(info));
  HttpRequest request = with({{"x-api-key", kKey}});
  std::shared_ptr<void> one, two, three;
  EXPECT_FALSE(auth.admit(Peer(), request, Scope::kRun, one));
  EXPECT_FALSE(auth.admit(Peer(), request, Scope::kRun, two));
  auto refusal = auth.admit(Peer(), request, Scope::kRun, three);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 429);
  EXPECT_FALSE(auth.admit(Peer(), request, Scope::kRead, three)) << "looking is not running";
  one.reset();
  EXPECT_FALSE(auth.admit(Peer(), request, Scope::kRun, three));
}

int names(Authenticator& auth, std::vector<std::pair<std::string, std::string>> headers,
          const std::string& authority = "") {
  auto refusal = auth.check_names(local(), with(std::move(headers)), authority);
  return refusal ? refusal->status : 200;
}

TEST(Authenticator, OnlyOurOwnNamesAreOurs) {
  AuthOptions options = with_key();
  options.allowed_hosts = {"Tools.example", "proxy.example:8443"};
  options.allowed_origins = {"https://ui.example/"};
  options.listening = {parse_listen("192.0.2.7:7070").value()};
  Authenticator auth(options);
  for (const char* host : {"localhost", "localhost:7070", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:7070", "127.1.2.3:80",
                           "[::1]", "[::1]:7070", "192.0.2.7:7070", "192.0.2.7", "tools.example", "tools.example:99",
                           "proxy.example:8443", "localhost."})
    EXPECT_EQ(names(auth, {{"host", host}}), 200) << host;
  for (const char* host :
       {"evil.test", "evil.test:7070", "localhost.evil.test", "127.0.0.1.evil.test", "192.0.2.7:1", "192.0.2.8:7070",
        "proxy.example", "xlocalhost", "0.0.0.0", "[::]", "2130706433", "127.1", "0177.0.0.1", ""})
    EXPECT_EQ(names(auth, {{"host", host}}), 403) << host;
  for (const char* host : {"localhost@evil.test", "localhost:80:80", "[::1", "local host", "localhost:99999", "a/b"})
    EXPECT_EQ(names(auth, {{"host", host}}), 400) << host;
  EXPECT_EQ(names(auth, {{"host", "localhost"}}, "evil.test"), 400);
  // What only HTTP/1.0 can leave out goes by no name.
  auto none = auth.check_names(local(), with({}), "");
  ASSERT_TRUE(none);
  EXPECT_EQ(none->status, 403);
  EXPECT_NE(none->message.find("HTTP/1.0"), std::string::npos) << none->message;
}

TEST(Authenticator, OriginsAreCheckedLikeHosts) {
  AuthOptions options = with_key();
  options.allowed_origins = {"https://ui.example/"};
  Authenticator auth(options);
  auto origin = [&](const char* text) { return names(auth, {{"host", "localhost:7070"}, {"origin", text}}); };
  for (const char* good : {"http://localhost:7070", "http://127.0.0.1:7070", "http://[::1]:7070", "https://ui.example"})
    EXPECT_EQ(origin(good), 200) << good;
  for (const char* bad : {"http://evil.test", "http://localhost.evil.test", "null", "", "file://", "http://ui.example",
                          "https://ui.example.evil.test", "http://localhost@evil.test", "moz-extension://abc",
                          "https://ui.example:444", "http://localhost/x"})
    EXPECT_EQ(origin(bad), 403) << bad;
  EXPECT_TRUE(auth.is_allowed_origin("https://ui.example"));
  EXPECT_FALSE(auth.is_allowed_origin("http://localhost:7070"));
  EXPECT_EQ(names(auth, {{"host", "localhost"}, {"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "no-cors"}}), 403);
  EXPECT_EQ(names(auth, {{"host", "localhost"}, {"sec-fetch-site", "cross-site"}, {"sec-fetch-mode", "navigate"}}),
            200);
  EXPECT_EQ(names(auth, {{"host", "localhost"}, {"sec-fetch-site", "same-origin"}}), 200);
}

TEST(Authenticator, TheUnixSocketIsForItsOwnerAndRoot) {
  Authenticator auth(with_key());
  Peer peer;
  peer.unix_socket = true;
  peer.uid = ::geteuid();
  EXPECT_EQ(admit(auth, peer, with({}), Scope::kAdmin), 200);
  peer.uid = 0;
  EXPECT_EQ(admit(auth, peer, with({}), Scope::kAdmin), 200);
  peer.uid = 54321;
  EXPECT_EQ(admit(auth, peer, with({}), Scope::kRead), 403);
  peer.uid.reset();
  EXPECT_EQ(admit(auth, peer, with({}), Scope::kRead), 403);
  EXPECT_FALSE(auth.check_names(peer, with({{"host", "anything"}}), ""));
}

TEST(Authenticator, TheWholeDoor) {
  AuthOptions options = with_key();
  options.require_key = true;
  Authenticator auth(options);
  auto routes = [](Router& router, TestServer&) {
    router.add("GET", "/health", Scope::kNone, [](ExchangePtr x) { x->respond({}); });
    router.add("POST", "/run", Scope::kRun, [](ExchangePtr x) { x->respond({}); });
  };
  TestServer server(routes, {}, nullptr, &auth);
  Client client = server.connect();
  EXPECT_EQ(status_of(client.ask("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")), 200);
  const std::string no_key = client.ask("POST /run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(status_of(no_key), 401);
  EXPECT_NE(no_key.find("WWW-Authenticate: Bearer\r\n"), std::string::npos);
  EXPECT_EQ(no_key.find("Connection: close"), std::string::npos) << "without a body the connection can go on";
  EXPECT_EQ(status_of(client.ask("GET /health HTTP/1.1\r\nHost: evil.test\r\n\r\n")), 403);
  const std::string early = client.ask("POST /run HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n");
  EXPECT_EQ(status_of(early), 401) << "before the body has come";
}

TEST(ListenUnix, IsPrivateAndReplacesOnlyTheDead) {
  std::string pattern = (std::filesystem::temp_directory_path() / "hotcell-sock-XXXXXX").string();
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  const std::string path = pattern + "/s";
  {
    auto first = bind_unix(path);
    ASSERT_TRUE(first.ok());
    ASSERT_TRUE(sys::listen(first.value().get()).ok());
    struct stat st {};
    ASSERT_EQ(::stat(path.c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 0777, 0600u);
    EXPECT_FALSE(bind_unix(path).ok()) << "somebody is there";
  }
  EXPECT_TRUE(bind_unix(path).ok()) << "a dead one is replaced";
  std::filesystem::remove(path);
  ASSERT_TRUE(sys::open(path.c_str(), O_CREAT | O_WRONLY, 0600).ok());
  EXPECT_FALSE(bind_unix(path).ok()) << "a plain file is not";
  EXPECT_FALSE(bind_unix(std::string(200, 'a')).ok());
  std::filesystem::remove_all(pattern);
}

TEST(CheckListen, AwayFromTheLoopbackOnlyWithKeysAndTls) {
  auto check = [](const char* listen, bool tls, std::size_t keys) {
    Config config;
    config.listen = {listen};
    if (tls) config.tls_cert = config.tls_key = "/x.pem";
    auto result = check_listen(config, keys);
    return result.ok() ? std::string() : result.error().message;
  };
  for (const char* loopback : {"127.0.0.1:7070", "localhost:0", "[::1]:7070", "127.9.9.9:1"})
    EXPECT_EQ(check(loopback, false, 0), "") << loopback;
  for (const char* other : {"0.0.0.0:7070", "[::]:7070", "192.0.2.1:80", "[::ffff:192.0.2.1]:80"}) {
    EXPECT_NE(check(other, false, 0).find("there is no TLS"), std::string::npos) << other;
    EXPECT_NE(check(other, false, 5).find("there is no TLS"), std::string::npos) << other;
    EXPECT_NE(check(other, true, 0).find("no key"), std::string::npos) << other;
    EXPECT_EQ(check(other, true, 1), "") << other;
  }
  // TLS that ends in front of us counts; so does the word that keys are needed everywhere, when there is none yet.
  auto check_told = [](bool elsewhere, bool require_key, std::size_t keys) {
    Config config;
    config.listen = {"0.0.0.0:7070"};
    config.tls_elsewhere = elsewhere;
    config.require_key = require_key;
    auto result = check_listen(config, keys);
    return result.ok() ? std::string() : result.error().message;
  };
  EXPECT_EQ(check_told(true, false, 1), "");
  EXPECT_NE(check_told(true, false, 0).find("no key"), std::string::npos);
  EXPECT_EQ(check_told(true, true, 0), "");
  EXPECT_NE(check_told(false, true, 5).find("there is no TLS"), std::string::npos);
  for (const char* bad : {"example.test:80", "127.0.0.1", "7070", ":7070", "*:80", "127.0.0.1:99999", "[::1]", "a b:1",
                          "127.0.0.1:", "localhost.:x", "127.1:80"})
    EXPECT_NE(check(bad, true, 1), "") << bad;
  EXPECT_EQ(check("127.0.0.1:1", false, 0), "");
}

TEST(ConstantTime, Compares) {
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_in_constant_time("abc", "ab"));
}

}  // namespace
}  // namespace hotcell::server
