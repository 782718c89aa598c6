// A process sandbox: one script, one folder it may write, small limits. The script reads its input, writes its answer
// and tries three things it was not granted; the answer arrives, the three attempts fail.
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "hotcell/launcher.h"

using namespace hotcell;

namespace {

constexpr const char* kScript = R"(
import os, socket, sys
folder = sys.argv[1]
with open(folder + "/input.txt") as f: total = sum(int(line) for line in f)
with open(folder + "/answer.txt", "w") as f: f.write(str(total))
def attempt(what, action):
    try:
        action()
        print(what, "worked")
    except OSError as error:
        print(what, "refused:", error.strerror)
attempt("reading /etc/shadow", lambda: open("/etc/shadow"))
attempt("writing /usr/bin/evil", lambda: open("/usr/bin/evil", "w"))
attempt("connecting out", lambda: socket.create_connection(("192.0.2.1", 80), timeout=5))
print("GREETING is", os.environ["GREETING"], "and SECRET", "leaked" if "SECRET" in os.environ else "stayed out")
)";

Result<bool> show(const std::string& folder) {
  Policy policy = default_policy();
  policy.limits.cpu_time = std::chrono::seconds(10);
  policy.limits.memory = 128_MiB;
  policy.limits.wall = std::chrono::seconds(30);
  policy.limits.processes = 5;
  policy.limits.output = 64_KiB;
  policy.filesystem.grants = {{folder, Access::kWrite, "this example"}};

  Request request;
  request.argv = {"/usr/bin/python3", "script.py", folder};
  request.files = {{"script.py", kScript}};
  request.env = {{"GREETING", "hello"}};

  TRY_SET(auto launcher, Launcher::create());
  TRY_SET(Report report, launcher->run(policy, request));
  std::printf("%s%s", report.out.c_str(), report.err.c_str());
  std::printf("exit code %d, %lld ms of CPU, at most %llu KiB\n", report.verdict.exit_code.value_or(-1),
              static_cast<long long>(report.usage.cpu.count() / 1'000'000), static_cast<unsigned long long>(report.usage.memory_peak.n >> 10));

  std::string answer;
  std::ifstream(folder + "/answer.txt") >> answer;
  struct stat st {};
  bool ours = ::stat((folder + "/answer.txt").c_str(), &st) == 0 && st.st_uid == ::geteuid();
  std::printf("answer.txt on the host: %s, owned by %s\n", answer.c_str(), ours ? "the caller" : "somebody else");
  return report.verdict.status() == RunStatus::kCompleted && answer == "42" && ours && report.out.find("worked") == std::string::npos &&
         report.out.find("leaked") == std::string::npos;
}

}  // namespace

int main() {
  ::setenv("SECRET", "only the caller's", 1);
  const char* tmp = ::getenv("TMPDIR");
  std::string folder = std::string(tmp != nullptr ? tmp : "/tmp") + "/process_sandbox.XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) return std::perror("mkdtemp"), 1;
  std::ofstream(folder + "/input.txt") << "40\n2\n";
  auto held = show(folder);
  for (const char* name : {"/input.txt", "/answer.txt"}) ::unlink((folder + name).c_str());
  ::rmdir(folder.c_str());
  if (!held.ok()) std::fprintf(stderr, "%s\n", held.error().message.c_str());
  return held.ok() && held.value() ? 0 : 1;
}
