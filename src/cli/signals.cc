#include "cli/signals.h"

#include <cerrno>
#include <csignal>

namespace hotcell {

namespace {

volatile std::sig_atomic_t g_caught = 0;

void on_signal(int number) {
  if (g_caught == 0) g_caught = number;
}
void on_nothing(int) {}

volatile std::sig_atomic_t g_suspension = 0;
void on_suspension(int) { g_suspension = 1; }

}  // namespace

int caught_signal() { return g_caught; }

bool take_suspension() {
  const bool came = g_suspension != 0;
  g_suspension = 0;
  return came;
}

Result<void> catch_suspension() {
  struct sigaction action {};
  ::sigemptyset(&action.sa_mask);
  action.sa_handler = on_suspension;
  return ::sigaction(SIGTSTP, &action, nullptr) == 0 ? Result<void>() : errno_error("sigaction", errno);
}

Result<void> catch_signals() {
  struct sigaction action {};
  ::sigemptyset(&action.sa_mask);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ}) {
    struct sigaction old {};
    // Of these two the system call tells as well, and then it can be said what went wrong. Not ignored: exec would pass that on.
    const bool by_error = number == SIGPIPE || number == SIGXFSZ;
    action.sa_handler = by_error ? on_nothing : on_signal;
    if (::sigaction(number, &action, &old) != 0) return errno_error("sigaction", errno);
    if (!by_error && old.sa_handler == SIG_IGN && ::sigaction(number, &old, nullptr) != 0) {
      return errno_error("sigaction", errno);
    }
  }
  return {};
}

}  // namespace hotcell
