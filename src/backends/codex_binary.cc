#include "backends/codex_binary.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <thread>

#include "backends/backend.h"
#include "base/sha256.h"
#include "base/strings.h"
#include "sys/file.h"

namespace hotcell::backends {
namespace {

bool runnable(const std::string& path) { return !path.empty() && ::access(path.c_str(), X_OK) == 0; }
bool is_digest(std::string_view text) { return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == text.npos; }

Result<void> make_folders(const std::string& path) {
  for (auto at = path.find('/', 1); at != path.npos; at = path.find('/', at + 1))
    if (::mkdir(path.substr(0, at).c_str(), 0755) < 0 && errno != EEXIST) return errno_error(path.substr(0, at), errno);
  return {};
}

Result<std::string> digest_of(int fd) {
  Sha256 sum;
  std::string buffer(1 << 20, '\0');
  if (::lseek(fd, 0, SEEK_SET) < 0) return errno_error("what was fetched", errno);
  for (ssize_t n; (n = ::read(fd, buffer.data(), buffer.size())) != 0;) {
    if (n < 0) return errno_error("what was fetched", errno);
    sum.add({buffer.data(), static_cast<std::size_t>(n)});
  }
  return sum.finish_hex();
}

// curl writes to its stdout, which is the file: whatever it makes of a name, it does not choose where it goes.
Result<void> fetch(const std::string& url, int into, long long seconds) {
  std::string curl = find_tool("curl");
  if (curl.empty()) return make_error(ErrorCode::kUnsupported, "curl is not installed (apt-get install curl)");
  if (::ftruncate(into, 0) < 0 || ::lseek(into, 0, SEEK_SET) < 0) return errno_error("cache", errno);
  std::vector<std::string> words = {curl, "--silent", "--fail", "--location", "--proto", "=https,http,file", "--proto-redir", "=https,http",
                                    "--max-time", cat(seconds), "--max-filesize", "1073741824", "--", url};
  std::vector<char*> argv;
  for (auto& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, into, 1);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  char path[] = "PATH=/usr/bin:/bin";
  char* env[] = {path, nullptr};
  pid_t pid = 0;
  int failed = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), env);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return errno_error("curl", failed);
  int status = 0;
  auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds + 5);
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > until) ::kill(pid, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return make_error(ErrorCode::kIo, cat("curl ended with ", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)));
}

}  // namespace

std::string codex_cache(const std::string& sha256) {
  const char* cache = ::getenv("XDG_CACHE_HOME");
  const char* home = ::getenv("HOME");
  std::string base = cache != nullptr && cache[0] == '/' ? cache : home != nullptr && home[0] == '/' ? cat(home, "/.cache") : "/var/cache";
  return cat(base, "/hotcell/codex/", sha256, "/codex");
}

std::string find_codex(const Settings& settings) {
  std::string said = settings.get("codex.executable");
  if (said.find('/') != said.npos) return said.starts_with('/') && runnable(said) ? said : std::string();
  if (std::string path = find_tool(said); !path.empty()) return path;
  // By its digest it is the same program, whatever it is called.
  if (std::string digest = settings.get("codex.sha256"); is_digest(digest) && runnable(codex_cache(digest))) return codex_cache(digest);
  if (settings.said("codex.executable")) return {};  // that one and no other
#ifdef HOTCELL_CODEX
  if (runnable(HOTCELL_CODEX)) return HOTCELL_CODEX;
#endif
  return {};
}

Result<std::string> ensure_codex(const Settings& settings) {
  if (std::string path = find_codex(settings); !path.empty()) return path;
  std::string asked = settings.get("codex.auto_download"), digest = settings.get("codex.sha256"), sources = settings.get("codex.sources");
  if (asked != "true" && asked != "false") return make_error(ErrorCode::kInvalid, cat("codex.auto_download: ", printable(asked), ": true or false"));
  if (asked != "true")
    return make_error(ErrorCode::kUnsupported, cat("backend codex: ", printable(settings.get("codex.executable")), " is not installed (codex.executable says where it is)"));
  if (!is_digest(digest)) return make_error(ErrorCode::kInvalid, "codex.auto_download: nothing is fetched without codex.sha256, 64 hexadecimal digits of the program");
  if (sources.empty()) return make_error(ErrorCode::kInvalid, "codex.auto_download: codex.sources says where from");
  long long seconds = 0;
  std::string time = settings.get("codex.download_timeout");
  if (auto [end, error] = std::from_chars(time.data(), time.data() + time.size(), seconds); error != std::errc{} || end != time.data() + time.size() || seconds < 1 || seconds > 86400)
    return make_error(ErrorCode::kInvalid, cat("codex.download_timeout: ", printable(time), ": expected seconds"));
  std::string path = codex_cache(digest), part = cat(path, ".part-", ::getpid());
  TRY(make_folders(path).context("cache"));
  std::string passed;
  for (auto source : split(sources, ' ')) {
    if (source.empty()) continue;
    TRY_SET(sys::Fd file, sys::open(part.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600));
    auto fetched = fetch(std::string(source), file.get(), seconds);
    auto sum = fetched.ok() ? digest_of(file.get()) : Result<std::string>(std::move(fetched).error());
    if (sum.ok() && sum.value() == digest) {
      // Executable, in its place, all at once: who looks there sees the whole program or none.
      bool kept = ::fchmod(file.get(), 0755) == 0 && ::fsync(file.get()) == 0;
      file.reset();
      if (kept && ::rename(part.c_str(), path.c_str()) == 0) return path;
      auto error = errno_error(path, errno);
      ::unlink(part.c_str());
      return error;
    }
    ::unlink(part.c_str());
    passed += cat(passed.empty() ? "" : "; ", printable(source), ": ", sum.ok() ? cat("its digest is ", sum.value()) : sum.error().message);
  }
  return make_error(ErrorCode::kUnsupported, cat("codex: no source has the program with this digest (", passed, ")"));
}

}  // namespace hotcell::backends
