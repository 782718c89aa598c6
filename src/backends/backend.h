// Walls of other tools. A backend turns a policy and a request into the command line of a tool that runs the program
// behind walls of its own; limits, bounded output, deadlines and the end of the whole tree stay ours (the launcher
// `outer`). What a tool cannot hold of a policy is known before anything runs, and refused.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/settings.h"
#include "hotcell/policy.h"
#include "hotcell/report.h"
#include "hotcell/request.h"
#include "hotcell/result.h"

namespace hotcell::backends {

// What a policy says, by the names `--waive` takes.
inline constexpr std::string_view kStatements[] = {"files", "deny", "network", "syscalls", "processes", "memory", "cpu", "disk", "identity"};

struct Held {
  std::string statement;
  LayerStatus status = LayerStatus::kNone;
  std::string detail;
  bool by_name = false;    // not held, and whoever says the name of this backend has been told so: no reason to refuse
};

struct ToolRequest {
  const Policy& policy;
  const Request& request;
  std::string scratch;     // a folder of ours for this run; the tool may read it, the program does not see it
  std::string workspace;   // becomes /work
  std::string tool;        // the binary's path
  std::string name;        // unguessable, for tools that want one
  unsigned id = 0;         // the host's uid and gid of the program; 0: the caller's
  unsigned root_id = 0;    // another unused one, for the root that some tools want to have inside
  unsigned inside = 0;     // the program's uid and gid as it sees them; 0: the policy's
  bool privileged = false; // we are root
  std::vector<std::pair<std::string, std::string>> env = {};  // what the program gets
  Settings settings = {};  // of the tool
  int cgroups = 0;         // the version on this host, for a tool that is told of ceilings; 0: none
  std::string group = {};  // for a tool that makes a cgroup: hotcell/GROUP
  std::string platform = {};  // one of platforms()
  std::string etc = {};    // below this the made /etc is; empty: below scratch
  std::string base = {};   // where shared() is; empty: plan() makes all of it for this run
  std::string resume = {};    // a folder that suspend() has filled: what goes on instead of a program
  bool ahead = false;      // the request is not known yet: what is started waits for it (seal/wait_main.cc)
};

// Something that is made below the scratch folder before the tool runs.
struct Piece {
  enum class Kind : std::uint8_t { kFile, kFolder, kLink, kFifo };
  std::string name;
  std::string bytes;       // of a link: what it says
  Kind kind = Kind::kFile;
  unsigned mode = 0644;
  bool owned = false;      // by the id that the program has
};

struct ToolPlan {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> env = {};    // of the tool itself, besides PATH
  std::vector<Piece> pieces = {};
  std::vector<std::vector<std::string>> after = {};             // run when it is over, however it ended
  std::string state = {};                                       // a folder; when nothing is left in it, `after` has nothing to do
  std::vector<std::string> suspend = {};                        // keeps what runs and ends it; where is the end of its last word but one
  bool own_tasks = false;                                       // the seal counts the program's processes, in a user namespace of their own
  std::string group = {};                                       // a cgroup that it makes, hotcell/GROUP in every hierarchy
};

// What the tool itself takes of the ceilings that are around it and the program together.
struct Overhead {
  Bytes memory = 8_MiB;
  std::uint32_t tasks = 4;
  bool own_rlimits = false;  // it sets those of the program; its own are then no concern of the policy
  bool many_threads = false;  // it opens many files from many threads
};

// The allowance is no small part of the limit: a program may have that much more than it was given. Up to a quarter it is
// taken for what tools like these need themselves.
bool roomy(const Overhead& overhead, const Limits& limits);
Held held_memory(const Overhead& overhead, const Limits& limits, std::string_view tool);

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  virtual std::string_view what() const = 0;          // one line for people
  virtual std::string_view package() const = 0;       // what brings the tool; empty: nothing to install
  virtual std::string_view binary() const { return name(); }
  // Where the tool is, for those that are not simply along the PATH. `locate` may bring it, `installed` only looks.
  virtual Result<std::string> locate(const Settings& settings) const;
  virtual std::string installed(const Settings& settings) const;
  virtual bool engine() const { return false; }       // no tool that is run, but a service behind a socket
  virtual bool needs_root() const { return false; }
  // As root: may it be run under the program's own uid? Then it holds no privilege at all.
  virtual bool without_root() const { return false; }
  virtual bool walls() const { return true; }     // false: limits and nothing else; only ever used by its name
  virtual bool own_ids() const { return true; }  // as root: the program may be an otherwise unused user of the host
  virtual Overhead overhead() const { return {}; }
  // What plan() gives can be run by others; false: only our own program can.
  virtual bool stands_alone() const { return true; }
  virtual std::vector<std::string> platforms() const { return {}; }  // the best first
  virtual bool parks() const { return false; }  // plan() can start it ahead of its request
  virtual std::vector<Held> judge(const Policy& policy) const = 0;
  // Whether it starts this at all: only where there is no wall are words looked at.
  virtual Result<void> permits(const Request&, const Settings&) const { return {}; }
  // What all runs like this one have in common, of whatever path and id: made once, and read only.
  virtual Result<std::vector<Piece>> shared(const ToolRequest&) const { return std::vector<Piece>(); }
  virtual Result<ToolPlan> plan(const ToolRequest& request) const = 0;
  virtual void sweep() const {}                  // what runs of a launcher that was killed have left outside of our folders
  // Layers as the program finds them, from what the posture script printed inside (posture.h).
  virtual bool guest_kernel() const { return false; }
};

const std::vector<const Backend*>& all();             // tools only; native and landlock are the launcher's own
const Backend* find(std::string_view name);
std::string find_tool(std::string_view binary);       // along a fixed PATH, never the caller's; empty: not there

// Which file is there now, so that one which was replaced is noticed; empty: none.
std::string tool_identity(const std::string& path);

// Where find_tool looks instead, for a test that brings tools of its own; empty: the usual places. Never from the environment.
void set_tool_folders(std::vector<std::string> folders);

// What is not held in full and was not waived. Empty: it may run.
std::vector<Held> unheld(const Backend& backend, const Policy& policy, const std::vector<std::string>& waived);
Result<void> check_waivers(const std::vector<std::string>& waived);

// The same of the launcher's own two, native and landlock.
std::vector<Held> judge_own(std::string_view name, const Policy& policy);

// Common parts of command lines.
std::vector<std::pair<std::string, std::string>> program_env(const Policy& policy, const Request& request);
std::string made_passwd(unsigned uid, unsigned gid);
std::string made_group(unsigned gid);

}  // namespace hotcell::backends
