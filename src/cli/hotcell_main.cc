// Finds the subcommand and hands over.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <vector>

#include "base/strings.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/say.h"
#include "core/policy/suggest.h"

namespace hotcell {
namespace {

// A closed 0, 1 or 2 would be given to the next file we open, and the program's output written into it.
bool have_standard_descriptors() {
  for (int fd = 0; fd <= 2; ++fd) {
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY) != fd) return false;
  }
  return true;
}

int dispatch(Command command, Args args) {
  switch (command) {
    case Command::kRun: return cmd_run(args);
    case Command::kExplain: return cmd_explain(args);
    case Command::kVerify: return cmd_verify(args);
    case Command::kInspect: return cmd_inspect(args);
    case Command::kDoctor: return cmd_doctor(args);
    case Command::kProfile: return cmd_profile(args);
    case Command::kBackend: return cmd_backend(args);
    case Command::kLanguage: return cmd_language(args);
    case Command::kCache: return cmd_cache(args);
    case Command::kServe: return cmd_serve(args);
    case Command::kMcp: return cmd_mcp(args);
    case Command::kConfig: return cmd_config(args);
    case Command::kHistory: return cmd_history(args);
    case Command::kAudit: return cmd_audit(args);
    case Command::kKey: return cmd_key(args);
    case Command::kProxy: return cmd_proxy(args);
    case Command::kWrap: return cmd_wrap(args);
    case Command::kCell: return cmd_cell(args);
    case Command::kShell: return cmd_shell(args);
    case Command::kSandbox: return cmd_sandbox(args);
    case Command::kCompletion: return cmd_completion(args);
    case Command::kHelp: return cmd_help(args);
    case Command::kVersion: return cmd_version(args);
  }
  return kExitRefused;
}

int hotcell_main(Args args) {
  if (!have_standard_descriptors()) return kExitRefused;
  if (args.empty()) return print(short_help());
  auto name = args[0];
  if (name == "--help" || name == "-h") return cmd_help({});
  if (name == "--version" || name == "-V") return cmd_version(args.subspan(1));
  if (const auto* command = find_command(name)) return dispatch(command->id, args.subspan(1));
  std::vector<std::string_view> names;
  for (const auto& c : commands()) names.push_back(c.name);
  auto hint = did_you_mean(name, names);
  auto kind = name.starts_with('-') ? "option" : "command";
  return refuse(
      make_error(ErrorCode::kInvalid, cat("unknown ", kind, " ", name, hint.empty() ? "; see hotcell help" : hint)));
}

}  // namespace
}  // namespace hotcell

int main(int argc, char** argv) {
  // Ignored children are inherited, and leave no word of how they ended.
  ::signal(SIGCHLD, SIG_DFL);
  std::vector<std::string_view> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  return hotcell::hotcell_main(args);
}
