#include "cli/open_browser.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "cli/say.h"
#include "sys/file.h"

namespace hotcell {
namespace {

constexpr std::string_view kOpener = "xdg-open";

[[noreturn]] void wait_and_open(int addresses) {
  ::setsid();  // Ctrl-C is for the daemon, not for the browser
  const std::string told = sys::read_fd(addresses, 4096).value_or("");
  std::string url;
  for (auto line : split(told, '\n'))
    if (url.empty() && line.starts_with("http")) url = line;
  if (url.empty()) ::_exit(0);
  if (int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC); nothing >= 0) {
    ::dup2(nothing, 0);
    ::dup2(nothing, 1);
  }
  ::execlp(kOpener.data(), kOpener.data(), url.c_str(), nullptr);
  say(cat("--open: ", kOpener, errno == ENOENT ? " is not there (package xdg-utils)" : " could not be run", "; the dashboard is at ", url));
  ::_exit(0);
}

}  // namespace

Result<sys::Fd> open_when_told() {
  TRY_SET(sys::Pipe pipe, sys::make_pipe(O_CLOEXEC));
  const pid_t between = ::fork();
  if (between < 0) return errno_error("fork", errno);
  if (between == 0) {
    // Twice: the daemon reaps what it has started, and this is nothing of its.
    if (::fork() != 0) ::_exit(0);
    ::dup2(pipe.read.get(), 3);
    ::syscall(SYS_close_range, 4, ~0U, 0);
    wait_and_open(3);
  }
  ::waitpid(between, nullptr, 0);
  return std::move(pipe.write);
}

}  // namespace hotcell
