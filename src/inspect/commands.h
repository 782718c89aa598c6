// Commands that reach the network, read with the shell parser: every spelling that the shell takes, in any order of flags.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/inspect.h"

namespace hotcell::inspect {

enum class CommandPlace : std::uint8_t {
  kToRun,     // somebody is about to run it: every host that is not allowed counts
  kTyped,     // an argument that is a command: the same, for words that can be hosts
  kShown,     // a text or an output that begins with a command: what only fetches from a plain host does not count
  kMentioned  // it stands in a text, where commands are explained: only what carries data out counts
};

struct EgressHit {
  ThreatLevel level = ThreatLevel::kNone;
  std::string message;
  std::size_t begin = 0, end = 0;  // of the command in the text
  bool runs = false;               // what it fetches goes to a shell
};

void find_egress(std::string_view script, CommandPlace place, const std::vector<std::string>& allowed,
                 std::vector<EgressHit>& to);

// True when the text is a few command lines and nothing else: what is asked about is a command, whoever calls it text.
bool is_command_text(std::string_view text);

bool names_sensitive_data(std::string_view text);

}  // namespace hotcell::inspect
