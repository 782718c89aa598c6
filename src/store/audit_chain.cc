#include "store/audit_chain.h"

#include <algorithm>
#include <array>

#include "base/json_write.h"
#include "base/sha256.h"
#include "base/strings.h"
#include "sys/file.h"

namespace hotcell {

namespace {

constexpr std::string_view kNumber = R"({"seq":)", kPrev = R"(,"prev":")", kHash = R"(,"hash":")", kEnd = R"("})";
constexpr std::size_t kHex = 64;
// What stands at the end of each line: ,"prev":"<64>","hash":"<64>"}
constexpr std::size_t kHashPart = kHash.size() + kHex + kEnd.size();
constexpr std::size_t kTail = kPrev.size() + kHex + 1 + kHashPart;
constexpr std::string_view kFilePrefix = "audit-", kFileSuffix = ".jsonl";

constexpr std::array<std::string_view, 6> kSeverity = {"", "Informational", "Low", "Medium", "High", "Critical"};
constexpr std::array<std::string_view, 5> kOwn = {"sandbox_layer", "sandbox_action", "sandbox_mode", "execution", "client"};

bool is_hex(std::string_view s) {
  return std::all_of(s.begin(), s.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Result<ChainPoint> read_point(Settings& settings, std::string_view name) {
  ChainPoint point;
  TRY_SET(auto text, settings.get(name));
  if (!text) return point;
  // [count,"hash"]
  auto comma = text->find(',');
  auto count = comma == std::string::npos ? std::nullopt : parse_u64(std::string_view(*text).substr(1, comma - 1));
  if (!count || text->size() != comma + 2 + kHex + 2) {
    return make_error(ErrorCode::kIo, cat("the setting ", name, " is damaged"));
  }
  point.count = *count;
  point.hash = text->substr(comma + 2, kHex);
  return point;
}

Result<void> write_point(Settings& settings, std::string_view name, const ChainPoint& point) {
  return settings.set(name, cat("[", point.count, ",\"", point.hash, "\"]"));
}

}  // namespace

std::string audit_line(const AuditEvent& event, const ChainPoint& before) {
  bool enforced = event.effect == AuditEffect::kEnforced;
  auto severity = static_cast<std::size_t>(event.severity);
  JsonWriter w;
  w.begin_object();
  w.field("seq", before.count + 1);
  w.field("class_uid", 2001);
  w.field("category_uid", 2);
  w.field("activity_id", 1);
  w.field("type_uid", 200101);
  w.field("severity_id", severity);
  w.field("severity", kSeverity[severity]);
  w.field("status_id", enforced ? 1 : 2);
  w.field("status", enforced ? "blocked" : "observed");
  w.field("time", std::chrono::duration_cast<std::chrono::milliseconds>(event.time.time_since_epoch()).count());
  w.field("message", event.message);
  w.key("finding_info");
  w.begin_object();
  w.field("title", cat(event.layer, "/", event.action));
  w.field("desc", event.message);
  w.end_object();
  w.key("metadata");
  w.begin_object();
  w.key("product");
  w.begin_object();
  w.field("name", "hotcell");
  w.field("vendor_name", "hotcell");
  w.end_object();
  w.field("version", "1.0.0");  // of the schema
  w.end_object();
  w.key("unmapped");
  w.begin_object();
  w.field("sandbox_layer", event.layer);
  w.field("sandbox_action", event.action);
  w.field("sandbox_mode", enforced ? "enforced" : "observed");
  if (!event.execution.empty()) w.field("execution", event.execution);
  if (!event.client.empty()) w.field("client", event.client);
  for (const auto& [name, value] : event.details) {
    bool taken = std::find(kOwn.begin(), kOwn.end(), name) != kOwn.end();
    w.field(taken ? cat("detail_", name) : name, value);  // a name twice would let readers differ about what it says
  }
  w.end_object();
  w.field("prev", before.hash);
  std::string line = w.take();  // still open: the hash is the last field
  std::string hash = sha256_hex(line);
  return cat(line, kHash, hash, kEnd);
}

std::optional<LinePlace> place_of(std::string_view line) {
  if (line.size() < kNumber.size() + kTail || !line.starts_with(kNumber)) return std::nullopt;
  LinePlace place;
  auto number = line.substr(kNumber.size());
  auto parsed = parse_u64(number.substr(0, number.find(',')));
  auto tail = line.substr(line.size() - kTail);
  place.prev = tail.substr(kPrev.size(), kHex);
  place.hash = tail.substr(kTail - kEnd.size() - kHex, kHex);
  bool shaped = tail.starts_with(kPrev) && tail.substr(kTail - kHashPart).starts_with(kHash) && tail.ends_with(kEnd) &&
                tail[kPrev.size() + kHex] == '"';
  if (!parsed || !shaped || !is_hex(place.prev) || !is_hex(place.hash)) return std::nullopt;
  place.number = *parsed;
  return place;
}

std::string hash_of(std::string_view line) { return sha256_hex(line.substr(0, line.size() - kHashPart)); }

std::optional<ChainPoint> follow(const ChainPoint& before, std::string_view line, std::string& why) {
  auto place = place_of(line);
  if (!place) why = "this is not a line of the audit log";
  else if (hash_of(line) != place->hash) why = "the line was changed: its hash does not fit";
  else if (place->number > before.count + 1)
    why = cat("lines ", before.count + 1, " to ", place->number - 1, " are missing before it");
  else if (place->number <= before.count) why = cat("line ", place->number, " stands after line ", before.count);
  else if (place->prev != before.hash) why = "it does not follow the line before: another was there";
  else return ChainPoint{place->number, std::string(place->hash)};
  return std::nullopt;
}

Result<ChainPoint> read_head(Settings& settings) { return read_point(settings, "audit.head"); }
Result<ChainPoint> read_start(Settings& settings) { return read_point(settings, "audit.start"); }
Result<void> write_head(Settings& settings, const ChainPoint& point) { return write_point(settings, "audit.head", point); }
Result<void> write_start(Settings& settings, const ChainPoint& point) { return write_point(settings, "audit.start", point); }

std::string audit_file_name(std::uint64_t first) {
  std::string digits = std::to_string(first);
  return cat(kFilePrefix, std::string(digits.size() < 12 ? 12 - digits.size() : 0, '0'), digits, kFileSuffix);
}

Result<std::vector<AuditFile>> full_audit_files(const std::string& folder) {
  std::vector<AuditFile> files;
  TRY_SET(auto names, sys::list_dir(folder.c_str()));
  for (auto& name : names) {
    if (!name.starts_with(kFilePrefix) || !name.ends_with(kFileSuffix)) continue;
    std::string_view digits = name;
    digits = digits.substr(kFilePrefix.size(), digits.size() - kFilePrefix.size() - kFileSuffix.size());
    if (auto first = parse_u64(digits)) files.push_back({std::move(name), *first});
  }
  std::sort(files.begin(), files.end(), [](const AuditFile& a, const AuditFile& b) { return a.first < b.first; });
  return files;
}

}  // namespace hotcell
