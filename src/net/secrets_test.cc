// What a cell holds, what goes on, and what comes back.
#include <gtest/gtest.h>

#include "base/json_write.h"
#include "base/strings.h"
#include "net/exchange.h"
#include "net/journal.h"
#include "net/net_testing.h"

#include <algorithm>
#include <cctype>
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

// In pieces of every size, and in two pieces cut at every place: always the same.
std::string cleaned(const std::string& text, const std::vector<Secret>& secrets) {
  const std::string whole = scrubbed(text, secrets);
  EXPECT_EQ(whole.size(), text.size()) << text;
  auto in_pieces = [&](std::size_t first, std::size_t size) {
    Scrub scrub(secrets);
    std::string out = scrub.push(std::string_view(text).substr(0, first));
    for (std::size_t at = first; at < text.size(); at += size) out += scrub.push(std::string_view(text).substr(at, size));
    return out += scrub.finish();
  };
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    EXPECT_EQ(in_pieces(cut, text.size()), whole) << cut;
    EXPECT_EQ(in_pieces(0, cut + 1), whole) << cut;
  }
  return whole;
}

std::string url_alphabet(std::string text) {
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

// Each special character as `escape` writes it.
template <typename F>
std::string escaped(std::string_view text, F escape) {
  std::string out;
  for (char c : text) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? std::string(1, c) : escape(static_cast<unsigned char>(c));
  return out;
}
// {x}, {X}, {d}, {c}: its number in either hexadecimal and in decimal, and itself.
std::string printed(std::string_view format, unsigned char c) {
  const std::string x = {"0123456789abcdef"[c >> 4], "0123456789abcdef"[c & 15]}, X = {"0123456789ABCDEF"[c >> 4], "0123456789ABCDEF"[c & 15]};
  std::string out(format);
  for (const auto& [what, by] : {std::pair<std::string, std::string>{"{x}", x}, {"{X}", X}, {"{d}", std::to_string(c)}, {"{c}", std::string(1, static_cast<char>(c))}})
    if (auto at = out.find(what); at != out.npos) out.replace(at, what.size(), by);
  return out;
}

std::string without_percents(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '%') out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16)), i += 2;
    else out += text[i];
  return out;
}

const std::string kSpecial = "p/w+d=1234567&x%zz\\\"<~";

TEST(Secrets, EchoesOfBasicCredentialsAreCleanedWhereverTheValueStands) {
  for (const std::string& value : {kValue, kSpecial, std::string("12345678"), std::string("123456789"), std::string("~~~>>>?~?~?~~"), std::string("\x7e\x7e\x7e\x7f\xff\xfb\xff\xbf\xff")})
    for (std::string before : {"", "u", "us", "user:"})
      for (std::string after : {"", ">", "~host"}) {
        const Secret s = known_secret("T", "a.test", std::string("hcabcdefghijklmnopqrstuvwxyz234567").substr(0, value.size()), value).value();
        const std::string sent = base64(cat(before, value, after)), held = base64(cat(before, s.placeholder, after));
        std::string clean = cleaned(cat("Authorization: Basic ", sent, "\r\n"), {s}), expected = cat("Authorization: Basic ", held, "\r\n");
        // The one character that has the first bits of the value beside others'.
        if (before.size() % 3 != 0) {
          const std::size_t shared = 21 + before.size() * 8 / 6;
          EXPECT_EQ(clean[shared], cat("Authorization: Basic ", sent)[shared]);
          clean[shared] = expected[shared];
        }
        EXPECT_EQ(clean, expected) << value << " after " << before.size() << " before " << after.size();
        std::string in_address = cleaned(cat(".", url_alphabet(sent)), {s});
        EXPECT_EQ(url_alphabet(in_address).substr(6 + before.size() * 2), url_alphabet(cat(".", held)).substr(6 + before.size() * 2));
        // As what the placeholder makes of it is written in JSON and in an address.
        for (auto format : {"\\u00{x}", "%{X}", "\\{c}"}) {
          auto out = cleaned(escaped(sent, [&](unsigned char c) { return printed(format, c); }), {s});
          EXPECT_EQ(out.find(sent.substr((before.size() * 8 + 5) / 6, 8)), std::string::npos) << out;
        }
      }
}

TEST(Secrets, EchoesOfAddressesAreCleaned) {
  for (const std::string& value : {kValue, kSpecial, std::string("////////"), std::string("41%41%%41%2F%zz"), std::string("%25%25%25")}) {
    const Secret s = make_secret("T", "a.test", value).value();
    const std::string sent = path_with_secrets(cat("/x?t=", s.placeholder, "&u=", s.placeholder), {s});
    EXPECT_EQ(without_percents(cleaned(sent, {s})), cat("/x?t=", s.placeholder, "&u=", s.placeholder)) << sent;
    EXPECT_EQ(without_percents(cleaned(ascii_lower(sent), {make_secret("T", "a.test", ascii_lower(value)).value()})).find(ascii_lower(value)), std::string::npos);
    // What an address keeps as it is differs from one who writes it to the next.
    for (std::string_view kept : {"*-._", "-._~", "/-._~", "!#$&'()*+,/:;=?@-._~"}) {
      const std::string text = escaped(value, [&](unsigned char c) { return kept.find(static_cast<char>(c)) != kept.npos ? std::string(1, static_cast<char>(c)) : printed("%{x}", c); });
      EXPECT_EQ(without_percents(cleaned(cat("GET ", text, " "), {s})), cat("GET ", s.placeholder, " ")) << text;
    }
    const std::string twice = escaped(value, [](unsigned char c) { return printed("%25{X}", c); });
    EXPECT_EQ(without_percents(without_percents(cleaned(twice, {s}))), s.placeholder) << twice;
  }
}

