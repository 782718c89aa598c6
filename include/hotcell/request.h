// What to run.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hotcell/report.h"

namespace hotcell {

struct NoStdin {};                     // /dev/null
struct StdinBytes { std::string bytes; };
struct StdinFd { int fd = -1; };       // read by the supervisor and copied in; stays the caller's
struct StdinSocket { int fd = -1; };   // becomes the program's descriptor 0 itself; for programs of ours alone

struct InputFile {
  std::string name;                    // relative, inside the workspace
  std::variant<std::string, int> content;  // bytes, or a descriptor to copy from (stays the caller's)
  unsigned mode = 0644;
  bool operator==(const InputFile&) const = default;
};

// Where a backend of another tool runs it (src/backends): a folder that is its workspace and stays the caller's, and the
// host's id for it; 0: the caller's own.
struct OuterPlace {
  std::string workspace;
  unsigned id = 0;
  bool own_rlimits = false;  // the tool sets those of the program, and needs more itself
  bool many_threads = false;  // it opens many files from many threads
};

// A runtime that is started in a finished cell before there is anything to run, and then waits (Launcher::park). When it
// is ready it writes one NUL to stdout. It reads its orders from stdin, exactly as many bytes as there are: ten decimal digits, the length of what follows; then fields,
// each ended by a NUL: the number of arguments, the arguments, the working directory, the number of variables, each
// variable as NAME=VALUE. What comes after them is the program's own stdin. It serves one request.
struct Runtime {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::vector<InputFile> files;                     // bytes only, in folders of their own; gone before the program comes
  std::shared_ptr<const OuterPlace> outer = {};     // of the launcher `outer` alone: a place is used once, so it is started once
  bool operator==(const Runtime&) const = default;
};

enum class Stream : unsigned char { kStdout, kStderr };

struct Request {
  std::string id;                                   // empty: one is made
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;           // on top of the policy's
  std::string workdir;                              // inside; empty: /work
  std::optional<Nanoseconds> wall;                  // shorter than the policy's limit; a longer one changes nothing
  std::variant<NoStdin, StdinBytes, StdinFd, StdinSocket> stdin_source;
  std::vector<InputFile> files;
  // Regular files and folders of them, by their names in the workspace, that are brought back when the program has
  // exited with 0 (Report::files). At most the disk limit together; links are not followed.
  std::vector<std::string> outputs;
  // The same, however the program ended; one that is not there, or larger than 17 MiB, is left out.
  std::vector<std::string> outputs_if_there;
  // Figures, tables and the value of the last expression come back (Report::outputs). For languages that can do it.
  bool rich = false;
  // Where a parked runtime like this one waits, it gets these arguments and argv is not used; otherwise argv is.
  std::shared_ptr<const Runtime> runtime;
  std::vector<std::string> runtime_argv;
  std::shared_ptr<const OuterPlace> outer;          // of the launcher `outer` alone
  bool collect_output = true;                       // keep it in the report, up to the output limit
  std::function<void(Stream, std::string_view)> on_output;  // as it flows, never more than the limit
  std::function<void(const Event&)> on_event;
  std::function<void(const Enforcement&)> on_enforcement;  // what was read back, before the program starts
  std::function<void(const LiveUsage&)> on_usage;   // as it is sampled: often at first, then every 20 ms
  // Network mode proxy: the cell's door, a listening socket and a datagram socket for DNS, both of the cell's own network
  // and from now on the callee's. Called before the program starts; without it such a cell is not started.
  std::function<void(int door, int dns)> on_network;
  std::function<void()> on_timeout;                 // the founding on-timeout hook: called before the tree is killed
};

}  // namespace hotcell
