// Reads the part of RE2's language that rules are written in, piece by piece; RE2 has already said that it is well-formed.
#pragma once
#include <bitset>
#include <string_view>

namespace hotcell::inspect {

using Bits = std::bitset<256>;

inline constexpr unsigned kEndless = ~0u;
struct Times {
  unsigned least = 1, most = 1;
};

class PatternReader {
 public:
  PatternReader(std::string_view pattern, bool caseless) : p_(pattern), caseless_(caseless) {}

 protected:
  // What one literal, escape or class stands for; of letters only the small ones when case does not matter.
  Bits bytes();
  Times quantifier();
  bool ended() const { return at_ >= p_.size() || p_[at_] == ')'; }
  std::string_view rest() const { return p_.substr(at_); }

  std::string_view p_;
  std::size_t at_ = 0;
  bool caseless_;

 private:
  Bits single();
  Bits char_class();
  unsigned number();
};

}  // namespace hotcell::inspect
