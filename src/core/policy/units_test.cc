#include "core/policy/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace hotcell {
namespace {

using namespace std::string_view_literals;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Units, BytesAre1024Based) {
  EXPECT_EQ(parse_bytes("1").value(), Bytes{1});
  EXPECT_EQ(parse_bytes("100K").value(), 100_KiB);
  EXPECT_EQ(parse_bytes("256M").value(), 256_MiB);
  EXPECT_EQ(parse_bytes("1G").value(), 1_GiB);
  for (auto text : {"7Mi", "7MiB", "7MB", "7M"}) EXPECT_EQ(parse_bytes(text).value(), 7_MiB) << text;
  EXPECT_EQ(parse_bytes("9223372036854775807").value().n, 9223372036854775807U);
}

TEST(Units, BadBytesNameTheValueAndWhatIsAccepted) {
  for (auto text : {""sv,
                    "0"sv,
                    "0M"sv,
                    "-1"sv,
                    "+1"sv,
                    " 1"sv,
                    "1 "sv,
                    "12Q"sv,
                    "1T"sv,
                    "1m"sv,
                    "1.5G"sv,
                    "M"sv,
                    "1MM"sv,
                    "0x10"sv,
                    "1e3"sv,
                    "9223372036854775808"sv,
                    "99999999999999999999999"sv,
                    "17179869184G"sv,
                    "8589934592G"sv,
                    "1\0M"sv,
                    "nan"sv,
                    "\xff"sv}) {
    auto result = parse_bytes(text);
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.error().code, ErrorCode::kInvalid);
    EXPECT_TRUE(result.error().message.starts_with(hotcell::quoted(text))) << result.error().message;
    EXPECT_NE(result.error().message.find("K, M or G"), std::string::npos) << result.error().message;
  }
}

TEST(Units, DurationsAreExact) {
  EXPECT_EQ(parse_duration("500ms").value(), milliseconds(500));
  EXPECT_EQ(parse_duration("60s").value(), seconds(60));
  EXPECT_EQ(parse_duration("60").value(), seconds(60));
  EXPECT_EQ(parse_duration("2m").value(), minutes(2));
  EXPECT_EQ(parse_duration("1h").value(), hours(1));
  EXPECT_EQ(parse_duration("0.1s").value(), milliseconds(100));
  EXPECT_EQ(parse_duration("30.0").value(), seconds(30));
  EXPECT_EQ(parse_duration("1.5m").value(), seconds(90));
  EXPECT_EQ(parse_duration("0.000000001s").value(), Nanoseconds(1));
}

TEST(Units, BadDurationsAreRefused) {
  for (auto text : {""sv,
                    "0"sv,
                    "0s"sv,
                    "0.0s"sv,
                    "-1s"sv,
                    "1d"sv,
                    "1ns"sv,
                    "1 s"sv,
                    "1s "sv,
                    ".5s"sv,
                    "1.s"sv,
                    "1e3s"sv,
                    "nan"sv,
                    "inf"sv,
                    "1.0000000001s"sv,
                    "0.0000001ms"sv,
                    "9223372037s"sv,
                    "2562048h"sv,
                    "9999999999999999999999h"sv,
                    "1s\0"sv})
    EXPECT_FALSE(parse_duration(text).ok()) << text;
  EXPECT_NE(parse_duration("5x").error().message.find("\"5x\" is not a duration; accepted: "), std::string::npos);
}

TEST(Units, Cpus) {
  EXPECT_DOUBLE_EQ(parse_cpus("1.5").value(), 1.5);
  EXPECT_DOUBLE_EQ(parse_cpus("2").value(), 2);
  EXPECT_DOUBLE_EQ(parse_cpus("0.01").value(), 0.01);
  for (auto text : {"", "0", "0.0", "-1", "nan", "NaN", "inf", "1e1", "0x1", "1.", ".5", "1.5x", "0.009", "8193",
                    "1.5.5", "999999999999999999999999999999999999999999999999999999"})
    EXPECT_FALSE(parse_cpus(text).ok()) << text;
}

TEST(Units, Counts) {
  EXPECT_EQ(parse_count("10").value(), 10U);
  EXPECT_EQ(parse_count("4294967295").value(), 4294967295U);
  for (auto text : {"", "0", "-1", "1.0", "4294967296", "18446744073709551616", "1K", " 1", "1\n"})
    EXPECT_FALSE(parse_count(text).ok()) << text;
}

TEST(Units, ForPeople) {
  EXPECT_EQ(format_bytes({512}), "512 bytes");
  EXPECT_EQ(format_bytes({1572864}), "1.5M");
  EXPECT_EQ(format_bytes(1_GiB), "1G");
  EXPECT_EQ(format_duration(milliseconds(1500)), "1.5s");
  EXPECT_EQ(format_duration(Nanoseconds(1500)), "1.5us");
  EXPECT_EQ(format_duration(minutes(5)), "5m");
  EXPECT_EQ(format_duration(Nanoseconds(std::numeric_limits<std::int64_t>::min()))[0], '-');
}

TEST(Units, ExactFormsParseBackToTheSame) {
  for (std::uint64_t n :
       {1ULL, 1023ULL, 1024ULL, 1536ULL, 1ULL << 20, (1ULL << 30) + 1, 3ULL << 30, 9223372036854775807ULL})
    EXPECT_EQ(parse_bytes(exact_bytes({n})).value().n, n);
  for (std::int64_t n :
       {1LL, 999'999LL, 1'000'000LL, 1'500'000'000LL, 60'000'000'000LL, 1'000'000'001LL, 9223372036854775807LL})
    EXPECT_EQ(parse_duration(exact_duration(Nanoseconds(n))).value().count(), n);
  for (double n : {0.01, 0.1, 0.5, 1.0 / 3, 8191.99}) EXPECT_EQ(parse_cpus(format_cpus(n)).value(), n);
}

TEST(Units, QuotedIsOneSafeLine) {
  EXPECT_EQ(hotcell::quoted("a\nb\x1b[31m"), "\"a\\nb\\x1b[31m\"");
  EXPECT_LT(hotcell::quoted(std::string(5000, 'x')).size(), 100U);
  EXPECT_EQ(hotcell::quoted(std::string(79, 'x') + "é"), "\"" + std::string(79, 'x') + "…\"");  // not half a character
}

}  // namespace
}  // namespace hotcell
