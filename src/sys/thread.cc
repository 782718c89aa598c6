#include "sys/thread.h"

#include <signal.h>

#include <system_error>

#include "sys/fault.h"

#ifdef HOTCELL_SANITIZED
extern "C" {
void __sanitizer_sandbox_on_notify(void* arguments);   // of its public interface: "a sandbox is about to be turned on"
const char* __tsan_default_options();
// The daemon's programs are started without an environment. A race ends them, which whoever waits for them sees.
const char* __tsan_default_options() { return "halt_on_error=1 die_after_fork=0 second_deadlock_stack=1"; }
}
#endif

namespace hotcell::sys {

void end_sanitizer_thread() {
#ifdef HOTCELL_SANITIZED
  __sanitizer_sandbox_on_notify(nullptr);
#endif
}

Result<std::thread> quiet_thread(std::function<void()> work) {
  Error full = make_error(ErrorCode::kLimit, "no thread can be started");
  if (full.err = fault("thread"); full.err != 0) return full;
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread started;
  try {
    started = std::thread(std::move(work));
  } catch (const std::system_error& e) {
    full.err = e.code().value();
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!started.joinable()) return full;
  return started;
}

}  // namespace hotcell::sys
