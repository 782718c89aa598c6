// The two halves behind command_list.h: command_list.cc reads shell text, command_wrappers.cc knows commands that run others.
#pragma once
#include "cells/decisions/command_list.h"
#include "parse/shell.h"

namespace hotcell::cells {

class CommandLister {
 public:
  explicit CommandLister(Whereabouts in = {}) : been_(in) { out_.in = std::move(in); }
  CommandList take();
  void script(std::string_view text);                                // all of its commands
  void command(std::vector<CommandWord> words, std::size_t name);    // and those inside it
  void unclear(std::string why);
  void writes(CommandWord path, bool redirected);

 private:
  // A text inside a text inside a text: nobody writes more, and each level costs its length once more.
  static constexpr int kDeepest = 16;
  static constexpr std::size_t kMostCommands = 4096, kMostWords = 16384;

  void simple(const ShellScript& s, const ShellNode& node);
  void redirects(const ShellScript& s, const ShellNode& node);
  void puzzles(const ShellScript& s);
  // What a shell without -c is fed by this command; nullopt: not known here.
  std::optional<std::string> fed(const ShellScript& s, const ShellNode& node) const;

  // command_wrappers.cc; true: only what is inside counts
  bool inside(const std::vector<CommandWord>& words, std::size_t name);
  bool wrapper(const std::vector<CommandWord>& words, std::size_t name, std::string_view base);
  bool shell(const std::vector<CommandWord>& words, std::size_t name);
  bool shell_text(const std::vector<CommandWord>& words, std::size_t name);
  void find_actions(const std::vector<CommandWord>& words, std::size_t name);
  void goes(const std::vector<CommandWord>& words, std::size_t name);
  void turns_cd(const std::vector<CommandWord>& words, std::size_t name);
  // Text that is run some other time, wherever the line is by then: of a function, a trap, an alias.
  template <typename Read>
  void later(Read read) {
    const Whereabouts was = out_.in;
    ++later_;
    read();
    --later_;
    leave_later(was);
  }
  void leave_later(const Whereabouts& was);
  // What runs in a process of its own goes where it likes, and nobody else with it.
  template <typename Read>
  void apart(Read read) {
    Whereabouts was = out_.in;
    read();
    const bool adrift = out_.in.adrift();
    out_.in = std::move(was);
    if (adrift) out_.in.set_adrift();
  }
  void written_by(const std::vector<CommandWord>& words, std::size_t name, std::string_view base);
  bool text(const std::vector<CommandWord>& words, std::size_t from);  // the words together are a script

  CommandList out_;
  Whereabouts been_;                 // everywhere that the line has been
  std::vector<std::size_t> late_;    // of out_.writes: those that happen some other time
  int depth_ = 0, later_ = 0;
  std::optional<std::string> fed_;   // of the command being looked at
  bool feeds_ = false;
};

// Sets nothing that decides which program runs or what it loads.
bool is_harmless_variable(std::string_view name);
// The last part of a path, the whole of anything else.
std::string_view base_name(std::string_view program);

}  // namespace hotcell::cells
