// A hostile command line against rules: whatever it is, the strictest answer of its parts holds, and nothing that was denied
// becomes allowed by writing more around it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "cells/decisions/command_list.h"
#include "cells/decisions/decisions.h"

using namespace hotcell::cells;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const DecisionPolicy kStandard = standard_decisions();
  const std::string text(reinterpret_cast<const char*>(data), size);
  const WallTime now{std::chrono::seconds(1'800'000'000)};
  const Action command{ActionClass::kCommand, text};
  const Decision plain = decide(kStandard, {}, command, now);
  if (plain.reason.empty()) std::abort();
  // Behind a command of its own, a line that stands in one piece is judged no more mildly than by itself.
  if (!list_commands(text).unclear) {
    const Decision behind = decide(kStandard, {}, {ActionClass::kCommand, "ls\n" + text}, now);
    if (plain.answer == Answer::kDeny && text.find_first_not_of(" \t\r\n\v\f") != text.npos && behind.answer != Answer::kDeny) std::abort();
  }
  // As one word it is an argument, never a command.
  if (text.find('\0') == text.npos) {
    const Decision word = decide(kStandard, {}, command_action({"echo", text}), now);
    if (word.answer != Answer::kAllow) std::abort();
  }
  // A grant for everything opens nothing that is denied.
  const Grant all{ActionClass::kCommand, "*", std::nullopt, "fuzz"}, anywhere{ActionClass::kWrite, "**", std::nullopt, "fuzz"};
  if (plain.answer == Answer::kDeny && decide(kStandard, {all, anywhere}, command, now).answer != Answer::kDeny) std::abort();
  if (decide(kStandard, {anywhere}, {ActionClass::kWrite, text + "/.git/x"}, now).answer != Answer::kDeny) std::abort();
  auto policy = parse_decisions(text, "fuzz.yaml");
  if (policy.ok()) (void)decide(policy.value(), {}, {ActionClass::kCommand, "ls -l; rm -rf $X > out"}, now);
  return 0;
}