// It is the program that says what stands before its placeholder: a percent sign takes nothing from the value.
TEST(Secrets, WhatStandsBeforeAValueHidesNothingOfIt) {
  const Secret s = make_secret("T", "a.test", "41ab/cdef%2").value();
  for (std::string before : {"%", "%2", "%%", "\\", "\\u00", "&#", "&", "%25", "\\x"})
    for (std::string text : {std::string("41ab/cdef%2"), std::string("41ab%2Fcdef%252"), std::string("41ab\\/cdef%2"), std::string("41ab&#x2f;cdef&#37;2")}) {
      auto out = cleaned(cat(before, text, " rest"), {s});
      EXPECT_TRUE(out.starts_with(cat(before, s.placeholder.substr(0, 4))) && out.ends_with(" rest")) << out;
      EXPECT_EQ(out.find("cdef"), std::string::npos) << out;
    }
}

TEST(Secrets, EchoesInJsonAndHtmlAreCleaned) {
  const Secret s = make_secret("T", "a.test", kSpecial).value();
  for (auto format : {"\\u00{x}", "\\u00{X}", "\\x{x}", "\\{c}", "&#{d};", "&#x{X};"}) {
    const std::string text = escaped(kSpecial, [&](unsigned char c) { return printed(format, c); });
    const std::string out = cleaned(cat("{\"a\":\"", text, "\"}"), {s});
    EXPECT_TRUE(out.starts_with("{\"a\":\"h")) << out;
    EXPECT_TRUE(out.ends_with("\"}")) << out;
    EXPECT_EQ(out.find("1234567"), std::string::npos) << out;
  }
  EXPECT_EQ(cleaned("p/w+d=1234567&amp;x%zz\\&quot;&lt;~", {s}).find("1234567"), std::string::npos);
  // What was JSON is JSON: an escape becomes letters, or an escape of one.
  const Secret slash = known_secret("T", "a.test", "hcabcdefg", "abcd/efgh").value();
  EXPECT_EQ(cleaned("\"abcd\\/efgh\"", {slash}), "\"hcabccdefg\"");
  EXPECT_EQ(cleaned("\"abcd\\u002Fefgh\"", {slash}), "\"hcab\\u0063defg\"");
}

TEST(Secrets, NothingElseIsReplacedOrHeldBack) {
  const std::string value = "ghp_RealValue/42";
  const Secret s = make_secret("T", "a.test", value).value();
  // All but the last or the first character, in each form.
  for (const std::string& form : {value, std::string("ghp_RealValue%2F42"), std::string("ghp_RealValue\\/42")}) {
    EXPECT_EQ(cleaned(form.substr(1), {s}), form.substr(1));
    EXPECT_EQ(cleaned(form.substr(0, form.size() - 1), {s}), form.substr(0, form.size() - 1));
  }
  const std::string part = base64(cat("user:", value.substr(0, value.size() - 2))), other = base64("user:ghp_realvalue/42");
  EXPECT_EQ(cleaned(part, {s}), part);
  EXPECT_EQ(cleaned(other, {s}), other);
  Scrub scrub({s});
  for (std::string text : {"50%", "a\\", "Q&", "%2F", "&#x2f;", "100 %5"}) EXPECT_EQ(scrub.push(text), text);
  EXPECT_EQ(scrub.push("ghp%"), "");
  EXPECT_EQ(scrub.push("5"), "");
  EXPECT_EQ(scrub.push("0"), "ghp%50");
  EXPECT_EQ(scrub.push("ghp%5F"), "") << "an underscore";
  EXPECT_EQ(scrub.push("!"), "ghp%5F!");
  // A value too short to be told apart in base64 is left alone there.
  const Secret brief = known_secret("T", "a.test", "hcabc", "admin").value();
  EXPECT_EQ(cleaned(base64("user:admin"), {brief}), base64("user:admin"));
  EXPECT_EQ(cleaned("user:admin", {brief}), "user:hcabc");
}

TEST(Secrets, OneWithinAnotherLeavesNothingOfTheOther) {
  const Secret part = known_secret("A", "a.test", "hc111111", "bcdefghi").value(), whole = known_secret("B", "a.test", "hc22222222", "abcdefghij").value();
  for (const auto& both : {std::vector{part, whole}, std::vector{whole, part}}) {
    EXPECT_EQ(cleaned("-abcdefghij-bcdefghi-abcdefghi.", both), "-hc22222222-hc111111-ahc111111.");
    EXPECT_EQ(cleaned(base64("abcdefghij"), both), base64("hc22222222"));
  }
  const Secret again = known_secret("A", "a.test", "hc345678", "abababab").value();
  EXPECT_EQ(cleaned("xababababab.", {again}), "xhchc345678.") << "those that overlap go, too";
}

TEST(Secrets, CleaningTakesTimeByTheLengthOfTheText) {
  // The worst there is: values that repeat themselves, and a text that begins them all the time.
  const Secret same = make_secret("T", "a.test", std::string(4095, 'a') + "b").value();
  const std::string text(4 << 20, 'a');
  Scrub scrub({same});
  std::size_t out = 0;
  for (std::size_t at = 0; at < text.size(); at += 65536) out += scrub.push(std::string_view(text).substr(at, 65536)).size();
  EXPECT_EQ(out, text.size() - 4095) << "no more waits than could be one";
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
