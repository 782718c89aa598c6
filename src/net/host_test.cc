#include "net/host.h"

#include <gtest/gtest.h>

#include "net/punycode.h"

namespace hotcell::net {
namespace {

std::string normal(std::string_view text) {
  auto host = parse_host(text);
  return host ? host.value().name : "refused";
}

TEST(Host, OneSpellingForEachName) {
  EXPECT_EQ(normal("API.Good.TEST"), "api.good.test");
  EXPECT_EQ(normal("api.good.test."), "api.good.test");
  EXPECT_EQ(normal("_x.pkg.test"), "_x.pkg.test");
  EXPECT_EQ(normal("b\xc3\xbc" "cher.test"), "xn--bcher-kva.test");
  EXPECT_EQ(normal("B\xc3\x9c" "CHER.test"), "xn--bcher-kva.test");
  EXPECT_EQ(normal("xn--bcher-kva.test"), "xn--bcher-kva.test");
  EXPECT_EQ(normal("api\xe3\x80\x82good\xef\xbc\x8etest"), "api.good.test");  // ideographic and full-width dots
}

TEST(Host, WhatReadersCouldDifferAboutIsRefused) {
  using namespace std::string_view_literals;
  for (std::string_view text : {""sv, "."sv, "a..b"sv, ".a"sv, "a.."sv, "user@evil.test"sv, "%65vil.test"sv, "a b"sv, "a\tb"sv, "a\0b"sv,
                                "a\r\nb"sv, "evil.test/"sv, "a\\b"sv, "a#b"sv, "a?b"sv, "a:80"sv, "a,b"sv, "*"sv, "a.*.b"sv, "\xff.test"sv,
                                "api.good\xe2\x80\x8b.test"sv, "api\xc2\xad.test"sv, "xn--.test"sv, "xn--abc-.test"sv, "xn--a\xc3\xbc.test"sv,
                                "1.2.3.4.5"sv, "256.1.1.1"sv, "a.1"sv, "0x7g.1"sv, "1..1"sv, "0x100000000"sv, "[::1"sv, "[1.2.3.4]"sv,
                                "[fe80::1%eth0]"sv, "[fe80::1%25eth0]"sv, "fe80::1%lo"sv, "[]"sv, "[*]"sv, "::g"sv})
    EXPECT_EQ(normal(text), "refused") << text;
  EXPECT_EQ(normal(std::string(64, 'a') + ".test"), "refused");
  std::string long_name;
  for (int i = 0; i < 50; ++i) long_name += "abcd.";
  EXPECT_EQ(normal(long_name + "test"), "refused");
}

TEST(Host, EveryWayToWriteAnAddressIsThatAddress) {
  for (std::string_view text : {"127.0.0.1", "127.0.0.1.", "2130706433", "017700000001", "0x7f000001", "0x7f.1", "127.1", "127.0.1", "0177.0.0.01",
                                "[::ffff:127.0.0.1]", "::ffff:7f00:1", "[::FFFF:7F00:0001]",
                                "\xef\xbc\x91\xef\xbc\x92\xef\xbc\x97.\xef\xbc\x90.\xef\xbc\x90.\xef\xbc\x91"})
    EXPECT_EQ(normal(text), "127.0.0.1") << text;
  EXPECT_EQ(normal("[0:0:0:0:0:0:0:1]"), "::1");
  EXPECT_EQ(normal("FE80::A"), "fe80::a");
}

TEST(Host, AuthoritiesNeedARealPort) {
  EXPECT_EQ(parse_authority("a.test:443", 0).value().text(), "a.test:443");
  EXPECT_EQ(parse_authority("[::1]:80", 0).value().text(), "[::1]:80");
  EXPECT_EQ(parse_authority("a.test", 80).value().port, 80);
  for (const char* text : {"a.test", "a.test:", "a.test:0", "a.test:-1", "a.test: 443", "a.test:65536", "a.test:443.pkg.test", "a.test:0x50",
                           "a.test:+80", "a.test:080000", "[::1]443", "::1:80", "a:b:80"})
    EXPECT_FALSE(parse_authority(text, 0)) << text;
  EXPECT_FALSE(parse_authority("a.test:", 80));
}

TEST(Punycode, GoesThereAndBack) {
  for (std::u32string_view label : {U"bücher", U"пример", U"例え", U"a-ü-ß", U"ü"}) {
    auto encoded = punycode_encode(label);
    ASSERT_TRUE(encoded);
    EXPECT_EQ(punycode_decode(*encoded), std::u32string(label)) << *encoded;
  }
  EXPECT_EQ(punycode_encode(U"пример"), "e1afmkfd");
  EXPECT_FALSE(punycode_decode("99999999"));
}

}  // namespace
}  // namespace hotcell::net
