// One compile step in its own cell.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "hotcell/language.h"
#include "hotcell/launcher.h"
#include "hotcell/report.h"
#include "store/artefact_cache.h"

namespace hotcell {

// What the compile cell may do. It sees the toolchain and the sources; of the run's own grants, network and environment
// it has nothing, so that whatever a compiler can be tricked into reading is what the program could have read anyway.
Policy compile_policy(const CompileStep& step, const Policy& run);

// The name of the artefact: everything it depends on. Compilers are known by where they are, their size and age, and by
// the age of the package database: asking one for its version would cost more than running what it made.
std::string artefact_key(const Language& language, const CompileStep& step, const Sources& sources);

// The folder with the step's header, from the cache or made now; null when it cannot be had: the compiler does without.
std::optional<std::string> ready_header(Launcher& launcher, const Language& language, const CompileStep& step, const ArtefactCache& cache,
                                        const Policy& run, const std::function<bool()>& cancelled);

struct Compiled {
  CompileReport report;
  std::vector<OutputFile> artefact;  // empty when it did not compile
};
Result<Compiled> run_compile_step(Launcher& launcher, const Language& language, const CompileStep& step, const Sources& sources,
                                  const Policy& run, const std::function<bool()>& cancelled);

}  // namespace hotcell
