// Every command that a line would run, however deep it is hidden: behind ; && | and newlines, in $(…), functions and
// here-documents, as the text of `bash -c` and `eval`, behind env, sudo, nice, xargs and their like. Nothing is run and
// nothing is guessed: what only the shell itself will know is marked as such.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cells/decisions/whereabouts.h"

namespace hotcell::cells {

struct CommandWord {
  std::string text;    // without its quotes; of what the shell replaces, as it is written: $HOME, *.c
  bool fixed = true;   // false: may become anything, several words or none
};

struct ListedCommand {
  std::vector<CommandWord> words;  // with the assignments before it that may change what is run; never empty
  std::size_t name = 0;            // which of the words that is; words.size() when it only assigns
  // It only runs the one inside it, which is listed as well: nice, timeout, bash -c. Without a rule for it that one counts.
  bool passes = false;
};

struct WrittenPath {
  CommandWord path;
  // By a redirection the path is written for certain. A word of rm, cp, tee … is only looked for among what must not be.
  bool redirected = false;
  std::shared_ptr<const Folders> in = {};  // where the line may be by then, as it says
  bool lost = false;                       // and that is not all
};

struct CommandList {
  std::vector<ListedCommand> commands;
  std::vector<WrittenPath> writes;
  std::optional<std::string> unclear;  // why something may run that is not listed
  Whereabouts in;                      // where the line ends
};

// `in`: where the line begins.
CommandList list_commands(std::string_view line, Whereabouts in = {});

// For messages: the words with blanks between them.
std::string command_text(const ListedCommand& command);
// One word that a shell reads as this very text.
std::string shell_quoted(std::string_view word, bool first);

}  // namespace hotcell::cells
