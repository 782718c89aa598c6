#include "server/rest/query.h"

#include <algorithm>
#include <ctime>

#include "base/strings.h"
#include "core/policy/suggest.h"
#include "core/policy/units.h"

namespace hotcell::server {

namespace {

Error invalid(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

std::optional<int> digits(std::string_view& s, std::size_t n, char behind) {
  if (s.size() < n) return std::nullopt;
  auto number = parse_u64(s.substr(0, n));
  s.remove_prefix(n);
  if (!number || (behind != 0 && !s.starts_with(behind))) return std::nullopt;
  if (behind != 0) s.remove_prefix(1);
  return static_cast<int>(*number);
}

// Offset from UTC in seconds: "Z", "+02:00".
std::optional<int> zone(std::string_view s) {
  if (s == "Z" || s == "z") return 0;
  if (s.size() != 6 || (s[0] != '+' && s[0] != '-')) return std::nullopt;
  const int sign = s[0] == '-' ? -1 : 1;
  s.remove_prefix(1);
  auto hours = digits(s, 2, ':'), minutes = digits(s, 2, 0);
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  return sign * (*hours * 3600 + *minutes * 60);
}

std::optional<std::chrono::system_clock::time_point> parse_rfc3339(std::string_view s) {
  using namespace std::chrono;
  auto year = digits(s, 4, '-'), month = digits(s, 2, '-'), day = digits(s, 2, 0);
  if (!year || !month || !day || s.empty() || (s[0] != 'T' && s[0] != 't' && s[0] != ' ')) return std::nullopt;
  s.remove_prefix(1);
  auto hour = digits(s, 2, ':'), minute = digits(s, 2, ':'), second = digits(s, 2, 0);
  if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  nanoseconds fraction{0};
  if (s.starts_with('.')) {
    s.remove_prefix(1);
    std::int64_t unit = 100'000'000;
    while (!s.empty() && s[0] >= '0' && s[0] <= '9') {
      fraction += nanoseconds(unit * (s[0] - '0'));
      unit /= 10;
      s.remove_prefix(1);
    }
  }
  auto offset = zone(s);
  year_month_day date(std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                      std::chrono::day(static_cast<unsigned>(*day)));
  if (!offset || !date.ok()) return std::nullopt;
  // The clock counts nanoseconds in 64 bits: it begins in 1677 and ends in 2262. Nothing of ours happened outside of that.
  if (*year < 1700) return system_clock::time_point();
  if (*year > 2260) return system_clock::time_point(sys_days(std::chrono::year(2260) / 12 / 31).time_since_epoch());
  return system_clock::time_point(sys_days(date).time_since_epoch()) + hours(*hour) + minutes(*minute) +
         seconds(*second - *offset) + duration_cast<system_clock::duration>(fraction);
}

}  // namespace

Result<std::uint64_t> query_number(const HttpRequest& request, std::string_view name, std::uint64_t otherwise,
                                   std::uint64_t least, std::uint64_t most) {
  auto said = request.param(name);
  if (!said) return otherwise;
  auto number = parse_u64(*said);
  if (!number || *number < least || *number > most)
    return invalid(cat(name, " must be a whole number from ", least, " to ", most, ", not ", quoted(*said)));
  return *number;
}

Result<bool> query_bool(const HttpRequest& request, std::string_view name, bool otherwise) {
  auto said = request.param(name);
  if (!said) return otherwise;
  if (*said == "true" || *said == "1") return true;
  if (*said == "false" || *said == "0") return false;
  return invalid(cat(name, " must be true or false, not ", quoted(*said)));
}

Result<std::string> query_choice(const HttpRequest& request, std::string_view name,
                                 std::span<const std::string_view> words) {
  auto said = request.param(name).value_or("");
  if (said.empty() || std::find(words.begin(), words.end(), said) != words.end()) return std::string(said);
  return invalid(cat(name, ": there is no ", quoted(said), did_you_mean(said, words)));
}

Result<std::optional<std::chrono::system_clock::time_point>> query_time(const HttpRequest& request,
                                                                        std::string_view name) {
  using Time = std::optional<std::chrono::system_clock::time_point>;
  auto said = request.param(name);
  if (!said || said->empty()) return Time();
  if (auto unix_time = parse_u64(*said); unix_time && *unix_time < 9'000'000'000)
    return Time(std::chrono::system_clock::time_point(std::chrono::seconds(*unix_time)));
  auto time = parse_rfc3339(*said);
  if (!time) return invalid(cat(name, " must be a time like 2026-01-31T12:00:00Z, not ", quoted(*said)));
  return Time(*time);
}

std::string trace_parent(const HttpRequest& request) {
  auto said = request.header("traceparent");
  return said && said->size() <= 64 ? std::string(*said) : std::string();
}

std::string query_text(const HttpRequest& request, std::string_view name) {
  return std::string(request.param(name).value_or(""));
}

}  // namespace hotcell::server
