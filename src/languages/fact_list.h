// What the analysers of compiled languages share: a bounded list of facts, paths in one spelling, constants in a bounded
// store, and node kinds looked up once. Sources are hostile: every one of these has a limit.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "parse/syntax_tree.h"
#include "verify/facts.h"

namespace hotcell {

inline constexpr std::size_t kMaxConstant = 64 * 1024;  // bytes of a folded string; beyond it the value is unknown
inline constexpr int kMaxFolding = 64;                  // nested expressions folded

// A text made from another one (line splices joined, escapes decoded), and where each byte of it came from.
struct MappedText {
  std::string text;
  std::vector<std::uint32_t> origin;  // empty: nothing was moved
  std::uint32_t at(std::uint32_t offset) const {
    if (origin.empty()) return offset;
    return offset < origin.size() ? origin[offset] : origin.back();
  }
};

class FactList {
 public:
  void add(FactKind kind, std::string name, std::string detail, std::uint32_t begin, std::uint32_t end) {
    if (facts_.size() > kMost) return;
    if (facts_.size() == kMost) {
      facts_.push_back({FactKind::kUnreadable, "the source does more than can be listed", "", begin, end});
      return;
    }
    facts_.push_back({kind, std::move(name), std::move(detail), begin, end});
  }
  // A call by a plain name, whoever defines it: for a profile's own list of functions. After a few places it says no more.
  void plain_call(std::string_view name, std::uint32_t begin, std::uint32_t end) {
    constexpr int kMostPlaces = 50;
    constexpr std::size_t kLongestName = 256;
    if (name.empty() || name.size() > kLongestName || ++calls_[std::string(name)] > kMostPlaces) return;
    add(FactKind::kConstruct, std::string("call:").append(name), std::string(name), begin, end);
  }
  void move_origins(const MappedText& map) {
    for (Fact& f : facts_) {
      f.begin = map.at(f.begin);
      f.end = map.at(f.end);
    }
  }
  std::vector<Fact> take() { return std::move(facts_); }

 private:
  static constexpr std::size_t kMost = 200'000;
  std::vector<Fact> facts_;
  std::unordered_map<std::string, int> calls_;
};

// Collapses // and /./ and resolves .. by its letters. A relative path keeps the .. it cannot resolve.
inline std::string normalise_path(std::string_view path) {
  bool absolute = path.starts_with('/');
  std::vector<std::string_view> kept;
  while (!path.empty()) {
    std::size_t slash = path.find('/');
    std::string_view part = path.substr(0, slash);
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
    if (part.empty() || part == ".") continue;
    if (part == ".." && !kept.empty() && kept.back() != "..") kept.pop_back();
    else if (part != ".." || !absolute) kept.push_back(part);
  }
  std::string out = absolute ? "/" : "";
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (i > 0) out += '/';
    out += kept[i];
  }
  return out.empty() ? "." : out;
}

// Below the work folder nothing is worth a fact. What a variable of the environment says ($NAME) may be anywhere.
inline bool leaves_work_folder(std::string_view normal) {
  return normal.starts_with('/') || normal == ".." || normal.starts_with("../") || normal.starts_with('~') || normal.starts_with('$');
}

// A variable of the environment as the beginning of a path.
inline std::string environment_path(std::string_view variable) {
  return variable == "HOME" ? std::string("~") : std::string("$").append(variable);
}

// Characters that make a source look different from what it says (CVE-2021-42574): embeddings, overrides, isolates.
inline void see_bidi(std::string_view s, FactList& facts) {
  int shown = 0;
  for (std::size_t i = s.find('\xe2'); i != s.npos && i + 2 < s.size() && shown < 16; i = s.find('\xe2', i + 1)) {
    auto d = static_cast<unsigned char>(s[i + 1]), e = static_cast<unsigned char>(s[i + 2]);
    if (!((d == 0x80 && e >= 0xaa && e <= 0xae) || (d == 0x81 && e >= 0xa6 && e <= 0xa9))) continue;
    ++shown;
    facts.add(FactKind::kConstruct, "bidi-control", "a character that reverses the text shown", static_cast<std::uint32_t>(i),
              static_cast<std::uint32_t>(i + 3));
  }
}

