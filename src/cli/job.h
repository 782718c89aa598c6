// A command line of `run` or `explain`, turned into what the launcher takes.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "cli/policy_flags.h"
#include "hotcell/launcher.h"
#include "hotcell/request.h"
#include "manager/pipeline.h"
#include "sys/fd.h"

namespace hotcell {

struct CliJob {
  Policy policy;
  Origins origins;
  LauncherOptions launcher;
  std::vector<std::string> waived;
  bool wasm = false;               // what is run must be a WASI module, or become one
  backends::Settings settings;          // of the tool behind the backend
  Request request;
  std::optional<ProgramSource> source;  // what is verified and compiled before the request can be run
  std::vector<sys::Fd> held;       // what request.files and request.stdin_source read from
  std::vector<std::string> notes;  // worth a line on stderr
  std::vector<std::string> about;  // those of them that say which walls there are, and why: in the result, too
};

enum class JobFor : std::uint8_t { kRunning, kExplaining };  // explaining needs no program
Result<CliJob> make_job(const Parsed& parsed, JobFor purpose);
Result<void> check_workspace(const CliJob& job);  // nothing that goes into /work is hidden by a grant of the host's

// Opens a file that will be copied into /work under its own name. Regular files only: a pipe or device has no end.
struct OpenedFile {
  sys::Fd fd;
  std::string name;  // the last part of the path
  bool executable = false;
};
Result<OpenedFile> open_for_copy(std::string_view path, std::string_view what);
Result<void> copy_in(CliJob& job, OpenedFile file, unsigned mode, std::string_view what);

}  // namespace hotcell
