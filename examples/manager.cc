// A queue of executions in a program of your own: submit, await, follow, kill, list. What the daemon has behind its doors,
// without a door.
#include <stdlib.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <string>

#include "hotcell/manager.h"

using namespace hotcell;

namespace {

Submission command(std::string line) {
  Submission s;
  s.argv = {"/bin/sh", "-c", std::move(line)};
  return s;
}

Result<bool> show(const std::string& folder) {
  ManagerOptions options;
  options.state_folder = folder;
  options.max_running = 2;
  if (const char* programs = ::getenv("HOTCELL_PROGRAMS")) options.programs = programs;  // a program that is not installed beside them
  TRY_SET(auto manager, Manager::create(std::move(options)));

  // Code is verified, and run in a cell without a network and without files of ours.
  Submission code;
  code.language = "python";
  code.code = "import sys\nprint(6 * 7, open('data.txt').read(), sys.stdin.read())\n";
  code.files["data.txt"] = "a file";
  code.stdin_bytes = "and stdin";
  TRY_SET(std::string first, manager->submit(code));
  std::atomic<int> pieces = 0, ends = 0;
  TRY(manager->follow(first, [&](const ExecutionEvent& e) {
    if (e.type == "stdout") ++pieces;
    if (e.type == "done") ++ends;
  }));
  TRY_SET(Execution ran, manager->await(first));
  TRY_SET(std::string result, manager->result(first));
  std::printf("%s: %s\n", first.c_str(), result.c_str());

  // More than may run at once: the rest waits for its turn.
  for (int i = 0; i < 6; ++i) TRY(manager->submit(command("sleep 0.1")));
  TRY_SET(std::string endless, manager->submit(command("sleep 600")));
  TRY(manager->kill(endless));
  TRY_SET(Execution killed, manager->await(endless));
  Submission late = command("sleep 600");
  late.timeout = std::chrono::milliseconds(100);
  TRY_SET(std::string slow, manager->submit(late));
  TRY_SET(Execution timed_out, manager->await(slow));
  TRY_SET(auto all, manager->list());
  for (const Execution& e : all) std::printf("%-10s %-9s %s %s\n", std::string(to_string(e.status)).c_str(), e.exit_reason.c_str(), e.command.c_str(), e.error.c_str());
  manager->drain(std::chrono::seconds(20));
  const bool closed = !manager->submit(command("true")).ok();
  return ran.status == RunStatus::kCompleted && result.find("42 a file and stdin") != std::string::npos && pieces > 0 && ends == 1 &&
         killed.error == "execution killed" && timed_out.error == "execution timeout" && all.size() == 9 && closed;
}

}  // namespace

int main() {
  const char* tmp = ::getenv("TMPDIR");
  std::string folder = std::string(tmp != nullptr ? tmp : "/tmp") + "/manager.XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return std::perror("mkdtemp"), 1;
  auto held = show(folder);
  std::filesystem::remove_all(folder);
  if (!held.ok()) std::fprintf(stderr, "%s\n", held.error().message.c_str());
  return held.ok() && held.value() ? 0 : 1;
}