// Constants by name. What does not fit is forgotten, hence unknown.
class ConstantStore {
 public:
  void set(std::string_view name, std::optional<std::string> value) {
    auto it = values_.find(std::string(name));
    if (it != values_.end()) {
      bytes_ -= it->second.size();
      values_.erase(it);
    }
    if (!value || value->size() > kMaxConstant || bytes_ + value->size() > kMostBytes || values_.size() >= kMostNames) return;
    bytes_ += value->size();
    values_.emplace(name, std::move(*value));
  }
  std::optional<std::string> get(std::string_view name) const {
    auto it = values_.find(std::string(name));
    return it == values_.end() ? std::nullopt : std::optional(it->second);
  }
  bool has(std::string_view name) const { return values_.contains(std::string(name)); }

 private:
  static constexpr std::size_t kMostBytes = 16 << 20, kMostNames = 200'000;
  std::unordered_map<std::string, std::string> values_;
  std::size_t bytes_ = 0;
};

// Names of node kinds are compared once for each symbol of the grammar, not once for each node.
template <typename Kind>
class KindTable {
 public:
  using Names = std::vector<std::pair<std::string_view, Kind>>;
  explicit KindTable(const Names& names) : names_(names) {}
  Kind operator()(const SyntaxTree& tree, NodeId n) {
    std::uint16_t symbol = tree[n].kind;
    if (symbol >= known_.size()) known_.resize(symbol + 1u);
    Entry& e = known_[symbol];
    if (!e.set) {
      e.set = true;
      for (const auto& [name, kind] : names_)
        if (tree.kind(n) == name) e.kind = kind;
    }
    return e.kind;
  }

 private:
  struct Entry {
    bool set = false;
    Kind kind{};
  };
  const Names& names_;
  std::vector<Entry> known_;
};

inline bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

inline void append_utf8(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0 | c >> 6);
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    out += static_cast<char>(0xe0 | c >> 12);
    out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  } else if (c < 0x110000) {
    out += static_cast<char>(0xf0 | c >> 18);
    out += static_cast<char>(0x80 | (c >> 12 & 0x3f));
    out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
    out += static_cast<char>(0x80 | (c & 0x3f));
  }
}

inline int hex_digit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// What stands between the quotes of a literal of C, C++, Rust or Java: \n \x41 \101 \u0041 \u{41} \U00000041.
inline std::string decode_escapes(std::string_view s) {
  std::string out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '\\' || i + 1 == s.size()) {
      out += s[i];
      continue;
    }
    char c = s[++i];
    auto hex = [&](int most) {
      std::uint32_t value = 0;
      bool braced = i + 1 < s.size() && s[i + 1] == '{';
      if (braced) ++i;
      for (int k = 0; k < most && i + 1 < s.size() && hex_digit(s[i + 1]) >= 0 && value < 0x1000000; ++k)
        value = value * 16 + static_cast<std::uint32_t>(hex_digit(s[++i]));
      if (braced && i + 1 < s.size() && s[i + 1] == '}') ++i;
      return value;
    };
    if (c == '\r' && i + 1 < s.size() && s[i + 1] == '\n') ++i;
    else if (c == '\n' || c == '\r') continue;
    else if (c == 'x') out += static_cast<char>(hex(2) & 0xff);
    else if (c == 'u') append_utf8(out, hex(s.substr(i).starts_with("u{") ? 6 : 4));
    else if (c == 'U') append_utf8(out, hex(8));
    else if (c >= '0' && c <= '7') {
      int value = c - '0';
      for (int k = 0; k < 2 && i + 1 < s.size() && s[i + 1] >= '0' && s[i + 1] <= '7'; ++k) value = value * 8 + (s[++i] - '0');
      out += static_cast<char>(value & 0xff);
    } else {
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c == 'r' ? '\r' : c == 'a' ? '\a' : c == 'b' ? '\b' : c == 'f' ? '\f'
             : c == 'v' ? '\v' : c == 'e' ? '\x1b' : c;
    }
  }
  return out;
}

}  // namespace hotcell
