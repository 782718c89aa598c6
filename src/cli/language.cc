// `language list`: which languages can be run here. Versions are asked of the tools, each in a cell of its own: a tool
// outside the packages is no more trusted than the programs it makes.
#include "hotcell/language.h"

#include "base/json_write.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/say.h"
#include "hotcell/launcher.h"
#include "languages/language_tools.h"

namespace hotcell {

namespace {

struct ToolState {
  const Tool* tool = nullptr;
  std::string path, version;
};

std::string first_line_with_digit(std::string_view text) {
  for (auto line : split(text, '\n'))
    if (line.find_first_of("0123456789") != std::string_view::npos) return std::string(trim(line));
  return {};
}

std::string ask_version(Launcher& launcher, const ToolState& state) {
  Policy policy = default_policy();
  policy.limits.processes = 128;
  policy.limits.memory = 512_MiB;
  policy.limits.wall = std::chrono::seconds(10);
  if (!state.path.starts_with("/usr/")) policy.filesystem.grants.push_back({state.path, Access::kRead, "language list"});
  Request request;
  request.argv = {state.path, std::string(state.tool->version_flag)};
  auto report = launcher.run(policy, std::move(request));
  if (!report.ok()) return {};
  auto line = first_line_with_digit(report.value().out);
  return line.empty() ? first_line_with_digit(report.value().err) : line;
}

// A language can be used when what it must have is there; a faster compiler is a bonus.
bool usable(const std::vector<ToolState>& tools) {
  for (const auto& t : tools)
    if (t.path.empty() && t.tool->use != ToolUse::kCompileFast) return false;
  return true;
}

std::string_view use_name(ToolUse use) {
  switch (use) {
    case ToolUse::kCompile: return "compile";
    case ToolUse::kCompileFast: return "compile_fast";
    case ToolUse::kRun: return "run";
  }
  return "run";
}

std::string padded(std::string_view text, std::size_t width) {
  return cat(text, std::string(text.size() < width ? width - text.size() : 1, ' '));
}

std::string text_of(const Language& language, const std::vector<ToolState>& tools) {
  std::string out = cat(padded(language.name, 12), usable(tools) ? "ready    " : "missing  ");
  std::string details;
  for (const auto& t : tools) {
    if (!details.empty()) details += "; ";
    if (!t.path.empty()) details += t.version.empty() ? t.path : cat(t.tool->program, ": ", t.version);
    else if (t.tool->package.starts_with("npm:"))
      details += cat(t.tool->program, " is not there (the project's set-up fetches it from npm)");
    else details += cat(t.tool->program, " is not there (apt-get install ", t.tool->package, ")");
  }
  return cat(out, printable(details), "\n");
}

void write(JsonWriter& w, const Language& language, const std::vector<ToolState>& tools) {
  w.begin_object();
  w.field("name", language.name);
  w.field("usable", usable(tools));
  w.field("compiled", language.compile != nullptr);
  w.field("default_profile", language.default_profile);
  for (auto [key, list] : {std::pair{"aliases", language.aliases}, std::pair{"extensions", language.extensions}}) {
    w.key(key);
    w.begin_array();
    for (auto word : list) w.value(word);
    w.end_array();
  }
  w.key("tools");
  w.begin_array();
  for (const auto& t : tools) {
    w.begin_object();
    w.field("program", t.tool->program);
    w.field("use", use_name(t.tool->use));
    w.field("path", t.path);
    w.field("version", t.version);
    w.field("package", t.tool->package);
    w.end_object();
  }
  w.end_array();
  w.end_object();
}

Result<int> list(bool json) {
  TRY_SET(auto launcher, Launcher::create({}));
  Policy policy = default_policy();
  JsonWriter w;
  std::string text;
  w.begin_array();
  for (const auto* language : languages()) {
    std::vector<ToolState> tools;
    for (const auto& tool : language->tools) {
      ToolState state{&tool, find_tool(tool, policy), {}};
      if (!state.path.empty()) state.version = ask_version(*launcher, state);
      tools.push_back(std::move(state));
    }
    write(w, *language, tools);
    text += text_of(*language, tools);
  }
  w.end_array();
  return print(json ? w.take() + "\n" : text);
}

}  // namespace

int cmd_language(Args args) {
  auto parsed = parse(Command::kLanguage, args);
  if (!parsed.ok()) return refuse(parsed.error());
  const auto& options = parsed.value();
  if (options.has(Opt::kHelp)) return print(help_text(Command::kLanguage, options.words));
  if (options.words.size() != 1 || options.words[0] != "list")
    return refuse(make_error(ErrorCode::kInvalid, "language: expected hotcell language list [--json]"));
  auto done = list(options.has(Opt::kJson));
  return done.ok() ? done.value() : refuse(done.error());
}

}  // namespace hotcell
