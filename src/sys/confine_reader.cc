#include "sys/confine_reader.h"

#include <signal.h>
#include <sys/prctl.h>

#include <cerrno>

#include "sys/compute_only.h"

namespace hotcell::sys {

Result<void> confine_reader(std::uint64_t memory_bytes) {
  // The owner blocked every signal while it started us.
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // When the owner dies in between, the socket is closed and the first read ends us.
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) return errno_error("PR_SET_PDEATHSIG", errno);
  return compute_only({.memory_bytes = memory_bytes, .cpu_seconds = 120});
}

}  // namespace hotcell::sys
