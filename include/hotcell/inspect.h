// Looks for what tries to steer the reader, to carry data out or to leak a secret: in text, commands and tool arguments.
//
// Advice, not enforcement: the cell and the proxy hold whatever is said here. Time is linear in the text, memory bounded.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/result.h"

namespace hotcell {

enum class ThreatLevel : std::uint8_t { kNone, kLow, kMedium, kHigh, kCritical };
std::string_view to_string(ThreatLevel level);  // none … critical

enum class InspectKind : std::uint8_t { kInjection, kEgress, kSecrets, kSql, kTraversal, kC2 };
inline constexpr int kInspectKinds = 6;
std::string_view to_string(InspectKind kind);  // injection, egress, secrets, sql, traversal, c2
std::optional<InspectKind> inspect_kind(std::string_view name);

class InspectKindSet {
 public:
  constexpr InspectKindSet() = default;
  static constexpr InspectKindSet all() { return InspectKindSet((1u << kInspectKinds) - 1); }
  // What can be told in free text; the other kinds mean something in tool arguments only.
  static constexpr InspectKindSet text() { return InspectKindSet(7); }
  constexpr bool has(InspectKind k) const { return (bits_ >> static_cast<unsigned>(k) & 1u) != 0; }
  constexpr void add(InspectKind k) { bits_ |= 1u << static_cast<unsigned>(k); }
  constexpr bool empty() const { return bits_ == 0; }

 private:
  constexpr explicit InspectKindSet(unsigned bits) : bits_(bits) {}
  unsigned bits_ = 0;
};

struct InspectFinding {
  InspectKind kind = InspectKind::kInjection;
  std::string type;     // prompt_injection, egress, data_leak, sql_injection, path_traversal, command_and_control
  ThreatLevel level = ThreatLevel::kNone;
  std::string rule;     // which one said it
  std::string message;  // one sentence
  std::string snippet;  // what was found, at most 80 bytes; of a secret no more than its beginning
  std::size_t offset = 0;  // bytes from the beginning of the text; of arguments: in the JSON text
  std::string path;        // of arguments: a.b[1]
};

struct Inspection {
  std::vector<InspectFinding> findings;  // in the order of the text
  bool cut = false;                      // there were more than are kept
  ThreatLevel level() const;             // the worst
  bool safe() const { return level() < ThreatLevel::kMedium; }
};

// Rules of users, over those that are built in. Patterns are RE2's.
class InspectRules {
 public:
  // A list of {id, kind, level, message, pattern, type?, case?}; an error names the line and the part that is wrong.
  static Result<std::shared_ptr<const InspectRules>> from_yaml(std::string_view yaml, std::string_view file);
  virtual ~InspectRules() = default;
};

struct InspectOptions {
  InspectKindSet kinds = InspectKindSet::text();
  // Hosts data may go to: `example.com` that host, `*.example.com` it and all below, `.example.com` all below.
  std::vector<std::string> allowed_domains;
  std::shared_ptr<const InspectRules> rules;
};

// Text piece by piece, such as a program's output while it runs.
class Inspector {
 public:
  static Result<Inspector> create(InspectOptions options);
  void feed(std::string_view piece);
  Inspection finish();  // and begins anew

  Inspector(Inspector&&) noexcept;
  Inspector& operator=(Inspector&&) noexcept;
  ~Inspector();

 private:
  struct State;
  explicit Inspector(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

Result<Inspection> inspect_text(std::string_view text, const InspectOptions& options);
// A command line that somebody wants to run: every connection to a host that is not allowed is a finding.
Result<Inspection> inspect_command(std::string_view command, const InspectOptions& options);
// The arguments of a tool call, a JSON text: every string in it, each finding with its path.
Result<Inspection> inspect_arguments(std::string_view json, const InspectOptions& options);

std::string inspection_json(const Inspection& inspection);  // {"safe":…,"level":…,"findings":[…]}
std::string inspection_text(const Inspection& inspection, std::string_view name);

}  // namespace hotcell
