#include "base/sha256.h"

#include <gtest/gtest.h>

namespace hotcell {
namespace {

// The examples of FIPS 180-4.
TEST(Sha256, KnownAnswers) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PiecesGiveTheSameAsTheWhole) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  for (std::size_t cut = 0; cut <= text.size(); cut += 13) {
    Sha256 hash;
    hash.add(std::string_view(text).substr(0, cut));
    hash.add(std::string_view(text).substr(cut));
    EXPECT_EQ(hash.finish_hex(), sha256_hex(text)) << cut;
  }
}

TEST(Sha256, FieldsDoNotRunIntoEachOther) {
  Sha256 a, b;
  a.add_field("ab");
  a.add_field("c");
  b.add_field("a");
  b.add_field("bc");
  EXPECT_NE(a.finish_hex(), b.finish_hex());
}

TEST(QuickChecksum, EveryChangedByteAndLengthIsNoticed) {
  std::string text(100, 'x');
  auto whole = quick_checksum(text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string other = text;
    other[i] = static_cast<char>(other[i] ^ 1);
    EXPECT_NE(quick_checksum(other), whole) << i;
    EXPECT_NE(quick_checksum(std::string_view(text).substr(0, i)), whole) << i;
  }
  EXPECT_NE(quick_checksum(text + '\0'), whole);
}

}  // namespace
}  // namespace hotcell
