// macOS: the profile that sandbox-exec reads, and the command line around it, from a policy. Pure: made and tested anywhere, run
// only there.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "hotcell/policy.h"
#include "hotcell/result.h"

namespace hotcell::backends {

struct SeatbeltRules {
  std::vector<std::string> read, write;   // absolute paths: the folder and all that is in it
  std::vector<std::string> deny;          // paths or patterns of a policy; they win over both
  bool network = false;
  bool processes = true;                  // may start others
  bool sysctl_read = true;                // most runtimes ask for the number of processors
};

// What becomes of each statement there.
std::vector<Held> seatbelt_judge(const Policy& policy);
// What a policy says, in these terms. A grant is a grant; the workspace is always readable, writable where the policy says so. A network
// with rules cannot be said; it is refused, and with `network` waived it is none.
Result<SeatbeltRules> seatbelt_rules(const Policy& policy, std::string_view workspace, const std::vector<std::string>& waived = {});

// A string of the profile's language. A quote, a backslash or a newline in a path stays a part of the path.
Result<std::string> seatbelt_quoted(std::string_view path);
// Deny by default. Without network there is no localhost either, no Unix socket, no name service.
Result<std::string> seatbelt_profile(const SeatbeltRules& rules);

// sandbox-exec, with the profile as a word of its own: no shell and no file in between.
Result<std::vector<std::string>> seatbelt_command(const SeatbeltRules& rules, const std::vector<std::string>& argv);

// Which of macOS's two: `auto`, `hypervisor` or `sandbox-exec`, by what is there. A hypervisor that was asked for is never
// replaced.
struct MacFacts {
  bool sandbox_exec = false, hypervisor = false;
  std::string why_no_hypervisor = "not supported by this processor";
};
struct MacChoice {
  std::string how, reason;
};
Result<MacChoice> select_on_mac(std::string_view wanted, const MacFacts& facts);

}  // namespace hotcell::backends
