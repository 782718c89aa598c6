// The form of one line of the audit log, and where the log stands.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/audit_log.h"
#include "store/settings.h"
#include "sys/fd.h"

namespace hotcell {

inline constexpr const char* kAuditFile = "audit.jsonl";

// After line `count` of the chain; that line's hash.
struct ChainPoint {
  std::uint64_t count = 0;
  std::string hash = std::string(64, '0');
};

// Without a newline. Everything from outside is a JSON string in it, so no text can end the line or begin a field.
std::string audit_line(const AuditEvent& event, const ChainPoint& before);

// What a line says of its place; nothing when it is none of ours. Only its form is looked at.
struct LinePlace {
  std::uint64_t number = 0;
  std::string_view prev, hash;
};
std::optional<LinePlace> place_of(std::string_view line);
std::string hash_of(std::string_view line);   // of one that has a place: over all before its hash
// The point after `line`, when it follows `before` with a right hash; else `why`.
std::optional<ChainPoint> follow(const ChainPoint& before, std::string_view line, std::string& why);

// Kept in the settings: the end of the chain, and the point before its oldest line that is still there.
Result<ChainPoint> read_head(Settings& settings);
Result<ChainPoint> read_start(Settings& settings);
Result<void> write_head(Settings& settings, const ChainPoint& point);
Result<void> write_start(Settings& settings, const ChainPoint& point);

// A full file is called after the number of its first line; sorted by it.
struct AuditFile {
  std::string name;
  std::uint64_t first = 0;
};
std::string audit_file_name(std::uint64_t first);
Result<std::vector<AuditFile>> full_audit_files(const std::string& folder);

}  // namespace hotcell
