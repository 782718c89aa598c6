#include "manager/wasm_backend.h"

#include "backends/probe.h"
#include "manager/pipeline.h"

namespace hotcell {

namespace {

// (module (memory (export "memory") 1) (func (export "_start")))
constexpr std::string_view kSmallest{
    "\0asm\1\0\0\0"                          // WebAssembly, version 1
    "\1\4\1\x60\0\0"                         // a type: takes nothing, gives nothing
    "\3\2\1\0"                                // a function of that type
    "\5\3\1\0\1"                              // a memory of one page
    "\7\x13\2\6memory\2\0\6_start\0\0"       // both exported
    "\12\4\1\2\0\x0b",                       // the function's code: nothing
    8 + 6 + 4 + 5 + 21 + 6};

Result<Report> run_smallest() {
  TRY_SET(auto launcher, Launcher::create({}));
  ProgramSource source{find_language("wasm"), {{{"probe.wasm", std::string(kSmallest)}}, "probe.wasm"}};
  Policy policy = default_policy();
  Request request;
  TRY(plan_run(source, policy, {}, request));
  PipelineOptions options;
  options.verify = false;
  Pipeline pipeline(*launcher, std::move(options));
  TRY_SET(Prepared prepared, pipeline.prepare(source, policy, request));
  if (prepared.stopped) return *std::move(prepared.stopped);
  TRY_SET(Report report, launcher->run(policy, std::move(request)));
  pipeline.complete(std::move(prepared), report);
  return report;
}

std::vector<backends::Held> judge(const Policy& p) {
  const bool grants = !p.filesystem.grants.empty();
  return {{"files", grants ? LayerStatus::kNone : LayerStatus::kFull, grants ? "a module sees its workspace and nothing else" : "the workspace and nothing else"},
          {"deny", LayerStatus::kFull, "the cell's masks"},
          {"network", LayerStatus::kFull, "a module has no sockets"},
          {"syscalls", LayerStatus::kFull, "a module makes none; the cell's filter is around it"},
          {"processes", LayerStatus::kFull, "a module starts none"},
          {"memory", LayerStatus::kFull, "the module's own memory, and the cell's"},
          {"cpu", LayerStatus::kFull, "the cell's"},
          {"disk", LayerStatus::kFull, "the cell's"},
          {"identity", LayerStatus::kFull, "the cell's"}};
}

}  // namespace

void register_wasm_backend() {
  backends::add_trial({"wasm", "a WASI module, or C and C++ made into one, in a native cell: two walls", run_smallest, judge});
}

}  // namespace hotcell
