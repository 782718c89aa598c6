#include <algorithm>

#include "backends/probe.h"
#include "backends/tool_launcher.h"
#include "base/json_write.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "cli/held_json.h"
#include "cli/help.h"
#include "cli/job.h"
#include "cli/say.h"

namespace hotcell {

namespace {

std::string row_of(const backends::Held& h) {
  return cat("  ", h.statement, std::string(12 - std::min<std::size_t>(11, h.statement.size()), ' '), to_string(h.status), "  ", h.detail, "\n");
}

// What would be run, what each part of the policy becomes there, and what is made for it before.
Result<std::string> explain_tool(const backends::Backend& tool, const CliJob& job, bool json) {
  TRY_SET(backends::ToolPlan plan, backends::plan_tool(tool, job.policy, job.request, "SCRATCH", 0, job.settings));
  auto held = backends::held_of(tool.name(), job.policy);
  std::string here = backends::here_of(tool.name(), job.settings);
  if (json) {
    JsonWriter w;
    w.begin_object();
    w.field("backend", tool.name());
    w.key("argv");
    w.begin_array();
    for (const auto& a : plan.argv) w.value(std::string_view(a));
    w.end_array();
    if (!here.empty()) w.field("here", std::string_view(here));
    write_held(w, held);
    w.end_object();
    return w.take() + "\n";
  }
  std::string text = cat("backend ", tool.name(), ": ", tool.what(), "\n");
  if (!here.empty()) text += cat("here: ", printable(here), "\n");
  if (!tool.engine() && tool.installed(job.settings).empty()) text += cat("missing here: ", tool.binary(), tool.package().empty() ? "" : cat(" (apt-get install ", tool.package(), ")"), "\n");
  for (const auto& h : held) text += row_of(h);
  text += tool.engine() ? "request:\n " : "command:\n ";
  for (const auto& a : plan.argv) text += cat(" ", printable(a));
  text += "\nmade before, below SCRATCH:\n";
  for (const auto& p : plan.pieces) text += cat("  ", p.name, p.kind == backends::Piece::Kind::kLink ? cat(" -> ", p.bytes) : "", "\n");
  for (const auto& note : job.about) text += cat("note: ", printable(note), "\n");
  return text;
}

Result<std::string> explain(const Parsed& parsed) {
  TRY_SET(CliJob job, make_job(parsed, JobFor::kExplaining));
  if (const auto* tool = backends::find(job.launcher.backend)) {
    TRY(tool->permits(job.request, job.settings));
    return explain_tool(*tool, job, parsed.has(Opt::kJson));
  }
  if (parsed.has(Opt::kJson)) {
    TRY_SET(std::string json, explain_json(job.policy, job.request, job.launcher));
    while (json.ends_with('\n')) json.pop_back();
    if (!job.wasm) return json + "\n";
    JsonWriter w;
    w.begin_object();
    w.field("backend", "wasm");
    w.field("what", std::string_view(backends::describe("wasm")));
    write_held(w, backends::held_of("wasm", job.policy));
    w.end_object();
    std::string rows = w.take();
    rows.pop_back();  // its last brace: the cell around it is the last member
    return cat(rows, ",\"cell\":", json, "}\n");
  }
  TRY_SET(std::string text, explain_text(job.policy, job.request, job.launcher));
  if (job.wasm) {
    std::string rows = cat("backend wasm: ", backends::describe("wasm"), "\n");
    for (const auto& h : backends::held_of("wasm", job.policy)) rows += row_of(h);
    text = cat(rows, "the cell around it:\n", text);
  }
  for (const auto& note : job.notes) text += cat("note: ", printable(note), "\n");
  return text;
}

}  // namespace

int cmd_explain(Args args) {
  auto parsed = parse(Command::kExplain, args);
  if (!parsed.ok()) return refuse(parsed.error());
  if (parsed.value().has(Opt::kHelp)) return print(help_text(Command::kExplain));
  auto text = explain(parsed.value());
  return text.ok() ? print(text.value()) : refuse(text.error());
}

}  // namespace hotcell
