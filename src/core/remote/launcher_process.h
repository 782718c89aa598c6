// A hotcell-launcher as a child of this process, which is the daemon's supervisor or a test.
#pragma once
#include <string>
#include <vector>

#include "core/remote/ceiling.h"
#include "core/remote/readers.h"
#include "sys/process.h"

namespace hotcell::remote {

struct LauncherProcess {
  sys::Child child;
  sys::Fd socket;   // for RemoteLauncher::open, here or in the process it is sent to
};

// Beside the running program, or in ../libexec/hotcell from there.
Result<std::string> find_program_of_ours(std::string_view name);

// It dies with the thread that calls this, and ends when every copy of the socket is closed.
// `first`: what the program is called by, before the words that say what it may do.
Result<LauncherProcess> start_launcher(const std::string& program, const Ceiling& ceiling, const ReaderPrograms& readers,
                                       std::vector<std::string> first = {"hotcell-launcher"}, bool keep_environment = false);

}  // namespace hotcell::remote
