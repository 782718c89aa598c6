// `hotcell serve` and `hotcell mcp`: the daemon, and the same for one client on standard input and output.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <thread>

#include "backends/probe.h"
#include "base/strings.h"
#include "cells/decisions/decisions.h"
#include "cells/decisions/standard.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/open_browser.h"
#include "cli/options.h"
#include "cli/say.h"
#include "cli/serve_options.h"
#include "daemon/supervisor.h"
#include "hotcell/language.h"
#include "hotcell/policy.h"
#include "server/config/load.h"
#include "sys/file.h"

namespace hotcell {
namespace {

std::string home_folder() {
  const char* home = ::getenv("HOME");
  return home == nullptr ? "" : home;
}

// Ours alone: what is in it decides who may come in. A link in its place would be somebody else's folder.
Result<sys::Fd> open_state(const std::string& folder) {
  std::error_code made;
  std::filesystem::create_directories(std::filesystem::path(folder).parent_path(), made);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return errno_error(cat("state folder ", folder), errno);
  auto opened = sys::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!opened.ok()) {
    if (opened.error().err == ELOOP || opened.error().err == ENOTDIR)
      return make_error(ErrorCode::kDenied, cat("state folder ", folder, ": it is a link, or no folder"));
    return std::move(opened).error().context("state folder");
  }
  TRY_SET(struct stat s, sys::stat_fd(opened.value().get(), folder));
  if (s.st_uid != ::geteuid()) return make_error(ErrorCode::kDenied, cat("state folder ", folder, ": it belongs to somebody else"));
  if ((s.st_mode & 077) != 0) return make_error(ErrorCode::kDenied, cat("state folder ", folder, ": others may enter it; chmod 700 it"));
  // Two daemons on one folder would call each other's executions abandoned.
  if (::flock(opened.value().get(), LOCK_EX | LOCK_NB) != 0)
    return make_error(ErrorCode::kLimit, cat("state folder ", folder, ": another daemon uses it; give this one --state"));
  return opened;
}

remote::Ceiling ceiling_of(const server::Config& config) {
  remote::Ceiling c;
  c.read = config.allowed_read;
  c.write = config.allowed_write;
  c.host_network = config.host_network;
  // Compilers need more than most programs may have.
  c.memory = std::max<Bytes>(config.max_memory, 4_GiB);
  c.disk = std::max<Bytes>(config.max_disk, 4_GiB);
  c.output = std::max<Bytes>(config.max_output, 64_MiB);
  c.wall = std::max<Nanoseconds>(config.max_timeout, std::chrono::minutes(10));
  c.processes = std::max<std::uint32_t>(config.max_processes, 512);
  // A run of code may compile beside what runs.
  const std::uint64_t most = config.max_running > 0 ? config.max_running : 2 * std::max(2U, std::thread::hardware_concurrency());
  c.running = 2 * most + 16;
  c.parked = config.park_cells + 16;
  std::uint64_t runtimes = 0;
  for (const auto& [language, n] : config.park_runtimes) runtimes += n;
  c.parked += runtimes + config.park_profiles.size() * std::max<std::uint64_t>(runtimes, 1);
  // Tools that languages bring from outside /usr; a cell sees them read-only.
  for (const auto* language : languages())
    for (const auto& [name, path] : find_tools(*language, default_policy()))
      if (!path.starts_with("/usr/") && path.rfind('/') > 0) c.read.push_back(path.substr(0, path.rfind('/')));
  return c;
}

// What cells made over the doors must ask about; read once, here, where somebody reads the error.
Result<std::string> decisions_of(const server::Config& config) {
  const std::string& said = config.cell_decisions;
  if (said.empty()) return said;
  if (said == "standard") return std::string(cells::standard_decisions_yaml());
  auto text = server::read_checked(said);
  if (text.ok()) {
    TRY(cells::parse_decisions(text.value(), said).context("cells.decisions"));
    return text;
  }
  auto error = std::move(text).error();
  if (error.code == ErrorCode::kNotFound) error.code = ErrorCode::kInvalid;  // 127 is for programs
  return std::move(error).context("cells.decisions");
}

// By trying, once: which walls the cells of this daemon have does not change while it runs.
void choose_backend(server::Config& config) {
  if (config.backend != "auto") return;
  const auto native = backends::probe("native", {}, backends::ProbeFor::kChoosing);
  config.backend = native.works ? "native" : "landlock";
  if (!native.works) say(cat("cells are made by the landlock backend; native ones do not work here: ", native.why));
}

Result<int> serve(const Parsed& parsed, bool stdio) {
  TRY_SET(server::Config config, serve_config(parsed));
  choose_backend(config);
  TRY(server::check_network(config));  // once more: which backend "auto" is was not known before
  std::string throw_away;
  if (stdio && !parsed.has(Opt::kState)) {
    // One client, one life: nothing of it is kept.
    const char* tmp = ::getenv("TMPDIR");
    throw_away = cat(tmp == nullptr || *tmp == '\0' ? "/tmp" : tmp, "/hotcell-mcp.XXXXXX");
    if (::mkdtemp(throw_away.data()) == nullptr) return errno_error(throw_away, errno);
    config.state_dir = throw_away;
  }
  TRY_SET(sys::Fd lock, open_state(config.state_dir));
  daemon::SupervisorOptions options;
  options.config = server::config_yaml(config, false);
  options.state_dir = config.state_dir;
  options.home = home_folder();
  options.backend = config.backend;
  options.drain = std::chrono::ceil<std::chrono::milliseconds>(config.drain);
  options.ceiling = ceiling_of(config);
  options.cells.ceiling = options.ceiling;
  options.cells.projects = config.cell_projects;
  TRY_SET(options.cells.decisions, decisions_of(config));
  options.cells.most = config.max_cells;
  options.end_cells = !throw_away.empty();
  TRY_SET(options.proxy_words, proxy_words(config));
  options.cells.network_words = options.proxy_words;
  options.stdio = stdio;
  options.fixtures = ::getenv("HOTCELL_MCP_FIXTURES") != nullptr;
  options.json_log = config.log_format == "json";
  options.gather_facts = true;
  if (auto fd = parsed.last(Opt::kReadyFd)) {
    auto number = parse_u64(*fd);
    if (!number || *number > 1023 || ::fcntl(static_cast<int>(*number), F_SETFD, FD_CLOEXEC) != 0)
      return make_error(ErrorCode::kInvalid, cat("--ready-fd: ", *fd, " is not an open descriptor"));
    options.ready_fd = static_cast<int>(*number);
  }
  sys::Fd opener;
  if (parsed.has(Opt::kOpen)) {
    if (options.ready_fd >= 0) return make_error(ErrorCode::kInvalid, "--open and --ready-fd: one of them, please");
    if (!config.dashboard) return make_error(ErrorCode::kInvalid, "--open: the dashboard is switched off");
    TRY_SET(opener, open_when_told());
    options.ready_fd = opener.release();  // the supervisor closes it
  }
  auto code = daemon::supervise(options);
  if (!throw_away.empty()) {
    std::error_code ignored;
    std::filesystem::remove_all(throw_away, ignored);
  }
  return code;
}

int serve_command(Command command, Args args, bool stdio) {
  auto parsed = parse(command, args);
  if (!parsed.ok()) return refuse(parsed.error());
  if (parsed.value().has(Opt::kHelp)) return print(help_text(command));
  if (const auto& words = parsed.value().words; !words.empty())
    return refuse(make_error(ErrorCode::kInvalid, cat(command_spec(command).name, " takes no words, got ", printable(words.front()))));
  auto code = serve(parsed.value(), stdio);
  return code.ok() ? code.value() : refuse(code.error());
}

}  // namespace

int cmd_serve(Args args) { return serve_command(Command::kServe, args, false); }
int cmd_mcp(Args args) { return serve_command(Command::kMcp, args, true); }

}  // namespace hotcell
