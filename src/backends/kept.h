// A running program as files: the image that gVisor has made of it, its workspace, and a note of what it needs to go on. The note is
// written last, so a folder that is not whole is none.
#pragma once
#include <string>

#include "hotcell/policy.h"
#include "hotcell/result.h"

namespace hotcell::backends {

struct Kept {
  unsigned id = 0;            // the program's uid, which is in its image
  std::string platform;
};
// What it was kept by and under; it goes on by the same and under the same.
struct KeptUnder {
  const Policy& policy;
  std::string tool;           // which file made it (tool_identity)
  std::string settings;       // of the tool (Settings::text)
};

// Refused: a place that somebody else could exchange on the way to it or that the program could reach, and a policy that cannot be
// written down and read again.
Result<void> make_kept_folder(const std::string& folder, const Policy& policy);
// `workspace` is copied; nobody runs in it any more.
Result<void> write_kept(const std::string& folder, const Kept& kept, const KeptUnder& under, const std::string& workspace);
// Refused: another policy, another binary, other settings, a folder that somebody else could have written.
Result<Kept> read_kept(const std::string& folder, const KeptUnder& under);
// What it was kept under; whether that is so, read_kept finds out.
Result<Policy> kept_policy(const std::string& folder);
Result<void> restore_workspace(const std::string& folder, const std::string& workspace);

}  // namespace hotcell::backends
