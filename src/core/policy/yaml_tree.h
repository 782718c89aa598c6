// YAML text → a plain tree that knows its lines. The small, safe part of YAML only: one document; no anchors, aliases
// or tags; no key twice; bounded size, depth and number of nodes.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/result.h"

namespace hotcell {

struct YamlNode {
  enum class Kind : std::uint8_t { kNull, kScalar, kSequence, kMap };
  Kind kind = Kind::kNull;
  bool quoted = false;  // "true" in quotes is a word, not a truth value
  int line = 1, key_line = 1;
  std::string key;  // set when the parent is a map
  std::string text;
  std::vector<YamlNode> items;

  bool is_map() const { return kind == Kind::kMap; }
  bool is_sequence() const { return kind == Kind::kSequence; }
  bool is_scalar() const { return kind == Kind::kScalar; }
};

inline constexpr std::size_t kMaxProfileBytes = 1 << 20;
inline constexpr int kMaxYamlDepth = 16;
// A profile has dozens; this only bounds what a hostile one can make us hold.
inline constexpr std::size_t kMaxYamlNodes = 50'000;

// Errors read `filename:line: …`.
Result<YamlNode> parse_yaml(std::string_view text, std::string_view filename);

}  // namespace hotcell
