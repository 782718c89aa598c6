// How much the code of a whole process may do, said once, and handed on from call to call. Whatever is not known is strict.
#pragma once
#include <optional>
#include <string_view>

#include "hotcell/launcher.h"
#include "hotcell/policy.h"
#include "hotcell/result.h"

namespace hotcell {

enum class Mode : std::uint8_t {
  kStrict,     // nothing is written, not even to the workspace
  kWorkspace,  // the workspace, /tmp and what is granted
  kOff,        // no wall is asked for: only who says so in as many words gets none (backend `none`)
};
Mode parse_mode(std::string_view word);   // unknown or empty: strict
std::string_view to_string(Mode mode);

// Of the whole process; strict until somebody sets it. May be called from any thread.
void set_process_mode(Mode mode);
Mode process_mode();

// Goes with a task through the calls that serve it. Copies are cheap; what is made from one inherits its mode.
class Context {
 public:
  Context() = default;                     // the mode of the process, whatever that is when it is asked for
  Mode mode() const { return mode_.value_or(process_mode()); }
  Context with_mode(Mode mode) const;      // by whoever owns the task
  Context delegated(Mode wanted) const;    // to somebody else: never more than this one has

 private:
  std::optional<Mode> mode_;
};

// The policy as this context allows it. Strict takes the writable places away; a grant to write is then an error, not a
// silent grant to read.
Result<Policy> policy_in(const Context& context, Policy policy);
// Launcher::run with that policy.
Result<Report> run_in(const Context& context, Launcher& launcher, const Policy& policy, Request request);
// Which launcher serves a mode when nothing else was said: native, or none when it is off.
std::string_view backend_in(const Context& context);

}  // namespace hotcell
