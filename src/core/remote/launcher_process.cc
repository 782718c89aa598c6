#include "core/remote/launcher_process.h"

#include <fcntl.h>
#include <unistd.h>

#include <vector>

#include "base/strings.h"
#include "core/remote/connection.h"
#include "sys/file.h"
#include "sys/spawn.h"

namespace hotcell::remote {
namespace {

constexpr int kSocket = 3;

}  // namespace

Result<std::string> find_program_of_ours(std::string_view name) {
  TRY_SET(std::string self, sys::read_link("/proc/self/exe"));
  std::string folder = self.substr(0, self.rfind('/'));
  std::string tried;
  for (const std::string& place : {folder, cat(folder, "/../libexec/hotcell")}) {
    std::string path = cat(place, "/", name);
    if (::access(path.c_str(), X_OK) == 0) return path;
    tried += cat(tried.empty() ? "" : ", ", path);
  }
  return make_error(ErrorCode::kNotFound, cat(name, " is not there; looked for ", tried));
}

Result<LauncherProcess> start_launcher(const std::string& program, const Ceiling& ceiling, const ReaderPrograms& readers,
                                       std::vector<std::string> first, bool keep_environment) {
  std::vector<std::string> words = std::move(first);
  words.insert(words.end(), {cat("socket=", kSocket), cat("verify=", readers.verify), cat("inspect=", readers.inspect), cat("proxy=", readers.proxy),
                             cat("tls=", readers.tls), cat("authorities=", readers.authorities),
                             cat("memory=", ceiling.memory.n), cat("disk=", ceiling.disk.n),
                             cat("output=", ceiling.output.n), cat("wall=", ceiling.wall.count()),
                             cat("processes=", ceiling.processes), cat("running=", ceiling.running),
                             cat("parked=", ceiling.parked)});
  if (ceiling.host_network) words.emplace_back("host-network");
  for (const auto& word : readers.proxy_words) words.push_back(cat("proxy-word=", word));
  for (const auto& path : ceiling.read) words.push_back(cat("read=", path));
  for (const auto& path : ceiling.write) words.push_back(cat("write=", path));
  TRY_SET(Ends ends, make_ends());
  TRY_SET(sys::Fd null, sys::open("/dev/null", O_RDWR));
  sys::Spawn what;
  what.program = program;
  what.keep_environment = keep_environment;
  what.argv = std::move(words);
  what.fds = {null.get(), null.get(), STDERR_FILENO, ends.launcher.get()};
  TRY_SET(sys::Child child, sys::spawn(what));
  return LauncherProcess{std::move(child), std::move(ends.front)};
}

}  // namespace hotcell::remote
