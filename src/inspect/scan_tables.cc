// Build time: literals, who wants them and what may follow, for Scanner::load.
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

bool has_sign_for_a_letter(std::string_view s) { return s.find_first_of("0134579!|$@+(") != s.npos; }

}  // namespace

Result<std::string> make_scan_tables(const std::vector<ScanRule>& rules) {
  Writer w;
  w.number(rules.size());
  std::map<std::pair<std::string, bool>, std::vector<Use>> literals;
  for (std::size_t r = 0; r < rules.size(); ++r) {
    TRY_SET(std::vector<Sign> signs, signs_of(rules[r].pattern, rules[r].caseless, 1));
    std::vector<std::string> texts;
    for (const Sign& sign : signs) texts.push_back(sign.text);
    FollowTable follow = make_follow_table(rules[r].pattern, rules[r].caseless, texts);
    w.number(follow.width);
    w.raw(follow.classes);
    w.number(follow.next.size());
    w.raw(follow.next);
    std::set<std::string> seen;
    for (std::size_t i = 0; i < signs.size(); ++i) {
      // What is a word as it stands, to its end, is no disguise.
      bool whole = follow.starts[i] == kFollowYes;
      if (rules[r].leet && whole && !has_sign_for_a_letter(texts[i])) continue;
      bool at_word = true;  // of several signs with one text the most general one
      for (const Sign& sign : signs)
        if (sign.text == texts[i]) at_word = at_word && sign.at_word;
      if (!seen.insert(texts[i]).second) continue;
      std::size_t flags = follow.starts[i] | (at_word ? 0x100u : 0u) | (rules[r].leet ? 0x200u : 0u);
      literals[{texts[i], rules[r].caseless}].push_back({r, flags});
    }
  }
  w.number(literals.size());
  std::vector<Literal> all;
  for (const auto& [key, uses] : literals) {
    w.number(key.second ? 1 : 0);
    w.text(key.first);
    w.number(uses.size());
    for (const Use& use : uses) {
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
