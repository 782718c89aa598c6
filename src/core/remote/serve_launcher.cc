#include "core/remote/serve_launcher.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <string>

#include "base/strings.h"
#include "core/kernel/host.h"
#include "core/remote/service.h"
#include "sys/fd.h"

namespace hotcell::remote {
namespace {

struct Told {
  int socket = -1;
  ServiceOptions options;
  LauncherOptions launcher;
};

Result<Told> read_words(const std::vector<std::string_view>& words) {
  Told out;
  Ceiling& c = out.options.ceiling;
  for (const auto& word : words) {
    auto equals = word.find('=');
    auto name = word.substr(0, equals);
    auto value = equals == std::string_view::npos ? std::string_view() : word.substr(equals + 1);
    auto number = parse_u64(value);
    if (name == "read") c.read.emplace_back(value);
    else if (name == "write") c.write.emplace_back(value);
    else if (name == "verify") out.options.readers.verify = value;
    else if (name == "inspect") out.options.readers.inspect = value;
    else if (name == "proxy") out.options.readers.proxy = value;
    else if (name == "tls") out.options.readers.tls = value;
    else if (name == "authorities") out.options.readers.authorities = value;
    else if (name == "proxy-word") out.options.readers.proxy_words.emplace_back(value);
    else if (name == "backend") out.launcher.backend = value;
    else if (name == "host-network") c.host_network = true;
    else if (!number) return make_error(ErrorCode::kInvalid, cat("hotcell-launcher: ", word));
    else if (name == "socket") out.socket = static_cast<int>(*number);
    else if (name == "memory") c.memory.n = *number;
    else if (name == "disk") c.disk.n = *number;
    else if (name == "output") c.output.n = *number;
    else if (name == "wall") c.wall = Nanoseconds(*number);
    else if (name == "running") c.running = *number;
    else if (name == "parked") c.parked = *number;
    else if (name == "processes") c.processes = static_cast<std::uint32_t>(*number);
    else return make_error(ErrorCode::kInvalid, cat("hotcell-launcher: ", word));
  }
  struct stat s {};
  if (out.socket < 0 || ::fstat(out.socket, &s) != 0 || !S_ISSOCK(s.st_mode))
    return make_error(ErrorCode::kInvalid, "hotcell-launcher is started by hotcell serve");
  return out;
}

}  // namespace

Result<void> serve_launcher(const std::vector<std::string_view>& words, const MakeLauncher& make) {
  TRY_SET(Told told, read_words(words));
  // The daemon ends us by closing the socket, so that cells are taken down in order; a terminal's signals are not ours.
  for (int s : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(s, SIG_IGN);
  ::prctl(PR_SET_NAME, "hotcell-launch");
  if (told.launcher.backend == "landlock") tasks_beside() = 512;
  TRY_SET(auto launcher, make(told.launcher));
  TRY_SET(auto service, Service::create(std::move(launcher), std::move(told.options)));
  ::fcntl(told.socket, F_SETFD, FD_CLOEXEC);
  TRY(service->add(sys::Fd(told.socket)));
  return service->serve();
}

}  // namespace hotcell::remote
