// `wrap`: the command line that would run a program under a backend, for tools that start it themselves.
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "backends/scratch.h"
#include "backends/tool_launcher.h"
#include "base/json_write.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/job.h"
#include "cli/say.h"
#include "core/launch/ids.h"
#include "core/launch/workspace.h"
#include "sys/file.h"

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
std::vector<std::string> own_command(const Parsed& parsed, const CliJob& job) {
  std::vector<std::string> argv = {"hotcell", "run"};
  for (const auto& [option, value] : parsed.values()) {
    if (option == Opt::kJson || option == Opt::kLevel || option == Opt::kTier || option == Opt::kBackend || option == Opt::kInto) continue;
    for (const auto& o : options())
      if (o.id == option) argv.emplace_back(o.name);
    if (!value.empty()) argv.emplace_back(value);
  }
  argv.insert(argv.end(), {"--backend", job.launcher.backend, "--"});
  for (const auto& w : job.request.argv) argv.push_back(w);
  return argv;
}

// What a tool's own command line does not hold: limits are ours, around it.
constexpr std::string_view kOurs[] = {"wall", "cpu", "memory", "processes", "disk", "output"};

// The folder that the command line names, made with what belongs there. It must be new: what is in it is trusted.
Result<std::string> make_place(std::string_view said) {
  char here[PATH_MAX] = "";
  if (!said.starts_with('/') && ::getcwd(here, sizeof here) == nullptr) return errno_error("--into", errno);
  std::string folder = said.starts_with('/') ? std::string(said) : cat(here, "/", said);
  // Another user passes through to what is its own; nobody can list it.
  if (::mkdir(folder.c_str(), 0711) < 0 || ::mkdir(cat(folder, "/work").c_str(), 0755) < 0) return errno_error(cat("--into: ", printable(folder)), errno);
  return folder;
}

Result<void> fill_place(const std::string& folder, const backends::Backend& tool, const std::vector<backends::Piece>& pieces, const CliJob& job) {
  const unsigned id = ::geteuid() == 0 && tool.own_ids() ? kForeignId : 0;
  TRY(backends::write_pieces(folder, pieces, id));
  std::string work = cat(folder, "/work");
  TRY_SET(sys::Fd at, sys::open(work.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  if (id != 0 && ::fchown(at.get(), id, id) < 0) return errno_error(work, errno);
  for (const auto& file : job.request.files) TRY(write_input_file(at.get(), file, id).context("workspace"));
  return {};
}

Result<std::string> wrap(const Parsed& parsed) {
  if (!parsed.dashes || parsed.words.empty()) return make_error(ErrorCode::kInvalid, "wrap: expected hotcell wrap [options] -- PROGRAM [ARGS...]");
  TRY_SET(CliJob job, make_job(parsed, JobFor::kRunning));
  std::vector<std::string> argv;
  std::vector<backends::Piece> pieces;
  bool bare = false;  // a tool's own command line
  const backends::Backend* tool = backends::find(job.launcher.backend);
  if (tool != nullptr) {
    TRY(tool->permits(job.request, job.settings));
    for (const auto& h : backends::unheld(*tool, job.policy, job.waived))
      if (h.status == LayerStatus::kNone)
        return make_error(ErrorCode::kUnsupported, cat("backend ", tool->name(), " cannot hold this policy: ", h.statement, ": ", h.detail));
  }
  if (tool == nullptr || !tool->stands_alone() || tool->engine()) {
    argv = own_command(parsed, job);
  } else {
    auto into = parsed.last(Opt::kInto);
    std::string place = "SCRATCH";
    if (into) {
      TRY_SET(place, make_place(*into));
    }
    TRY_SET(backends::ToolPlan plan, backends::plan_tool(*tool, job.policy, job.request, place, 0, job.settings));
    backends::without_privileges(*tool, plan, kForeignId);
    if (into) TRY(fill_place(place, *tool, plan.pieces, job));
    argv = std::move(plan.argv);
    pieces = std::move(plan.pieces);
    bare = true;
  }
  if (bare && !parsed.has(Opt::kJson)) {
    for (const auto& note : job.about) say(cat("wrap: ", note));
    std::string list;
    for (auto name : kOurs) list += cat(list.empty() ? "" : ", ", name);
    say(cat("wrap: the limits (", list, ") are hotcell's own and not in this command line; hotcell run --backend ", tool->name(), " holds them"));
    if (!pieces.empty() && !parsed.has(Opt::kInto)) say("wrap: it needs files below SCRATCH: --into FOLDER makes them, --json lists them");
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
  w.key("not_held");  // by this command line
  w.begin_array();
  if (bare)
    for (auto name : kOurs) w.value(name);
  // Nor does anything else where there is no wall.
  if (bare && !tool->walls())
    for (const auto& h : tool->judge(job.policy))
      if (h.status == LayerStatus::kNone) w.value(std::string_view(h.statement));
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
