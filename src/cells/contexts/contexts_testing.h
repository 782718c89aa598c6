// A real interpreter outside a cell, in a session of its own, for the tests beside this.
#pragma once
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <thread>

#include "base/strings.h"
#include "cells/contexts/context.h"
#include "sys/file.h"
#include "sys/socket.h"
#include "sys/spawn.h"

namespace hotcell::cells::testing {

using std::chrono::milliseconds;
using State = CallResult::State;

inline constexpr auto kLong = milliseconds(60'000);

class Interpreter {
 public:
  explicit Interpreter(std::string_view language, ContextLimits limits = {}) {
    ::signal(SIGPIPE, SIG_IGN);
    auto null = sys::open("/dev/null", O_RDONLY);
    auto requests = sys::stream_pair(), answers = sys::stream_pair();
    auto out = sys::make_pipe(0), err = sys::make_pipe(0);
    auto scratch = sys::memfd("hotcell-scratch", {}, false, false);
    auto argv = driver_argv(language, 3, 4, 5);
    if (!argv.ok() || !scratch.ok()) return;
    sys::Spawn spawn;
    spawn.program = "/usr/bin/setsid";  // in place: a child of ours leads no group
    char name[] = "/tmp/hotcell-context-XXXXXX";
    if (::mkdtemp(name) == nullptr) return;
    folder = name;
    spawn.argv = {"setsid", "env", cat("TMPDIR=", folder), "prlimit", "--core=0"};
    for (auto& word : argv.value()) spawn.argv.push_back(word == "python3" ? "/usr/bin/python3" : word);
    spawn.fds = {null.value().get(), out.value().write.get(), err.value().write.get(), requests.value().theirs.get(), answers.value().theirs.get()};
    if (context_language(language) == "bash") spawn.fds.push_back(scratch.value().get());
    spawn.keep_environment = true;
    auto child = sys::spawn(spawn);
    if (!child.ok()) return;
    pid = child.value().pid;
    Context::Ends ends;
    ends.requests = std::move(requests.value().ours);
    ends.answers = std::move(answers.value().ours);
    ends.output = std::move(out.value().read);
    ends.errors = std::move(err.value().read);
    ends.interrupt = [p = pid]() -> Result<void> { return ::kill(-p, SIGINT) == 0 ? Result<void>() : errno_error("kill", errno); };
    context = std::make_unique<Context>(std::move(ends), limits);
    ready = context->wait_ready(kLong);
  }
  ~Interpreter() {
    context.reset();
    if (pid > 0) {
      ::kill(-pid, SIGKILL);
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
    std::error_code ignored;
    if (!folder.empty()) std::filesystem::remove_all(folder, ignored);
  }
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  CallResult call(std::string_view code, milliseconds timeout = kLong) { return context->call(code, timeout); }
  // Interrupted some time after it has said `begun` on stdout, or at once.
  CallResult call_interrupted(std::string_view code, milliseconds after = milliseconds(300)) {
    context->announce();
    std::thread other([&] {
      std::this_thread::sleep_for(after);
      context->interrupt();
    });
    CallResult r = call(code);
    other.join();
    return r;
  }

  pid_t pid = -1;
  std::string folder;  // for what it writes
  std::unique_ptr<Context> context;
  Result<void> ready = make_error(ErrorCode::kInternal, "not started");
};

inline std::string describe(const CallResult& r) {
  return cat(to_string(r.state), " value=", r.value, "\nerror=", r.error, "\ntraceback=", r.traceback, "\noutput=", r.output.substr(0, 2000),
             "\nerrors=", r.errors.substr(0, 2000), "\nexit=", r.exit_code);
}
inline std::string rich_of(const CallResult& r, std::string_view name) {
  for (const auto& o : r.rich)
    if (o.name == name) return o.bytes;
  return "(none)";
}

}  // namespace hotcell::cells::testing
