// What backend `basic` looks at before it starts anything: the words of a command and, where that is a shell, of its script. It is no
// wall and says so: a program that is let in does what it likes, and whoever means to get round this does. It keeps honest
// programs from accidents, and reads commands as the shell does, not as text.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backends/settings.h"
#include "hotcell/request.h"
#include "hotcell/result.h"

namespace hotcell::backends {

enum class ShellMode : std::uint8_t {
  kDisabled,    // no shell, and none by way of another program
  kReadOnly,    // only commands that are known to look and not to touch
  kTaskScoped,  // only commands of a list
  kFull         // all but what is never meant
};

struct CommandPolicy {
  ShellMode mode = ShellMode::kFull;
  bool keep_files = false;            // block_file_mutation: nothing that writes, moves or removes a file
  std::vector<std::string> allowed;   // kTaskScoped: names
  std::vector<std::string> blocked;   // names, in every mode, besides our own
};
// basic.shell, basic.writes, basic.allow, basic.block.
Result<CommandPolicy> command_policy(const Settings& settings);

struct CommandVerdict {
  bool allowed = true, writes = false;
  std::string category, reason;       // blocked_command, not_read_only, not_allowed, file_mutation, shell, unreadable
  std::vector<std::string> unread;    // what kFull let pass because it is known only when it runs
};
// The text of a script that is named; nullopt: it is not in sight.
using ScriptReader = std::function<std::optional<std::string>(const std::string& path)>;
CommandVerdict judge_command(const std::vector<std::string>& argv, const CommandPolicy& policy, const ScriptReader& read = {});
// With what the request brings along and, since there is no wall, the host's files.
Result<CommandVerdict> judge_request(const Request& request, const Settings& settings);

}  // namespace hotcell::backends
