#include "cli/signals.h"

#include <cerrno>
#include <csignal>

namespace hotcell {

namespace {

volatile std::sig_atomic_t g_caught = 0;

void on_signal(int number) {
  if (g_caught == 0) g_caught = number;
}
void on_pipe(int) {}

}  // namespace

int caught_signal() { return g_caught; }

Result<void> catch_signals() {
  struct sigaction action {};
  ::sigemptyset(&action.sa_mask);
  for (int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    struct sigaction old {};
    action.sa_handler = number == SIGPIPE ? on_pipe : on_signal;
    if (::sigaction(number, &action, &old) != 0) return errno_error("sigaction", errno);
    if (number != SIGPIPE && old.sa_handler == SIG_IGN && ::sigaction(number, &old, nullptr) != 0) {
      return errno_error("sigaction", errno);
    }
  }
  return {};
}

}  // namespace hotcell
