#include "base/time_text.h"

#include <cstdio>
#include <ctime>

namespace hotcell {

std::string rfc3339(std::chrono::system_clock::time_point time) {
  using namespace std::chrono;
  auto since = duration_cast<nanoseconds>(time.time_since_epoch());
  auto whole = floor<seconds>(since);
  std::time_t t = static_cast<std::time_t>(whole.count());
  std::tm parts{};
  ::gmtime_r(&t, &parts);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%09lldZ", parts.tm_year + 1900, parts.tm_mon + 1,
                parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
                static_cast<long long>((since - whole).count()));
  return text;
}

}  // namespace hotcell
