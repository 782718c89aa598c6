#include "inspect/signs.h"

#include <algorithm>
#include <tuple>

#include "base/strings.h"
#include "inspect/pattern_reader.h"

namespace hotcell::inspect {

namespace {

constexpr std::size_t kMostSigns = 300;  // of one rule; what would be more stays a letter shorter
constexpr std::size_t kNarrow = 4;       // characters of a class that are still written out

struct Prefix : Sign {
  bool done = false;
};
using Prefixes = std::vector<Prefix>;

class Expander : private PatternReader {
 public:
  using PatternReader::PatternReader;

  Prefixes alternatives(const Prefixes& from) {
    Prefixes all;
    for (;;) {
      Prefixes one = sequence(from);
      all.insert(all.end(), one.begin(), one.end());
      if (at_ >= p_.size() || p_[at_] != '|') return all;
      ++at_;
    }
  }

 private:
  Prefixes sequence(Prefixes now) {
    while (at_ < p_.size() && p_[at_] != '|' && p_[at_] != ')') now = element(std::move(now));
    return now;
  }

  static void stop(Prefixes& all) {
    for (auto& x : all) x.done = true;
  }

  // What has ended goes through every alternative that follows, and comes out of each.
  static void forget_copies(Prefixes& all) {
    Prefixes kept;
    for (auto& x : all) {
      bool known = x.done && std::any_of(kept.begin(), kept.end(), [&](const Prefix& k) {
                     return k.done && k.at_word == x.at_word && k.has_next == x.has_next && k.text == x.text && k.next == x.next;
                   });
      if (!known) kept.push_back(std::move(x));
    }
    all = std::move(kept);
  }

  Prefixes element(Prefixes now) {
    Prefixes with;
    bool word = p_.substr(at_).starts_with("\\b");
    if (word || p_[at_] == '^' || p_[at_] == '$') {
      at_ += word ? 2 : 1;
      for (auto& x : now)
        if (word && x.text.empty()) x.at_word = true;
      return now;
    }
    if (p_[at_] == '(') {
      at_ += p_.substr(at_).starts_with("(?:") ? 3 : 1;
      with = alternatives(now);
      ++at_;
    } else {
      with = one_byte(now, bytes());
    }
    Times times = quantifier();
    bool may_repeat = times.most != 1;
    if (may_repeat) stop(with);
    if (times.least == 0) {
      if (may_repeat) stop(now);
      with.insert(with.end(), now.begin(), now.end());
    }
    forget_copies(with);
    if (with.size() > kMostSigns) {
      stop(now);
      return now;
    }
    return with;
  }

  static Prefixes one_byte(const Prefixes& now, const Bits& allowed) {
    Prefixes out;
    for (const auto& x : now) {
      if (x.done) {
        out.push_back(x);
      } else if (allowed.count() > kNarrow) {
        out.push_back(x);
        out.back().done = true;
        if (!x.text.empty()) out.back().has_next = true, out.back().next = allowed;
      } else {
        for (int c = 0; c < 256; ++c)
          if (allowed[static_cast<std::size_t>(c)]) {
            out.push_back(x);
            out.back().text += static_cast<char>(c);
          }
      }
    }
    return out;
  }
};

}  // namespace

Result<std::vector<Sign>> signs_of(std::string_view pattern, bool caseless, std::size_t shortest) {
  Prefixes found = Expander(pattern, caseless).alternatives({Prefix{}});
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
    return std::make_tuple(std::string_view(a.text), a.at_word, a.has_next) < std::make_tuple(std::string_view(b.text), b.at_word, b.has_next);
  });
  std::vector<Sign> out;
  for (const auto& x : found) {
    if (x.text.size() < shortest)
      return make_error(ErrorCode::kInvalid, cat("a match may begin with '", printable(x.text), "' and anything: say what to look for (sign)"));
    bool again = !out.empty() && out.back().text == x.text && out.back().at_word == x.at_word && out.back().next == x.next;
    if (!again) out.push_back(x);
  }
  return out;
}

}  // namespace hotcell::inspect
