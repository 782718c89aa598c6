// What the seal has said of a run, through the pipe beside it (seal/seal_main.cc).
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "backends/scratch.h"
#include "hotcell/report.h"
#include "sys/fd.h"

namespace hotcell::backends {

inline constexpr int kOfTheTool = -1;

struct Told {
  bool started = false;             // behind the walls, its filter on, about to become the program
  std::optional<int> code, signal;  // how the program ended, seen by its parent; kOfTheTool: the number is the tool's answer
};

// Records of two bytes; the first of a run is the seal's.
Told read_told(std::string_view bytes);

// The run's own pipe, kept open from before the tool starts: what is said stays until it is read. Behind gVisor a watch of the files that the
// seal reads instead. Not valid: this tool has neither, or there is no watch to be had.
struct ToldBy {
  sys::Fd fd;
  int begun = 0, exited = 0, killed = 0;  // of a watch: its numbers
  bool valid() const { return fd.valid(); }
  void reset() { fd.reset(); }
};
ToldBy open_told(const Scratch& scratch);
Told take_told(const ToldBy& by);

// A tool tells of a signal as 128 + its number. Which of the two it was the seal knows.
void name_the_end(Verdict& verdict, const std::optional<Told>& told);

// What a tool said that ended before there was a program; of one that is kept quiet, since it talks even when all is well, what is
// in this file of the scratch folder.
inline constexpr std::string_view kToolLog = "tool.log";
std::string words_of_tool(std::string_view err, const Scratch& scratch);

}  // namespace hotcell::backends
