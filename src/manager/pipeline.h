// What happens to a source before it runs: it is verified, and compiled in a cell of its own. The program then starts in
// another cell, which sees the artefact and not the source.
//
//   source ── verify ──> findings ── compile cell ──> artefact ── run cell
//                │ enforced: refused       │ does not compile
//                └────────> report <───────┘
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/policy/patch.h"
#include "hotcell/language.h"
#include "hotcell/launcher.h"
#include "hotcell/report.h"
#include "hotcell/request.h"
#include "hotcell/verify.h"
#include "manager/beside.h"
#include "store/artefact_cache.h"

namespace hotcell {

struct ProgramSource {
  const Language* language = nullptr;
  Sources sources;
  std::vector<BesideFile> beside = {};   // what the run cell gets besides, and no compiler
};

// The profile of a run for which nobody has named one: what was configured, else the language's own.
std::string profile_for(std::string_view configured, const Language* language);

// Limits that nobody has written down, in a profile or a flag, may be raised to what the runtime itself needs.
struct MayRaise {
  bool processes = false, memory = false;
};
// By where each limit comes from, and that it is the default's: a narrower preset means it, whoever wrote it.
MayRaise may_raise(const Policy& policy, const Origins& origins);

// Command, environment and files of the run cell, laid over what the request has; its argv so far are the program's own
// arguments.
Result<void> plan_run(const ProgramSource& source, Policy& policy, MayRaise raise, Request& request);

struct PipelineOptions {
  bool verify = true;
  bool cache = true;
  Verifier* verifier = nullptr;          // null: one of its own for each source
  std::string cache_folder;              // empty: the standard one
  std::function<bool()> cancelled;       // asked now and then while compiling
  std::function<void(const Event&)> on_event;
};

// What came of the stages before the run.
struct Prepared {
  std::optional<Report> stopped;         // the program must not start: refused, or it does not compile
  std::optional<CompileReport> compile;
  std::vector<Finding> findings;
  std::optional<Nanoseconds> verified_in;
  bool module = false;                   // a WASI module: there is a wall inside the cell, too
};

class Pipeline {
 public:
  Pipeline(Launcher& launcher, PipelineOptions options);
  ~Pipeline();

  // Verifies and compiles; the artefact is added to the request's files.
  Result<Prepared> prepare(const ProgramSource& source, const Policy& policy, Request& request);

  // A program of ours: what the language's compile step makes of it, from the cache where it is there.
  Result<std::vector<OutputFile>> compiled(const ProgramSource& source, const Policy& policy);

  // Where verification is advice it goes on beside the program; this waits for it and puts everything into the report,
  // also what the program had to show (Request::rich).
  void complete(Prepared prepared, Report& report);

 private:
  struct Reading;  // verification under way in a thread of its own

  Result<CompileReport> compile(const ProgramSource& source, const Policy& policy, std::vector<OutputFile>& artefact,
                                Limits& limits);
  std::vector<Finding> verified(const ProgramSource& source, const Policy& policy);
  const ArtefactCache* cache();

  Launcher& launcher_;
  PipelineOptions options_;
  std::optional<ArtefactCache> cache_;
  bool cache_tried_ = false;
  std::string profile_;                  // of the run that was prepared, for what is said of it
  std::unique_ptr<Reading> reading_;
};

// True when an error finding keeps a program from starting.
bool verification_enforced(const Policy& policy);

}  // namespace hotcell
