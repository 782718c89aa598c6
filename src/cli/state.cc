#include "cli/state.h"

#include <sys/stat.h>
#include <unistd.h>

#include <ctime>

#include "base/strings.h"
#include "cli/help.h"
#include "cli/say.h"
#include "server/config/load.h"
#include "store/schema.h"

namespace hotcell {

Result<std::string> state_folder(const Parsed& parsed, Missing missing) {
  auto given = parsed.last(Opt::kState);
  std::string folder;
  if (given) {
    folder = *given;
  } else {
    // Where the daemon of this configuration has it: a key made elsewhere would open nothing.
    TRY_SET(server::Config config, server::load_config(server::standard_sources()));
    folder = config.state_dir;
  }
  if (!folder.starts_with('/')) {
    char here[4096];
    if (::getcwd(here, sizeof here) == nullptr) return errno_error("getcwd", errno);
    folder = cat(here, "/", folder);
  }
  struct stat s {};
  if (missing == Missing::kRefuse && ::stat(store_file(folder).c_str(), &s) < 0) {
    if (errno != ENOENT) return errno_error(printable(folder), errno);
    return make_error(ErrorCode::kInvalid, cat("no daemon has kept anything in ", printable(folder), " yet; see --state"));
  }
  return folder;
}

Result<std::size_t> count_option(const Parsed& parsed, Opt option, std::size_t without, std::size_t most) {
  auto given = parsed.last(option);
  if (!given) return without;
  auto number = parse_u64(*given);
  if (number && *number >= 1 && *number <= most) return static_cast<std::size_t>(*number);
  std::string_view name;
  for (const auto& o : options()) {
    if (o.id == option) name = o.name;
  }
  return make_error(ErrorCode::kInvalid, cat(name, ": expected a number from 1 to ", most, ", not '", printable(*given), "'"));
}

std::string utc_time(std::chrono::system_clock::time_point time) {
  if (time.time_since_epoch().count() == 0) return {};
  std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  char text[32];
  if (::gmtime_r(&seconds, &parts) == nullptr) return {};
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts));
}

int run_command(Command command, Args args, const std::function<Result<int>(const Parsed&)>& body) {
  auto parsed = parse(command, args);
  if (!parsed.ok()) return refuse(parsed.error());
  if (parsed.value().has(Opt::kHelp)) return print(help_text(command, parsed.value().words));
  auto done = body(parsed.value());
  if (done.ok()) return done.value();
  auto error = std::move(done).error();
  error.code = ErrorCode::kInvalid;  // 126 and 127 are for programs
  return refuse(error);
}

}  // namespace hotcell
