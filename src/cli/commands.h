// One function per subcommand, in the file of its name. Each gets what follows its name on the command line and returns
// the exit code.
#pragma once
#include <span>
#include <string_view>

namespace hotcell {

using Args = std::span<const std::string_view>;

int cmd_run(Args args);
int cmd_explain(Args args);
int cmd_verify(Args args);
int cmd_inspect(Args args);
int cmd_doctor(Args args);
int cmd_profile(Args args);
int cmd_backend(Args args);
int cmd_language(Args args);
int cmd_cache(Args args);
int cmd_serve(Args args);
int cmd_mcp(Args args);
int cmd_config(Args args);
int cmd_history(Args args);
int cmd_audit(Args args);
int cmd_key(Args args);
int cmd_proxy(Args args);
int cmd_wrap(Args args);
int cmd_cell(Args args);
int cmd_shell(Args args);
int cmd_sandbox(Args args);
int cmd_completion(Args args);
int cmd_help(Args args);
int cmd_version(Args args);

}  // namespace hotcell
