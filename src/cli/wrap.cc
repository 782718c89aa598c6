// `wrap`: the command line that would run a program under a backend, for tools that start it themselves.
#include "backends/tool_launcher.h"
#include "base/json_write.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/job.h"
#include "cli/say.h"

namespace hotcell {
namespace {

// A word as a shell reads it back.
std::string quoted_word(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == word.npos) return std::string(word);
  std::string out = "'";
  for (char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

// Native cells have no command line but ours: the options, with paths made absolute.
std::vector<std::string> own_command(const Parsed& parsed, const Job& job) {
  std::vector<std::string> argv = {"hotcell", "run"};
  for (const auto& [option, value] : parsed.values()) {
    if (option == Opt::kJson || option == Opt::kLevel || option == Opt::kTier || option == Opt::kBackend) continue;
    for (const auto& o : options())
      if (o.id == option) argv.emplace_back(o.name);
    if (!value.empty()) argv.emplace_back(value);
  }
  argv.insert(argv.end(), {"--backend", job.launcher.backend, "--"});
  for (const auto& w : job.request.argv) argv.push_back(w);
  return argv;
}

Result<std::string> wrap(const Parsed& parsed) {
  if (!parsed.dashes || parsed.words.empty()) return make_error(ErrorCode::kInvalid, "wrap: expected hotcell wrap [options] -- PROGRAM [ARGS...]");
  TRY_SET(Job job, make_job(parsed, JobFor::kRunning));
  std::vector<std::string> argv;
  std::vector<backends::Piece> pieces;
  const backends::Backend* tool = backends::find(job.launcher.backend);
  if (tool != nullptr) {
    for (const auto& h : backends::unheld(*tool, job.policy, job.waived))
      if (h.status == LayerStatus::kNone)
        return make_error(ErrorCode::kUnsupported, cat("backend ", tool->name(), " cannot hold this policy: ", h.statement, ": ", h.detail));
  }
  if (tool == nullptr || !tool->stands_alone() || tool->engine()) {
    argv = own_command(parsed, job);
  } else {
    TRY_SET(backends::ToolPlan plan, backends::plan_tool(*tool, job.policy, job.request, "SCRATCH", 0, job.settings));
    argv = std::move(plan.argv);
    pieces = std::move(plan.pieces);
  }
  if (!parsed.has(Opt::kJson)) {
    std::string line;
    for (const auto& w : argv) line += cat(line.empty() ? "" : " ", quoted_word(w));
    return line + "\n";
  }
  JsonWriter w;
  w.begin_object();
  w.field("backend", std::string_view(job.launcher.backend));
  w.key("argv");
  w.begin_array();
  for (const auto& word : argv) w.value(std::string_view(word));
  w.end_array();
  w.key("files");  // below the folder that argv calls SCRATCH
  w.begin_array();
  for (const auto& p : pieces) {
    w.begin_object();
    w.field("name", std::string_view(p.name));
    w.field("kind", p.kind == backends::Piece::Kind::kFile ? "file" : p.kind == backends::Piece::Kind::kFolder ? "folder" : "link");
    // A program or a filter is no text.
    bool bytes = p.bytes.find('\0') != p.bytes.npos;
    w.field(bytes ? "base64" : "text", std::string_view(bytes ? base64(p.bytes) : p.bytes));
    if (p.kind == backends::Piece::Kind::kFile) w.field("mode", p.mode);
    w.end_object();
  }
  w.end_array();
  w.end_object();
  return w.take() + "\n";
}

}  // namespace

int cmd_wrap(Args args) {
  auto parsed = parse(Command::kWrap, args);
  if (!parsed.ok()) return refuse(parsed.error());
  if (parsed.value().has(Opt::kHelp)) return print(help_text(Command::kWrap));
  auto text = wrap(parsed.value());
  return text.ok() ? print(text.value()) : refuse(text.error());
}

}  // namespace hotcell
