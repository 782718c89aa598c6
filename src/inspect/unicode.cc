#include "inspect/unicode.h"

#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/uspoof.h>
#include <unicode/utf8.h>

#include <memory>

namespace hotcell::inspect {

namespace {

struct Spoof {
  USpoofChecker* checker = nullptr;
  const icu::Normalizer2 *fold = nullptr, *decompose = nullptr;
  Spoof() {
    UErrorCode error = U_ZERO_ERROR;
    checker = uspoof_open(&error);
    fold = icu::Normalizer2::getNFKCCasefoldInstance(error);
    decompose = icu::Normalizer2::getNFKDInstance(error);
  }
  ~Spoof() { uspoof_close(checker); }
  Spoof(const Spoof&) = delete;
  Spoof& operator=(const Spoof&) = delete;
};

const Spoof& spoof() {
  static const Spoof only;
  return only;
}

bool is_invisible(UChar32 c) {
  return c == 0xAD || c == 0x34F || c == 0x61C || c == 0x180E || (c >= 0x200B && c <= 0x200F) ||
         (c >= 0x202A && c <= 0x202E) || (c >= 0x2060 && c <= 0x206F) || c == 0xFEFF || (c >= 0xFE00 && c <= 0xFE0F) ||
         c == 0x115F || c == 0x1160 || c == 0x3164 || c == 0xFFA0 || (c >= 0xE0000 && c <= 0xE0FFF);
}

// Blocks whose characters are never taken for Latin letters: what most text in other scripts is made of.
bool is_plain(UChar32 c) {
  return (c >= 0x2010 && c <= 0x2027) || (c >= 0x2030 && c <= 0x205E) || (c >= 0x2190 && c <= 0x245F) ||
         (c >= 0x2500 && c <= 0x27FF) || (c >= 0x2900 && c <= 0x2BFF) || (c >= 0x2E80 && c <= 0xA4CF) || (c >= 0xAC00 && c <= 0xD7FF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xA0 && c <= 0xBF && c != 0xAD && c != 0xAA && c != 0xBA) ||
         (c >= 0x1F300 && c <= 0x1FAFF) || (c >= 0x20000 && c <= 0x3FFFF) || (c >= 0xFF00 && c <= 0xFF20) ||
         (c >= 0x900 && c <= 0xDFF);
}

// Letters that neither normalisation nor the tables of look-alikes know: flags, squares, Braille, small capitals.
UChar32 plain_letter(UChar32 c) {
  if (c < 0x180) return c;
  if (c >= 0x1F1E6 && c <= 0x1F1FF) return 'a' + (c - 0x1F1E6);
  if (c >= 0x1F150 && c <= 0x1F169) return 'a' + (c - 0x1F150);
  if (c >= 0x1F170 && c <= 0x1F189) return 'a' + (c - 0x1F170);
  if (c >= 0x2800 && c <= 0x283F) {
    static constexpr char kBraille[] = " a1b'k2l@cif/msp\"e3h9o6r^djg>ntq,*5<-u8v.%[$+x!&;:4\\0z7(_?w]#y)=";
    return kBraille[c - 0x2800];
  }
  static constexpr char16_t kSmall[] = u"\u1d00\u0299\u1d04\u1d05\u1d07\ua730\u0262\u029c\u026a\u1d0a\u1d0b\u029f\u1d0d\u0274\u1d0f\u1d18\u01eb\u0280\ua731\u1d1b\u1d1c\u1d20\u1d21x\u028f\u1d22";
  for (UChar32 i = 0; i < 26; ++i)
    if (kSmall[i] == c) return 'a' + i;
  return c;
}

// Letters turned upside down; 0 when it is none. n and u, b and q, d and p change places then.
char upright(UChar32 c) {
  static constexpr char16_t kTurned[] = u"\u0250\u0254\u01dd\u025f\u0183\u0265\u1d09\u027e\u029e\u026f\u0279\u0287\u028c\u028d\u028e\u0131\u0253";
  static constexpr char kUpright[] = "acefghijkmrtvwyig";
  for (std::size_t i = 0; i + 1 < sizeof kUpright; ++i)
    if (kTurned[i] == c) return kUpright[i];
  return 0;
}

template <typename F>
void each_code_point(std::string_view text, F&& f) {
  auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  auto size = static_cast<std::int32_t>(text.size());
  for (std::int32_t i = 0; i < size;) {
    UChar32 c;
    U8_NEXT(bytes, i, size, c);
    f(c < 0 ? UChar32{0xFFFD} : c);
  }
}

// Words in one script that is not Latin are words of that language; ones that mix it with Latin, or stand in a line
// that is Latin otherwise, may be a disguise.
bool needs_look(std::string_view line) {
  bool found = false;
  each_code_point(line, [&](UChar32 c) { found = found || (c >= 0x80 && !is_plain(c)); });
  return found;
}

std::string to_ascii(const icu::UnicodeString& text) {
  std::string out;
  out.reserve(static_cast<std::size_t>(text.length()));
  for (std::int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) {
    UChar32 c = text.char32At(i);
    if (c < 0x80) out += static_cast<char>(c);
    else if (u_charType(c) == U_NON_SPACING_MARK || u_charType(c) == U_ENCLOSING_MARK || is_invisible(c)) continue;
    else if (u_isUWhiteSpace(c) || u_ispunct(c)) out += ' ';
    else icu::UnicodeString(c).toUTF8String(out);
  }
  return out;
}

void append_utf8(std::string& out, UChar32 c) { icu::UnicodeString(c).toUTF8String(out); }

bool is_text(std::string_view s) {
  std::size_t good = 0;
  for (char c : s) good += (c >= 0x20 && c < 0x7F) || c == '\n';
  return s.size() >= 6 && good * 10 >= s.size() * 9;
}

}  // namespace

std::string look_alike(std::string_view line) {
  if (!needs_look(line)) return {};
  const Spoof& s = spoof();
  if (s.checker == nullptr || s.fold == nullptr || s.decompose == nullptr) return {};
  std::string visible;
  each_code_point(line, [&](UChar32 c) {
    if (!is_invisible(c)) append_utf8(visible, plain_letter(c));
  });
  UErrorCode error = U_ZERO_ERROR;
  icu::UnicodeString folded = s.fold->normalize(icu::UnicodeString::fromUTF8(visible), error);
  folded = s.decompose->normalize(folded, error);
  if (U_FAILURE(error) != 0) return {};
  // Only what is not ASCII goes through the skeleton: it maps ASCII letters too (m to rn, 1 to l).
  icu::UnicodeString out, piece;
  auto flush = [&] {
    if (piece.isEmpty()) return;
    UErrorCode status = U_ZERO_ERROR;
    char16_t buffer[64];
    std::int32_t n = uspoof_getSkeleton(s.checker, 0, piece.getBuffer(), piece.length(), buffer, 64, &status);
    if (U_SUCCESS(status) != 0 && n <= 64) out.append(buffer, n);
    else out.append(piece);
    piece.remove();
  };
  for (std::int32_t i = 0; i < folded.length(); i = folded.moveIndex32(i, 1)) {
    UChar32 c = folded.char32At(i);
    if (c < 0x80) flush(), out.append(c);
    else if (piece.append(c).length() >= 12) flush();
  }
  flush();
  std::string ascii = to_ascii(out.toLower());
  return ascii == line ? std::string() : ascii;
}

std::string turned_upright(std::string_view line) {
  std::string out;
  std::size_t turned = 0;
  each_code_point(line, [&](UChar32 c) {
    static constexpr std::string_view kSwap = "nubqdp", kFor = "unqbpd";
    char up = upright(c);
    turned += up != 0;
    if (up != 0) out += up;
    else if (c >= 0x80) out += ' ';
    else if (auto at = kSwap.find(static_cast<char>(c)); at != kSwap.npos) out += kFor[at];
    else out += static_cast<char>(c);
  });
  return turned >= 4 ? std::string(out.rbegin(), out.rend()) : std::string();
}

std::vector<std::string> smuggled(std::string_view line) {
  std::string tags, bytes, nibbles, bits_a, bits_b;
  int half = -1;
  bool wide = false;
  each_code_point(line, [&](UChar32 c) {
    if (c >= 0xE0020 && c <= 0xE007E) tags += static_cast<char>(c - 0xE0000);
    if (c >= 0xFE00 && c <= 0xFE0F) {
      int n = static_cast<int>(c - 0xFE00);
      bytes += static_cast<char>(n);
      if (half < 0) half = n;
      else nibbles += static_cast<char>(half << 4 | n), half = -1;
    }
    if (c >= 0xE0100 && c <= 0xE01EF) bytes += static_cast<char>(c - 0xE0100 + 16), wide = true;
    if (c == 0x2062 || c == 0x2064) bits_a += c == 0x2064 ? '1' : '0';
    if (c == 0x200B || c == 0x200C) bits_b += c == 0x200C ? '1' : '0';
  });
  auto from_bits = [](const std::string& bits) {
    std::string out;
    for (std::size_t i = 0; i + 8 <= bits.size(); i += 8) {
      int byte = 0;
      for (std::size_t k = 0; k < 8; ++k) byte = byte << 1 | (bits[i + k] - '0');
      out += static_cast<char>(byte);
    }
    return out;
  };
  std::vector<std::string> found;
  for (const std::string& s : {tags, wide ? bytes : nibbles})
    if (is_text(s)) found.push_back(s);
  for (const std::string& bits : {bits_a, bits_b})
    if (std::string s = from_bits(bits); is_text(s)) found.push_back(s);
  return found;
}

bool has_turned_direction(std::string_view line) {
  bool turned = false, natural = false;
  each_code_point(line, [&](UChar32 c) {
    turned = turned || c == 0x202E || c == 0x202D;
    if (c < 0x590) return;
    auto d = u_charDirection(c);
    natural = natural || d == U_RIGHT_TO_LEFT || d == U_RIGHT_TO_LEFT_ARABIC;
  });
  return turned && !natural;
}

}  // namespace hotcell::inspect
