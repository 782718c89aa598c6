// Build time: literals, who wants them and what may follow, for Scanner::load.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <set>

#include "base/strings.h"
#include "inspect/scanner.h"
#include "inspect/signs.h"

namespace hotcell::inspect {

namespace {

class Writer {
 public:
  void number(std::size_t n) {
    auto small = static_cast<std::uint32_t>(n);
    char bytes[sizeof small];
    std::memcpy(bytes, &small, sizeof small);
    out.append(bytes, sizeof bytes);
  }
  void raw(std::span<const std::uint8_t> s) { out.append(reinterpret_cast<const char*>(s.data()), s.size()); }
  void text(std::string_view s) {
    number(s.size());
    out += s;
  }
  std::string out;
};

struct Use {
  std::size_t rule = 0;
  std::size_t flags = 0;
};

struct Uses {
  std::vector<Use> all;
  std::array<std::uint8_t, 32> next{};  // bits of the bytes that one of them may go on with
};

// A search slows with the number of literals, and the first bytes tell as much as all of them: what follows is checked
// anyway. So a sign is looked for by its beginning, or by a shorter one that is looked for already.
constexpr std::size_t kLongest = 8, kShortest = 4;

class Beginnings {
 public:
  void add(const ScanRule& rule, const Sign& sign) {
    if (!rule.leet && !rule.whole) known_.emplace(sign.text.substr(0, kLongest), rule.caseless);
  }
  std::string of(const ScanRule& rule, const Sign& sign) const {
    if (rule.leet || rule.whole) return sign.text;
    for (std::size_t n = kShortest; n < std::min(sign.text.size(), kLongest); ++n)
      if (std::string shorter = sign.text.substr(0, n); known_.contains({shorter, rule.caseless})) return shorter;
    return sign.text.substr(0, kLongest);
  }

 private:
  std::set<std::pair<std::string, bool>> known_;
};

}  // namespace

Result<std::string> make_scan_tables(const std::vector<ScanRule>& rules) {
  Writer w;
  w.number(rules.size());
  std::vector<std::vector<Sign>> signs_by_rule;
  Beginnings beginnings;
  for (const ScanRule& rule : rules) {
    TRY_SET(std::vector<Sign> signs, signs_of(rule.pattern, rule.caseless, 1));
    for (const Sign& sign : signs) beginnings.add(rule, sign);
    signs_by_rule.push_back(std::move(signs));
  }
  std::map<std::pair<std::string, bool>, Uses> literals;
  for (std::size_t r = 0; r < rules.size(); ++r) {
    const std::vector<Sign>& signs = signs_by_rule[r];
    std::vector<std::string> texts;
    for (const Sign& sign : signs) texts.push_back(beginnings.of(rules[r], sign));
    FollowTable follow = make_follow_table(rules[r].pattern, rules[r].caseless, texts);
    w.number(follow.width);
    w.raw(follow.classes);
    w.number(follow.next.size());
    w.raw(follow.next);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < signs.size(); ++i) {
      bool at_word = true;  // of several signs with one text the most general one
      for (std::size_t k = 0; k < signs.size(); ++k)
        if (texts[k] == texts[i]) at_word = at_word && signs[k].at_word;
      if (!seen.insert(texts[i]).second) continue;
      std::size_t flags = follow.starts[i] | (at_word ? 0x100u : 0u) | (rules[r].leet ? 0x200u : 0u);
      Uses& uses = literals[{texts[i], rules[r].caseless}];
      uses.all.push_back({r, flags});
      const std::uint8_t state = follow.starts[i];
      for (std::size_t byte = 0; byte < 256; ++byte)
        if (state == kFollowYes || follow.next[state * follow.width + follow.classes[byte]] != kFollowNo)
          uses.next[byte / 8] = static_cast<std::uint8_t>(uses.next[byte / 8] | 1u << (byte % 8));
    }
  }
  w.number(literals.size());
  std::vector<Literal> all;
  for (const auto& [key, uses] : literals) {
    w.number(key.second ? 1 : 0);
    w.text(key.first);
    w.raw(uses.next);
    w.number(uses.all.size());
    for (const Use& use : uses.all) {
      w.number(use.rule);
      w.number(use.flags);
    }
    all.push_back({key.first, key.second});
  }
  TRY_SET(auto db, LiteralDb::compile(all));
  TRY_SET(std::string bytes, db->bytes());
  w.text(bytes);
  return w.out;
}

}  // namespace hotcell::inspect
