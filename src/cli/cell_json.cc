#include "cli/cell_json.h"

#include <boost/json.hpp>

#include "base/strings.h"
#include "core/policy/units.h"

namespace hotcell {
namespace {

namespace json = boost::json;

std::string text(const json::object& o, std::string_view key) {
  const json::value* v = o.if_contains(key);
  return v != nullptr && v->is_string() ? std::string(v->get_string()) : std::string();
}
std::int64_t number(const json::object& o, std::string_view key) {
  const json::value* v = o.if_contains(key);
  return v != nullptr && v->is_int64() ? v->get_int64() : 0;
}

CellSummary cell(const json::object& o) {
  CellSummary c;
  c.id = text(o, "id");
  c.name = text(o, "name");
  c.status = text(o, "status");
  c.reason = text(o, "reason");
  c.work_dir = text(o, "work_dir");
  c.unfinished_apply = text(o, "unfinished_apply");
  c.paused_seconds = number(o, "paused_seconds");
  c.age_seconds = number(o, "age_seconds");
  const json::value* eligible = o.if_contains("cleanup_eligible");
  c.cleanup_eligible = eligible != nullptr && eligible->is_bool() && eligible->get_bool();
  if (const json::value* limits = o.if_contains("limits"); limits != nullptr && limits->is_object()) {
    const json::object& l = limits->get_object();
    auto bytes = [&](std::string_view key) { return Bytes{static_cast<std::uint64_t>(number(l, key))}; };
    c.limits.memory = bytes("memory_bytes");
    c.limits.disk = bytes("disk_bytes");
    c.limits.output = bytes("output_bytes");
    c.limits.cpu_time = Nanoseconds(number(l, "cpu_time_ns"));
    c.limits.wall = Nanoseconds(number(l, "wall_ns"));
    c.limits.processes = static_cast<std::uint32_t>(number(l, "processes"));
    c.limits.open_files = static_cast<std::uint32_t>(number(l, "open_files"));
  }
  const json::value* enforcement = o.if_contains("enforcement");
  if (enforcement == nullptr || !enforcement->is_object()) return c;
  c.enforcement.backend = text(enforcement->get_object(), "backend");
  const json::value* layers = enforcement->get_object().if_contains("layers");
  if (layers == nullptr || !layers->is_array()) return c;
  for (const auto& l : layers->get_array()) {
    if (!l.is_object()) continue;
    auto layer = layer_from(text(l.get_object(), "name"));
    if (!layer) continue;
    std::string status = text(l.get_object(), "status");
    c.enforcement.layers.push_back({*layer, status == "full" ? LayerStatus::kFull : status == "partial" ? LayerStatus::kPartial : LayerStatus::kNone,
                                    text(l.get_object(), "detail")});
  }
  return c;
}

SnapshotSummary snapshot(const json::object& o) {
  SnapshotSummary out;
  out.label = text(o, "label");
  out.file = text(o, "file");
  out.created_at = text(o, "created_at");
  out.size = static_cast<std::uint64_t>(number(o, "size"));
  out.content = static_cast<std::uint64_t>(number(o, "content"));
  out.entries = static_cast<std::uint64_t>(number(o, "entries"));
  if (const json::value* left = o.if_contains("left_out"); left != nullptr && left->is_array())
    for (const auto& l : left->get_array())
      if (l.is_string()) out.left_out.emplace_back(l.get_string());
  return out;
}

const json::value* at(const json::value& v, std::string_view pointer) {
  boost::system::error_code failed;
  return v.find_pointer(pointer, failed);
}
std::uint64_t number_at(const json::value& v, std::string_view pointer) {
  const json::value* found = at(v, pointer);
  if (found == nullptr) return 0;
  boost::system::error_code failed;
  auto n = found->to_number<std::uint64_t>(failed);
  return failed ? 0 : n;
}
std::string text_at(const json::value& v, std::string_view pointer) {
  const json::value* found = at(v, pointer);
  return found != nullptr && found->is_string() ? printable(std::string_view(found->get_string())) : std::string();
}
Result<json::value> parsed_json(std::string_view bytes) {
  boost::system::error_code failed;
  json::value v = json::parse(bytes, failed);
  if (failed || !v.is_object()) return make_error(ErrorCode::kInternal, "the keeper's answer is no JSON object");
  return v;
}

std::string of_limit(std::uint64_t used, std::uint64_t most, std::string used_text, std::string most_text) {
  if (most == 0) return used_text;
  auto percent = static_cast<std::uint64_t>(static_cast<double>(used) * 100.0 / static_cast<double>(most));
  return cat(used_text, " of ", most_text, " (", percent, " %)");
}
std::string size_of(std::uint64_t used, std::uint64_t most) { return of_limit(used, most, format_bytes(Bytes{used}), format_bytes(Bytes{most})); }

}  // namespace

Result<CellSummary> read_cell(std::string_view text_of) {
  boost::system::error_code failed;
  json::value v = json::parse(text_of, failed);
  if (failed || !v.is_object()) return make_error(ErrorCode::kInternal, "the keeper's answer is no JSON object");
  return cell(v.get_object());
}

Result<std::vector<CellSummary>> read_cells(std::string_view text_of) {
  boost::system::error_code failed;
  json::value v = json::parse(text_of, failed);
  if (failed || !v.is_array()) return make_error(ErrorCode::kInternal, "the keeper's answer is no JSON array");
  std::vector<CellSummary> out;
  for (const auto& c : v.get_array())
    if (c.is_object()) out.push_back(cell(c.get_object()));
  return out;
}

Result<SnapshotSummary> read_snapshot(std::string_view text_of) {
  boost::system::error_code failed;
  json::value v = json::parse(text_of, failed);
  if (failed || !v.is_object()) return make_error(ErrorCode::kInternal, "the keeper's answer is no JSON object");
  return snapshot(v.get_object());
}

Result<std::vector<SnapshotSummary>> read_snapshots(std::string_view text_of) {
  boost::system::error_code failed;
  json::value v = json::parse(text_of, failed);
  if (failed || !v.is_array()) return make_error(ErrorCode::kInternal, "the keeper's answer is no JSON array");
  std::vector<SnapshotSummary> out;
  for (const auto& s : v.get_array())
    if (s.is_object()) out.push_back(snapshot(s.get_object()));
  return out;
}

Result<bool> read_restarted(std::string_view text_of) {
  boost::system::error_code failed;
  json::value v = json::parse(text_of, failed);
  if (failed || !v.is_object()) return make_error(ErrorCode::kInternal, "the keeper's answer is no JSON object");
  const json::value* restarted = v.get_object().if_contains("restarted");
  return restarted != nullptr && restarted->is_bool() && restarted->get_bool();
}

Result<std::vector<std::string>> read_changed(std::string_view text_of) {
  TRY_SET(json::value v, parsed_json(text_of));
  std::vector<std::string> out;
  if (const json::value* changes = v.get_object().if_contains("changes"); changes != nullptr && changes->is_array())
    for (const auto& c : changes->get_array())
      if (c.is_object()) out.push_back(text(c.get_object(), "path"));
  return out;
}

std::optional<OutputInspection> read_inspection(std::string_view result) {
  boost::system::error_code failed;
  json::value v = json::parse(result, failed);
  const json::value* found = failed ? nullptr : at(v, "/inspection");
  if (found == nullptr || !found->is_object()) return std::nullopt;
  OutputInspection out;
  const json::value *withheld = at(*found, "/withheld"), *findings = at(*found, "/findings");
  out.withheld = withheld == nullptr || !withheld->is_bool() || withheld->get_bool();
  out.level = text_at(*found, "/level");
  out.failure = text_at(*found, "/failure");
  out.message = text_at(*found, "/message");
  if (findings != nullptr && findings->is_array())
    for (const auto& f : findings->get_array())
      out.findings.push_back({text_at(f, "/stream"), text_at(f, "/kind"), text_at(f, "/type"), text_at(f, "/level"), text_at(f, "/rule"),
                              text_at(f, "/message"), {}, number_at(f, "/offset")});
  return out;
}

Result<std::string> usage_words(std::string_view answer) {
  TRY_SET(json::value v, parsed_json(answer));
  auto cpu = Nanoseconds(static_cast<std::int64_t>(number_at(v, "/current/cpu_time_ns")));
  std::uint64_t processes = number_at(v, "/current/processes"), most = number_at(v, "/limits/processes");
  std::string out = cat(text_at(v, "/name"), " (", text_at(v, "/status"), ")\n");
  out += cat("  memory     ", size_of(number_at(v, "/current/memory_bytes"), number_at(v, "/limits/memory_bytes")), "\n");
  out += cat("  disk       ", size_of(number_at(v, "/current/disk_bytes"), number_at(v, "/limits/disk_bytes")), ", ", number_at(v, "/current/files"), " files, held by ",
             text_at(v, "/disk_held_by"), "\n");
  out += cat("  processes  ", of_limit(processes, most, cat(processes), cat(most)), "\n");
  out += cat("  CPU time   ", std::chrono::duration_cast<std::chrono::milliseconds>(cpu).count(), " ms\n");
  out += cat("  read       ", format_bytes(Bytes{number_at(v, "/current/io_read_bytes")}), ", written ", format_bytes(Bytes{number_at(v, "/current/io_written_bytes")}), "\n");
  return out;
}

Result<std::string> network_words(std::string_view answer) {
  TRY_SET(json::value v, parsed_json(answer));
  std::string phase = text_at(v, "/phase"), error = text_at(v, "/error");
  std::string out = cat(text_at(v, "/name"), ": network ", text_at(v, "/mode"), phase.empty() ? "" : cat(", phase ", phase),
                        text_at(v, "/sealed_at").empty() ? "" : cat(" (sealed ", text_at(v, "/sealed_at"), ")"), "\n");
  if (!error.empty()) out += cat("  the door is shut: ", error, "\n");
  for (auto list : {"allow", "block"})
    if (const json::value* found = at(v, cat("/rules/", std::string_view(list))); found != nullptr && found->is_array())
      for (const auto& entry : found->get_array())
        if (entry.is_string()) out += cat("  ", std::string_view(list), "  ", printable(std::string_view(entry.get_string())), "\n");
  out += cat("  ", number_at(v, "/counters/allowed"), " allowed, ", number_at(v, "/counters/blocked"), " refused, ", number_at(v, "/counters/bytes_up"), " bytes up, ",
             number_at(v, "/counters/bytes_down"), " down, ", number_at(v, "/counters/open"), " open\n");
  if (const json::value* log = at(v, "/log"); log != nullptr && log->is_array())
    for (const auto& e : log->get_array()) {
      const json::value* allowed = at(e, "/allowed");
      bool good = allowed != nullptr && allowed->is_bool() && allowed->get_bool();
      out += cat("  ", good ? "allowed  " : "refused  ", text_at(e, "/method"), " ", text_at(e, "/host"), ":", number_at(e, "/port"), good ? "" : cat("  ", text_at(e, "/reason")), "\n");
    }
  return out;
}

std::string event_words(std::string_view line) {
  boost::system::error_code failed;
  json::value v = json::parse(line, failed);
  if (failed || !v.is_object()) return printable(line);
  std::string out = cat(text_at(v, "/time"), " ", text_at(v, "/type"));
  for (const auto& member : v.get_object()) {
    std::string_view key = member.key();
    if (key == "time" || key == "type" || key == "id") continue;
    out += cat(" ", key, "=", member.value().is_string() ? printable(std::string_view(member.value().get_string())) : json::serialize(member.value()));
  }
  return out;
}

}  // namespace hotcell
