#include "server/mcp/arguments.h"

#include <algorithm>

#include "base/strings.h"
#include "core/policy/suggest.h"
#include "core/policy/units.h"
#include "manager/job_files.h"
#include "server/json/base64_decode.h"

namespace hotcell::server::mcp {

namespace {

// Numbers that become seconds or shares; NaN cannot come from JSON.
constexpr double kMostSeconds = 1e6;

}  // namespace

void Arguments::mistake(std::string sentence) {
  if (!mistake_) mistake_ = std::move(sentence);
}

const JsonValue* Arguments::find(std::string_view name) {
  known_.push_back(name);
  const JsonValue* value = object_.find(name);
  return value == nullptr || value->is_null() ? nullptr : value;  // clients write null for what they leave out
}

void Arguments::wrong(std::string_view name, std::string_view expected, const JsonValue& value) {
  mistake(cat(name, " must be ", expected, ", not ", value.kind()));
}

std::string Arguments::string(std::string_view name) {
  const JsonValue* value = find(name);
  if (value == nullptr) return {};
  if (value->string() != nullptr) return *value->string();
  wrong(name, "a string", *value);
  return {};
}

std::string Arguments::choice(std::string_view name, std::initializer_list<std::string_view> words) {
  std::string said = string(name);
  if (said.empty() || std::find(words.begin(), words.end(), said) != words.end()) return said;
  mistake(cat(name, ": there is no ", quoted(said), did_you_mean(said, {words.begin(), words.size()})));
  return {};
}

std::optional<bool> Arguments::boolean(std::string_view name) {
  const JsonValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  if (value->boolean() != nullptr) return *value->boolean();
  wrong(name, "true or false", *value);
  return std::nullopt;
}

std::optional<std::int64_t> Arguments::integer(std::string_view name, std::int64_t least, std::int64_t most) {
  const JsonValue* value = find(name);
  if (value == nullptr) return std::nullopt;
  auto number = value->integer();
  if (number && *number >= least && *number <= most) return number;
  mistake(cat(name, " must be a whole number from ", least, " to ", most));
  return std::nullopt;
}

std::vector<std::string> Arguments::strings(std::string_view name) {
  const JsonValue* value = find(name);
  if (value == nullptr) return {};
  if (value->array() == nullptr) return wrong(name, "an array of strings", *value), std::vector<std::string>();
  std::vector<std::string> out;
  for (const JsonValue& item : *value->array()) {
    if (item.string() == nullptr) wrong(cat(name, "[", out.size(), "]"), "a string", item);
    out.push_back(item.string() == nullptr ? std::string() : *item.string());
  }
  return out;
}

std::map<std::string, std::string> Arguments::string_map(std::string_view name) {
  const JsonValue* value = find(name);
  if (value == nullptr) return {};
  if (value->object() == nullptr)
    return wrong(name, "an object of strings", *value), std::map<std::string, std::string>();
  std::map<std::string, std::string> out;
  for (const auto& m : *value->object()) {
    if (m.value.string() == nullptr) wrong(cat(name, ".", printable(m.name.substr(0, 64))), "a string", m.value);
    else out[m.name] = *m.value.string();
  }
  return out;
}

const JsonValue* Arguments::object(std::string_view name) {
  const JsonValue* value = find(name);
  if (value == nullptr || value->object() != nullptr) return value;
  wrong(name, "an object", *value);
  return nullptr;
}

JobFile Arguments::file(const JsonValue& entry) {
  JobFile out;
  Arguments a(entry);
  out.name = a.string("name");
  out.bytes = a.string("content");
  out.executable = a.boolean("executable").value_or(false);
  auto encoding = a.string("encoding");
  if (out.name.empty()) a.mistake("name is missing");
  if (encoding == "base64") {
    auto bytes = base64_decode(out.bytes);
    if (!bytes) a.mistake("content is no base64");
    out.bytes = bytes.value_or("");
  } else if (!encoding.empty() && encoding != "utf8") {
    a.mistake("encoding must be utf8 or base64");
  }
  if (auto done = a.done(); !done.ok()) mistake(cat("files: ", done.error().message));
  return out;
}

std::vector<JobFile> Arguments::files(std::string_view name) {
  const JsonValue* value = find(name);
  if (value == nullptr) return {};
  std::vector<JobFile> out;
  if (const auto* object = value->object()) {
    for (const auto& m : *object) {
      if (m.value.string() == nullptr) wrong(cat(name, ".", printable(m.name.substr(0, 64))), "a string", m.value);
      else out.push_back({m.name, *m.value.string(), false});
    }
  } else if (const auto* array = value->array()) {
    for (const JsonValue& entry : *array) {
      if (entry.object() == nullptr) wrong(cat(name, "[", out.size(), "]"), "an object", entry);
      out.push_back(file(entry));
    }
  } else {
    wrong(name, "an object or an array", *value);
  }
  if (auto fits = check_files(out); !fits.ok()) mistake(fits.error().message);
  return out;
}

InspectMode Arguments::inspect(std::string_view name) {
  const std::string said = string(name);
  if (said.empty()) return InspectMode::kOff;
  auto mode = inspect_mode(said);
  if (!mode || *mode == InspectMode::kOff) return mistake(cat(name, " must be report, mark or block")), InspectMode::kBlock;
  return *mode;
}

LimitsPatch Arguments::limits(std::string_view name) {
  LimitsPatch out;
  const JsonValue* value = find(name);
  if (value == nullptr) return out;
  if (value->object() == nullptr) return wrong(name, "an object", *value), out;
  Arguments a(*value);
  auto bytes = [&](std::string_view what) -> std::optional<Bytes> {
    const JsonValue* v = a.find(what);
    if (v == nullptr) return std::nullopt;
    if (auto n = v->integer(); n && *n > 0) return Bytes{static_cast<std::uint64_t>(*n)};
    if (v->string() != nullptr)
      if (auto parsed = parse_bytes(*v->string()); parsed.ok()) return parsed.value();
    a.mistake(cat(what, " must be a number of bytes or a size such as \"256M\""));
    return std::nullopt;
  };
  auto time = [&](std::string_view what) -> std::optional<Nanoseconds> {
    const JsonValue* v = a.find(what);
    if (v == nullptr) return std::nullopt;
    if (auto n = v->number(); n && *n > 0 && *n <= kMostSeconds)
      return std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(*n));
    if (v->string() != nullptr)
      if (auto parsed = parse_duration(*v->string()); parsed.ok()) return parsed.value();
    a.mistake(cat(what, " must be a number of seconds or a time such as \"500ms\""));
    return std::nullopt;
  };
  auto count = [&](std::string_view what) -> std::optional<std::uint32_t> {
    auto n = a.integer(what, 1, 1 << 20);
    return n ? std::optional(static_cast<std::uint32_t>(*n)) : std::nullopt;
  };
  out.memory = bytes("memory");
  out.disk = bytes("disk");
  out.output = bytes("output");
  out.cpu_time = time("cpu_time");
  out.wall = time("wall");
  if (const JsonValue* v = a.find("cpus")) {
    auto n = v->number();
    if (n && *n > 0 && *n <= 1024) out.cpus = n;
    else a.mistake("cpus must be a number above 0, at most 1024");
  }
  out.processes = count("processes");
  out.open_files = count("open_files");
  if (auto done = a.done(); !done.ok()) mistake(cat(name, ": ", done.error().message));
  return out;
}

Result<void> Arguments::done() {
  if (mistake_) return make_error(ErrorCode::kInvalid, *mistake_);
  if (object_.object() == nullptr) return {};
  for (const auto& m : *object_.object()) {
    if (std::find(known_.begin(), known_.end(), m.name) != known_.end()) continue;
    if (m.name == "waive") return make_error(ErrorCode::kInvalid, std::string(kNoWaivers));
    return make_error(ErrorCode::kInvalid, cat("unknown argument '", printable(m.name.substr(0, 64)), "'",
                                               did_you_mean(m.name.substr(0, 64), known_)));
  }
  return {};
}

}  // namespace hotcell::server::mcp
