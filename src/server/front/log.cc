#include "server/front/log.h"

#include <unistd.h>

#include <chrono>

#include "base/json_write.h"
#include "base/strings.h"
#include "manager/report_json.h"

namespace hotcell::server {
namespace {

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return "debug";
    case LogLevel::kInfo: return "info";
    case LogLevel::kWarning: return "warning";
    case LogLevel::kError: return "error";
  }
  return "info";
}

}  // namespace

Log::Log(std::string_view level, std::string_view format) : json_(format == "json") {
  for (auto l : {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError})
    if (level == name_of(l)) least_ = l;
}

void Log::operator()(LogLevel level, std::string_view message, Fields fields) const {
  if (!wants(level)) return;
  std::string line;
  if (json_) {
    JsonWriter w;
    w.begin_object();
    w.field("time", rfc3339(std::chrono::system_clock::now()));
    w.field("level", name_of(level));
    w.field("message", message);
    for (const auto& [name, value] : fields) w.field(name, value);
    w.end_object();
    line = w.take();
  } else {
    line = cat("hotcell: ", level >= LogLevel::kWarning ? cat(name_of(level), ": ") : "", printable(message));
    for (const auto& [name, value] : fields) line += cat(" ", name, "=", printable(value));
  }
  line += '\n';
  // A terminal or journal that takes nothing must not hold the loop up; the line is lost then.
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace hotcell::server
