// The hotcell program, called as a user calls it: its exit code, its streams, its signals.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "support/leak_check.h"

namespace hotcell::testing {

inline constexpr int kStatusFd = 100;  // far from what a test has open, so that dup2 hits nothing

const std::string& hotcell_path();  // $HOTCELL_BIN, else the `hotcell` beside this program
std::string attack_path();          // `hotcell-attack` beside it

struct Called {
  int code = -1;  // -1: ended by a signal
  int signal = 0;
  std::string out, err, status;
  std::string describe() const;
};

// One call of hotcell under way. Its descriptors are our pipes; the end of the object ends it.
class Call {
 public:
  explicit Call(std::vector<std::string> args, std::string input = {});
  ~Call();
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const;
  bool wait_for_output(std::string_view text);  // until stdout holds it
  Called finish();                              // until it is gone and its streams are closed

 private:
  bool pump();  // false when every stream is closed or the time is over

  pid_t pid_ = -1;
  int in_ = -1, out_ = -1, err_ = -1, status_ = -1;
  std::string input_;
  std::size_t written_ = 0;
  Called called_;
  std::chrono::steady_clock::time_point until_;
};

Called hotcell(std::vector<std::string> args, std::string input = {});
std::string shell_output(const std::vector<std::string>& argv, const std::string& input, int* code);

// Processes whose command line holds `token`: a program in a cell is a process of this machine, too.
std::vector<pid_t> processes_with(const std::string& token);
bool seen_within(const std::string& token, std::size_t count, std::chrono::milliseconds time);
bool gone_within(const std::string& token, std::chrono::milliseconds time);
std::vector<std::string> cgroups_of(pid_t pid);
std::size_t lines(const std::string& text);

class E2e : public LeakCheck {};

}  // namespace hotcell::testing
