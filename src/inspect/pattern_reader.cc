#include "inspect/pattern_reader.h"

#include <cctype>
#include <string>

namespace hotcell::inspect {

// What one literal, escape or class stands for; of letters only the small ones when case does not matter.
Bits PatternReader::bytes() {
  Bits out;
  if (p_[at_] == '[') out = char_class();
  else if (p_[at_] == '.') out.set(), ++at_;
  else out = single();
  if (!caseless_) return out;
  for (int c = 'A'; c <= 'Z'; ++c) {
    auto upper = static_cast<std::size_t>(c), lower = upper + 32;
    if (out[upper] || out[lower]) out[lower] = true;
    out[upper] = false;
  }
  return out;
}

Bits PatternReader::single() {
  Bits out;
  if (p_[at_] != '\\') return out.set(static_cast<unsigned char>(p_[at_++]));
  char c = p_[at_ + 1];
  if (c == 'x') {
    out.set(static_cast<std::size_t>(std::stoi(std::string(p_.substr(at_ + 2, 2)), nullptr, 16)));
    at_ += 4;
    return out;
  }
  at_ += 2;
  auto in = [&](auto test, bool yes) {
    for (int b = 0; b < 256; ++b) out[static_cast<std::size_t>(b)] = (test(b) != 0) == yes;
  };
  auto word = [](int b) { return b < 128 && (std::isalnum(b) != 0 || b == '_'); };
  auto space = [](int b) { return b == ' ' || (b >= 9 && b <= 13 && b != 11); };
  auto digit = [](int b) { return b >= '0' && b <= '9'; };
  switch (c) {
    case 'w': in(word, true); break;
    case 'W': in(word, false); break;
    case 's': in(space, true); break;
    case 'S': in(space, false); break;
    case 'd': in(digit, true); break;
    case 'D': in(digit, false); break;
    case 'n': out.set('\n'); break;
    case 't': out.set('\t'); break;
    case 'r': out.set('\r'); break;
    default: out.set(static_cast<unsigned char>(c));
  }
  return out;
}

Bits PatternReader::char_class() {
  Bits out;
  ++at_;
  bool inverted = p_[at_] == '^';
  if (inverted) ++at_;
  for (bool first = true; first || p_[at_] != ']'; first = false) {
    Bits low = single();
    bool range = p_[at_] == '-' && p_[at_ + 1] != ']' && low.count() == 1;
    if (range) {
      ++at_;
      Bits high = single();
      std::size_t from = low._Find_first(), to = high._Find_first();
      for (std::size_t c = from; c <= to; ++c) out.set(c);
    } else {
      out |= low;
    }
  }
  ++at_;
  if (inverted && caseless_)
    for (std::size_t c = 'a'; c <= 'z'; ++c) out[c] = out[c - 32] = out[c] || out[c - 32];
  return inverted ? ~out : out;
}

Times PatternReader::quantifier() {
  Times t;
  if (at_ >= p_.size()) return t;
  char c = p_[at_];
  if (c == '*' || c == '+' || c == '?') {
    t = {c == '+' ? 1u : 0u, c == '?' ? 1u : kEndless};
    ++at_;
  } else if (c == '{') {
    ++at_;
    t.least = number();
    t.most = t.least;
    if (p_[at_] == ',') t.most = p_[++at_] == '}' ? kEndless : number();
    ++at_;
  } else {
    return t;
  }
  if (at_ < p_.size() && p_[at_] == '?') ++at_;
  return t;
}

unsigned PatternReader::number() {
  unsigned n = 0;
  while (p_[at_] >= '0' && p_[at_] <= '9') n = n * 10 + static_cast<unsigned>(p_[at_++] - '0');
  return n;
}

}  // namespace hotcell::inspect
