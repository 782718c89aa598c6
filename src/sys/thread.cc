#include "sys/thread.h"

#include <signal.h>

namespace hotcell::sys {

std::thread quiet_thread(std::function<void()> work) {
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread started(std::move(work));
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return started;
  } catch (...) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

}  // namespace hotcell::sys
