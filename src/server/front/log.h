// What the front has to say, one line each on standard error: for people, or as JSON for programs.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace hotcell::server {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarning, kError };

class Log {
 public:
  Log(std::string_view level, std::string_view format);
  using Fields = std::initializer_list<std::pair<std::string_view, std::string>>;
  void operator()(LogLevel level, std::string_view message, Fields fields = {}) const;
  bool wants(LogLevel level) const { return level >= least_; }

 private:
  LogLevel least_ = LogLevel::kInfo;
  bool json_ = false;
};

}  // namespace hotcell::server
