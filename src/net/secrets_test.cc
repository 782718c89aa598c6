// What a cell holds, what goes on, and what comes back.
#include <gtest/gtest.h>

#include "base/json_write.h"
#include "net/exchange.h"
#include "net/journal.h"
#include "net/net_testing.h"

#include <filesystem>

namespace hotcell::net {
namespace {

const std::string kValue = "ghp_RealValue/42";

Secret secret() { return make_secret("TOKEN", "api.good.test", kValue).value(); }
Target target(std::string_view text) { return parse_authority(text, 443).value(); }

TEST(Secrets, PlaceholdersAreAsLongAndNeverTheSame) {
  Secret a = secret(), b = secret();
  EXPECT_EQ(a.placeholder.size(), kValue.size());
  EXPECT_NE(a.placeholder, b.placeholder);
  EXPECT_EQ(a.placeholder.find("Real"), std::string::npos);
}

TEST(Secrets, WhatCannotBeToldApartOrSentIsRefused) {
  EXPECT_FALSE(make_secret("T", "api.good.test", "short").ok());
  EXPECT_FALSE(make_secret("T", "api.good.test", "long enough but spaced").ok());
  EXPECT_FALSE(make_secret("T", "api.good.test", "line\r\nX-Injected: 1").ok());
  for (auto where : {"*", "10.0.0.0/8", "api.*.test", ""}) EXPECT_FALSE(make_secret("T", where, kValue).ok()) << where;
  EXPECT_TRUE(make_secret("T", "*.good.test", kValue).ok());
}

TEST(Secrets, AreGivenByNameAndHost) {
  auto made = make_secrets({{"A@one.test", kValue}, {"A@two.test:8443", kValue}, {"B@one.test", "another-value"}});
  ASSERT_TRUE(made.ok()) << made.error().message;
  ASSERT_EQ(made.value().size(), 3u);
  EXPECT_EQ(made.value()[0].placeholder, made.value()[1].placeholder) << "one variable has one placeholder";
  EXPECT_NE(made.value()[0].placeholder, made.value()[2].placeholder);
  EXPECT_FALSE(make_secrets({{"A@one.test", kValue}, {"A@two.test", "another-value"}}).ok()) << "and one value";
  for (auto wrong : {"A", "@one.test", "A@", "A B@one.test", "1A@one.test", "A=@one.test", "A@*"}) {
    auto refused = make_secrets({{wrong, kValue}});
    ASSERT_FALSE(refused.ok()) << wrong;
    EXPECT_EQ(refused.error().message.find(kValue), std::string::npos);
  }
}

TEST(Secrets, HeadersBasicCredentialsAndQueries) {
  Secret s = secret();
  std::string head = cat("GET /v1?key=", s.placeholder, " HTTP/1.1\r\nHost: api.good.test\r\nAuthorization: Bearer ", s.placeholder,
                         "\r\nX-Two: a", s.placeholder, "b", s.placeholder, "\r\nAccept-Encoding: gzip, br\r\nProxy-Foo: 1\r\n\r\n");
  auto sent = request_with_secrets(head, target("api.good.test:443"), 443, {s});
  ASSERT_TRUE(sent.ok()) << sent.error().message;
  const std::string& text = sent.value();
  EXPECT_TRUE(text.starts_with("GET /v1?key=ghp_RealValue%2F42 HTTP/1.1\r\nHost: api.good.test\r\n")) << text;
  EXPECT_NE(text.find(cat("Authorization: Bearer ", kValue, "\r\n")), std::string::npos) << text;
  EXPECT_NE(text.find(cat("X-Two: a", kValue, "b", kValue, "\r\n")), std::string::npos) << text;
  EXPECT_NE(text.find("Accept-Encoding: identity\r\n"), std::string::npos) << text;
  EXPECT_EQ(text.find(s.placeholder), std::string::npos);
  EXPECT_EQ(with_secrets(cat("Basic ", base64(cat("user:", s.placeholder))), {s}), cat("Basic ", base64(cat("user:", kValue))));
  EXPECT_EQ(with_secrets("Basic not*base64", {s}), "Basic not*base64");
}

TEST(Secrets, AnotherHostInTheRequestGetsNothing) {
  Secret s = secret();
  auto with_host = [&](std::string_view host) {
    return request_with_secrets(cat("GET / HTTP/1.1\r\nHost: ", host, "\r\nA: ", s.placeholder, "\r\n\r\n"), target("api.good.test:443"), 443, {s}).ok();
  };
  EXPECT_TRUE(with_host("api.good.test"));
  EXPECT_TRUE(with_host("API.good.test."));
  EXPECT_FALSE(with_host("evil.test"));
  EXPECT_FALSE(with_host("api.good.test:8443"));
  EXPECT_FALSE(request_with_secrets("GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", target("api.good.test:443"), 443, {s}).ok());
}

TEST(Secrets, EchoesAreCleanedHoweverTheyAreCut) {
  Secret s = secret();
  std::string text = cat("before ", kValue, " between ", kValue, kValue, " ghp_Rea"), clean = cat("before ", s.placeholder, " between ", s.placeholder, s.placeholder, " ghp_Rea");
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    Scrub scrub({s});
    std::string out;
    for (std::size_t at = 0; at < text.size(); at += cut) out += scrub.push(std::string_view(text).substr(at, cut));
    EXPECT_EQ(out + scrub.finish(), clean) << cut;
  }
  EXPECT_EQ(scrubbed(text, {}), text);
  EXPECT_EQ(scrubbed(text, {s}), clean);
  EXPECT_EQ(scrubbed("ending", {s}), "ending");  // its last letter could begin one
}

TEST(Secrets, TextThatIsNoSecretIsNotHeldBack) {
  Scrub scrub({secret()});
  EXPECT_EQ(scrub.push("ready> "), "ready> ");
  EXPECT_EQ(scrub.push("gh"), "");
  EXPECT_EQ(scrub.push("ost"), "ghost");
}

struct Folder {
  Folder() {
    const char* tmp = std::getenv("TMPDIR");
    path = cat(tmp != nullptr ? tmp : "/tmp", "/hotcell-journal-XXXXXX");
    if (::mkdtemp(path.data()) == nullptr) path.clear();
  }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string path;
};

TEST(Journal, KeepsWhatWasAskedAndSumsIt) {
  Folder folder;
  LogEntry good{std::chrono::system_clock::time_point(std::chrono::seconds(1000)), "CONNECT", "a.test", 443, true, "a.test", "allowed", "", 10, 20, std::chrono::milliseconds(5)};
  LogEntry bad = good;
  bad.allowed = false, bad.host = "evil\t.test\nx", bad.how = "--allow-domain evil.test", bad.rule = "default";
  bad.time += std::chrono::seconds(1);
  LogEntry later = good;
  later.time += std::chrono::seconds(2);
  ASSERT_TRUE(append_journal(folder.path, "run-1", {good}).ok());
  ASSERT_TRUE(append_journal(folder.path, "run-2", {bad, later}).ok());
  auto read = read_journal(folder.path);
  ASSERT_TRUE(read.ok());
  ASSERT_EQ(read.value().size(), 3u) << "a tab or a newline in a host makes no line of its own";
  EXPECT_EQ(read.value()[0].run, "run-1");
  EXPECT_EQ(read.value()[0].entry.host, "a.test");
  EXPECT_EQ(read.value()[0].entry.time, good.time);
  EXPECT_EQ(read.value()[1].entry.how, bad.how) << "by time, whichever file it is in";
  auto sum = sum_of(read.value());
  EXPECT_EQ(sum.allowed, 2u);
  EXPECT_EQ(sum.blocked, 1u);
  EXPECT_EQ(sum.bytes_down, 60u);
  EXPECT_EQ(sum.hosts["a.test"], 2u);
}

TEST(Journal, IsBounded) {
  Folder folder;
  LogEntry e{std::chrono::system_clock::now(), "CONNECT", "a.test", 443, true, "a.test", std::string(900, 'r'), "", 1, 1, {}};
  for (int i = 0; i < 12; ++i) ASSERT_TRUE(append_journal(folder.path, "run", std::vector<LogEntry>(1000, e)).ok());
  std::uintmax_t all = 0;
  for (const auto& f : std::filesystem::directory_iterator(folder.path)) all += f.file_size();
  EXPECT_LE(all, 2 * kMostJournal + (2 << 20));
  EXPECT_GE(read_journal(folder.path).value().size(), 4000u);
}

}  // namespace
}  // namespace hotcell::net
