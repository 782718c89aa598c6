// What a cell may say to the operator's terminal: text, tabs, line ends and colours. A terminal obeys its input (title,
// clipboard by OSC 52, hidden links, cursor moves that overwrite what was shown before), so everything else is shown as
// \xNN instead of being obeyed.
#pragma once
#include <string>
#include <string_view>

namespace hotcell {

class TerminalFilter {
 public:
  // A sequence or character cut by the end of a chunk is held back until the rest of it comes.
  void feed(std::string_view bytes, std::string& out);
  // What is still held, and a colour reset when the program left one behind.
  void finish(std::string& out);

 private:
  std::string held_;
  bool coloured_ = false;
};

}  // namespace hotcell
