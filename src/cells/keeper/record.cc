#include "cells/keeper/record.h"

#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cerrno>

#include "base/json_write.h"
#include "base/strings.h"
#include "cells/files/codec.h"
#include "cells/files/steps.h"
#include "sys/fault.h"
#include "sys/file.h"
#include "sys/uuid.h"

namespace hotcell::cells {
namespace {

namespace json = boost::json;

std::string text_of(const json::object& o, std::string_view key) {
  const json::value* v = o.if_contains(key);
  return v != nullptr && v->is_string() ? std::string(v->get_string()) : std::string();
}
std::int64_t number_of(const json::object& o, std::string_view key) {
  const json::value* v = o.if_contains(key);
  return v != nullptr && v->is_int64() ? v->get_int64() : 0;
}
RecordTime time_of(const json::object& o, std::string_view key) { return RecordTime(std::chrono::nanoseconds(number_of(o, key))); }
// JSON has text alone. What is none, a folder's name in another encoding for one, is beside it as a word (files/codec.h): a
// cell whose project had become another name would be a cell that nobody can start or apply.
std::string bytes_of(const json::object& o, std::string_view key) { return decode_word(text_of(o, cat(key, "_bytes"))).value_or(text_of(o, key)); }
std::map<std::string, std::string> map_of(const json::object& o, std::string_view key) {
  std::map<std::string, std::string> out;
  if (const json::value* v = o.if_contains(cat(key, "_bytes")); v != nullptr && v->is_object())
    for (const auto& member : v->get_object())
      if (auto k = decode_word(std::string_view(member.key())); k && member.value().is_string())
        if (auto value = decode_word(std::string_view(member.value().get_string()))) out[*k] = *std::move(value);
  if (const json::value* v = o.if_contains(key); v != nullptr && v->is_object())
    for (const auto& member : v->get_object())
      if (member.value().is_string()) out[std::string(member.key())] = std::string(member.value().get_string());
  return out;
}

void put_bytes(JsonWriter& w, std::string_view key, const std::string& bytes) {
  w.field(key, std::string_view(bytes));
  if (!is_valid_utf8(bytes)) w.field(cat(key, "_bytes"), encode_word(bytes));
}

void put_map(JsonWriter& w, std::string_view key, const std::map<std::string, std::string>& map) {
  std::map<std::string, std::string> words;
  w.key(key);
  w.begin_object();
  for (const auto& [k, v] : map) {
    if (is_valid_utf8(k) && is_valid_utf8(v)) w.field(k, std::string_view(v));
    else words[encode_word(k)] = encode_word(v);
  }
  w.end_object();
  if (words.empty()) return;
  w.key(cat(key, "_bytes"));
  w.begin_object();
  for (const auto& [k, v] : words) w.field(k, std::string_view(v));
  w.end_object();
}

constexpr std::string_view kStates[] = {"running", "paused", "stopped", "terminated"};

}  // namespace

std::string_view to_string(CellState state) { return kStates[static_cast<std::size_t>(state)]; }

std::string CellRecord::program_state(std::size_t executions) const {
  if (state == CellState::kPaused) return "suspended";
  if (state != CellState::kRunning) return "none";
  return executions > 0 ? "running" : "idle";
}

RecordTime now() {
  timespec t{};
  ::clock_gettime(CLOCK_REALTIME, &t);
  return RecordTime(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

std::string rfc3339(RecordTime time) {
  if (time.time_since_epoch().count() == 0) return {};
  std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
  std::tm parts{};
  char text[40];
  if (::gmtime_r(&seconds, &parts) == nullptr) return {};
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts));
}

std::string age_words(Nanoseconds age) {
  auto s = std::chrono::duration_cast<std::chrono::seconds>(age).count();
  if (s < 0) s = 0;
  if (s < 60) return cat(s, "s");
  if (s < 3600) return cat(s / 60, "m");
  if (s < 48 * 3600) return cat(s / 3600, "h");
  return cat(s / 86400, "d");
}

Result<CellRecord> parse_record(std::string_view text) {
  boost::system::error_code failed;
  json::value root = json::parse(text, failed);
  if (failed || !root.is_object()) return make_error(ErrorCode::kInvalid, cat("not the record of a cell", failed ? cat(": ", failed.message()) : ""));
  const json::object& o = root.get_object();
  CellRecord r;
  r.id = text_of(o, "id");
  r.name = text_of(o, "name");
  r.project = bytes_of(o, "project");
  if (r.id.empty() || r.name.empty()) return make_error(ErrorCode::kInvalid, "the record of a cell has no id or no name");
  r.env = map_of(o, "env_vars");
  r.labels = map_of(o, "labels");
  std::string state = text_of(o, "status");
  bool known = false;
  for (std::size_t i = 0; i < std::size(kStates); ++i)
    if (state == kStates[i]) r.state = static_cast<CellState>(i), known = true;
  if (!known) return make_error(ErrorCode::kInvalid, cat("the record of a cell has an unknown status: ", printable(state)));
  r.reason = text_of(o, "reason");
  r.created = time_of(o, "created_ns");
  r.paused = time_of(o, "paused_ns");
  r.resumed = time_of(o, "resumed_ns");
  r.stopped = time_of(o, "stopped_ns");
  r.used = time_of(o, "used_ns");
  r.base = time_of(o, "base_ns");
  r.ttl = Nanoseconds(number_of(o, "ttl_ns"));
  r.idle_pause = Nanoseconds(number_of(o, "idle_pause_ns"));
  r.paused_by_idleness = number_of(o, "paused_by_idleness") != 0;
  r.paused_how = text_of(o, "paused_how");
  r.forked_from = text_of(o, "forked_from");
  r.network_phase = text_of(o, "network_phase");
  r.network = map_of(o, "network");
  r.own_disk = number_of(o, "own_disk") != 0;
  r.being_made = text_of(o, "being_made");
  r.was_paused = number_of(o, "was_paused") != 0;
  r.decisions = bytes_of(o, "decisions");
  if (const json::value* v = o.if_contains("enforcement"); v != nullptr && v->is_array())
    for (const auto& layer : v->get_array())
      if (layer.is_object())
        r.enforcement.push_back({text_of(layer.get_object(), "name"), {text_of(layer.get_object(), "status"), text_of(layer.get_object(), "detail")}});
  return r;
}

std::string record_json(const CellRecord& r) {
  JsonWriter w(JsonStyle::kPretty);
  w.begin_object();
  w.field("id", std::string_view(r.id));
  w.field("name", std::string_view(r.name));
  put_bytes(w, "project", r.project);
  put_map(w, "env_vars", r.env);
  put_map(w, "labels", r.labels);
  w.field("status", to_string(r.state));
  w.field("reason", std::string_view(r.reason));
  for (auto [key, time] : {std::pair{"created", r.created}, std::pair{"paused", r.paused}, std::pair{"resumed", r.resumed},
                           std::pair{"stopped", r.stopped}, std::pair{"used", r.used}, std::pair{"base", r.base}})
    w.field(cat(key, "_ns"), static_cast<std::int64_t>(time.time_since_epoch().count()));
  w.field("ttl_ns", static_cast<std::int64_t>(r.ttl.count()));
  w.field("idle_pause_ns", static_cast<std::int64_t>(r.idle_pause.count()));
  w.field("paused_by_idleness", r.paused_by_idleness ? 1 : 0);
  w.field("paused_how", std::string_view(r.paused_how));
  w.field("forked_from", std::string_view(r.forked_from));
  w.field("network_phase", std::string_view(r.network_phase));
  put_map(w, "network", r.network);
  w.field("own_disk", r.own_disk ? 1 : 0);
  w.field("being_made", std::string_view(r.being_made));
  w.field("was_paused", r.was_paused ? 1 : 0);
  put_bytes(w, "decisions", r.decisions);
  w.key("enforcement");
  w.begin_array();
  for (const auto& [name, what] : r.enforcement) {
    w.begin_object();
    w.field("name", std::string_view(name));
    w.field("status", std::string_view(what.first));
    w.field("detail", std::string_view(what.second));
    w.end_object();
  }
  w.end_array();
  w.end_object();
  return w.take() + "\n";
}

Result<CellRecord> load_record(const std::string& folder) {
  std::string path = cat(folder, "/cell.json");
  TRY_SET(std::string text, sys::read_file(path.c_str(), 4 << 20));
  return parse_record(text).context(printable(path));
}

Result<void> save_record(const std::string& folder, const CellRecord& record) {
  return replace_file(cat(folder, "/cell.json"), record_json(record));
}

Result<void> replace_file(const std::string& path, std::string_view bytes) {
  std::string temporary = cat(path, ".", sys::random_uuid());
  {
    TRY_SET(sys::Fd file, sys::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    auto written = sys::write_all(file.get(), bytes);
    if (written.ok() && ::fsync(file.get()) < 0) written = errno_error(cat("fsync ", temporary), errno);
    if (!written.ok()) {
      ::unlink(temporary.c_str());
      return std::move(written).error().context(printable(path));
    }
  }
  about_to_change();
  if (int e = sys::fault("replace_file")) errno = e;
  else if (::rename(temporary.c_str(), path.c_str()) == 0) {
    about_to_change();
    TRY_SET(sys::Fd folder, sys::open(path.substr(0, path.rfind('/')).c_str(), O_RDONLY | O_DIRECTORY));
    if (::fsync(folder.get()) < 0) return errno_error(cat("fsync ", path), errno);
    return {};
  }
  int err = errno;
  ::unlink(temporary.c_str());
  return errno_error(cat("rename ", path), err);
}

}  // namespace hotcell::cells
