#include <array>
#include <cmath>

#include "base/strings.h"
#include "core/policy/units.h"
#include "server/rest/execute_spec.h"

namespace hotcell::server {

namespace {

constexpr std::array<std::string_view, 10> kFields = {"memory", "disk", "output",    "cpu_time",   "wall",
                                                      "cpus",   "stack", "processes", "open_files", "address_space"};

Error invalid(std::string_view message) { return make_error(ErrorCode::kInvalid, std::string(message)); }
Error more_than_zero(std::string_view name) { return invalid(cat("limits.", name, " must be more than 0")); }

Result<void> read_bytes(const JsonReader& reader, std::string_view name, std::optional<Bytes>& out) {
  const JsonValue* found = reader.find(name);
  if (found == nullptr) return {};
  if (found->string() != nullptr) {
    auto bytes = parse_bytes(*found->string());
    if (!bytes.ok()) return std::move(bytes).context(cat("limits.", name)).error();
    out = bytes.value();
    return {};
  }
  if (found->array() != nullptr || found->object() != nullptr || std::holds_alternative<bool>(found->v))
    return reader.wrong(name, "a number of bytes or a text like \"64M\"");
  std::optional<std::uint64_t> number;
  TRY(reader.read(name, number));
  if (*number == 0) return more_than_zero(name);
  out = Bytes{*number};
  return {};
}

Result<void> read_time(const JsonReader& reader, std::string_view name, std::optional<Nanoseconds>& out) {
  const JsonValue* found = reader.find(name);
  if (found == nullptr) return {};
  if (found->string() != nullptr) {
    auto time = parse_duration(*found->string());
    if (!time.ok()) return std::move(time).context(cat("limits.", name)).error();
    out = time.value();
    return {};
  }
  if (found->array() != nullptr || found->object() != nullptr || std::holds_alternative<bool>(found->v))
    return reader.wrong(name, "a number of seconds or a text like \"30s\"");
  std::optional<double> seconds;
  TRY(reader.read(name, seconds));
  if (*seconds < 1e-9) return more_than_zero(name);
  if (*seconds > 1e9) return invalid(cat("limits.", name, " is too large"));
  out = std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(*seconds));
  return {};
}

Result<void> read_count(const JsonReader& reader, std::string_view name, std::optional<std::uint32_t>& out) {
  std::optional<std::uint64_t> number;
  TRY(reader.read(name, number));
  if (!number) return {};
  if (*number == 0) return more_than_zero(name);
  if (*number > 1'000'000'000) return invalid(cat("limits.", name, " is too large"));
  out = static_cast<std::uint32_t>(*number);
  return {};
}

}  // namespace

Result<LimitsPatch> limits_from_json(const JsonValue& limits) {
  TRY_SET(auto reader, JsonReader::of(limits, "limits.", kFields));
  LimitsPatch out;
  TRY(read_bytes(reader, "memory", out.memory));
  TRY(read_bytes(reader, "disk", out.disk));
  TRY(read_bytes(reader, "output", out.output));
  TRY(read_bytes(reader, "stack", out.stack));
  std::optional<Bytes> address_space;
  TRY(read_bytes(reader, "address_space", address_space));
  if (address_space) out.address_space = address_space;
  TRY(read_time(reader, "cpu_time", out.cpu_time));
  TRY(read_time(reader, "wall", out.wall));
  TRY(read_count(reader, "processes", out.processes));
  TRY(read_count(reader, "open_files", out.open_files));
  TRY(reader.read("cpus", out.cpus));
  // 0 would be "no quota", which is more than anybody else's.
  if (out.cpus && (*out.cpus < kMinCpus || *out.cpus > kMaxCpus))
    return invalid(cat("limits.cpus must be between ", format_cpus(kMinCpus), " and ", format_cpus(kMaxCpus)));
  return out;
}

}  // namespace hotcell::server
