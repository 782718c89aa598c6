// Running things in cells from tests. The programs that run inside are functions of the test program itself, which is
// shown to the cell read-only at its own path and called again with --program=NAME.
#pragma once
#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/launcher.h"

namespace hotcell::testing {

Launcher& launcher();  // one for the whole test program
bool is_root();
bool has_cgroups();  // memory and pids groups; an ordinary user here has none
const std::string& self_path();

using Program = int (*)();  // what it returns is the exit code
struct RegisterProgram {
  RegisterProgram(const char* name, Program program);
};
#define HOTCELL_PROGRAM(name)                                                              \
  static int program_##name();                                                             \
  static const ::hotcell::testing::RegisterProgram register_##name(#name, program_##name); \
  static int program_##name()
Program find_program(std::string_view name);

Policy test_policy();  // `default`, and the test program
Request program(const std::string& name, std::map<std::string, std::string> env = {});
std::size_t alive(const std::string& name);  // processes that run it, of whatever cell that this test made
Request shell(std::string script);
Report run(const Policy& policy, Request request);  // an Error of ours fails the test
Report run(Request request);

// Without a single grant cells of a policy are stamped out by a template. The test program then comes along as a file.
Request carried_program(const std::string& name, std::map<std::string, std::string> env = {});
Report run_stamped(const Policy& policy, Request request);  // in a cell that was parked; fails the test when it was not stamped

std::string describe(const Report& report);  // for failure messages: verdict, output, error
std::string exit_reason(const Report& report);
LayerStatus layer_status(const Report& report, Layer layer);
bool has_denial(const Report& report, std::string_view syscall);

std::vector<std::string> matches(const std::string& pattern);  // glob
std::string read_text(const std::string& path);                // empty when it cannot be read
std::string first_line(const std::string& path);
void write_text(const std::string& path, std::string_view text, unsigned mode = 0644);

// A folder of this test's own, world-readable, gone with the object.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Calls `body` in a forked child and returns what it returned; -1 when it did not.
int in_child(const std::map<std::string, std::string>& env, int (*body)());

}  // namespace hotcell::testing
