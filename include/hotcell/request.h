// What to run.
#pragma once
#include <cstddef>
#include <functional>
#include <map>
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

struct InputFile {
  std::string name;                    // relative, inside the workspace
  std::variant<std::string, int> content;  // bytes, or a descriptor to copy from (stays the caller's)
  unsigned mode = 0644;
};

enum class Stream : unsigned char { kStdout, kStderr };

struct Request {
  std::string id;                                   // empty: one is made
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;           // on top of the policy's
  std::string workdir;                              // inside; empty: /work
  std::variant<NoStdin, StdinBytes, StdinFd> stdin_source;
  std::vector<InputFile> files;
  // Regular files and folders of them, by their names in the workspace, that are brought back when the program has
  // exited with 0 (Report::files). At most the disk limit together; links are not followed.
  std::vector<std::string> outputs;
  bool collect_output = true;                       // keep it in the report, up to the output limit
  std::function<void(Stream, std::string_view)> on_output;  // as it flows, never more than the limit
  std::function<void(const Event&)> on_event;
  std::function<void(const LiveUsage&)> on_usage;   // as it is sampled: often at first, then every 20 ms
  std::function<void()> on_timeout;                 // the founding on-timeout hook: called before the tree is killed
};

}  // namespace hotcell
