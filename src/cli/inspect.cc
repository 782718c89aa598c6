// `hotcell inspect`: checks the words and becomes hotcell-inspect, which has what would make this program large.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "base/strings.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/say.h"
#include "core/remote/launcher_process.h"

namespace hotcell {

int cmd_inspect(Args args) {
  auto parsed = parse(Command::kInspect, args);
  if (!parsed.ok()) return refuse(parsed.error());
  const Parsed& p = parsed.value();
  if (p.has(Opt::kHelp)) return print(help_text(Command::kInspect));
  if (p.words.empty()) return refuse(make_error(ErrorCode::kInvalid, "inspect: expected FILE... or - for standard input"));
  auto program = remote::find_program_of_ours("hotcell-inspect");
  if (!program.ok()) return refuse(program.error());
  std::vector<std::string> words = {program.value()};
  if (std::count(p.words.begin(), p.words.end(), "-") > 1)
    return refuse(make_error(ErrorCode::kInvalid, "inspect: standard input can be read only once"));
  if (p.has(Opt::kJson)) words.insert(words.end(), {"--format", "json"});
  for (const auto& [option, value] : p.values()) {
    if (option == Opt::kJson) continue;
    const char* name = option == Opt::kKind          ? "--kind"
                       : option == Opt::kAs          ? "--as"
                       : option == Opt::kRules       ? "--rules"
                                                     : "--allow-domain";
    words.emplace_back(name);
    words.emplace_back(value);
  }
  words.emplace_back("--");
  words.insert(words.end(), p.words.begin(), p.words.end());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(program.value().c_str(), argv.data());
  return refuse(errno_error(program.value(), errno));
}

}  // namespace hotcell
