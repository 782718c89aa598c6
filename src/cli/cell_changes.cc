// `cell diff`, `cell apply`, `cell discard`: what a cell has changed against its project.
#include <algorithm>

#include "base/strings.h"
#include "cli/cell.h"
#include "cli/cell_json.h"
#include "cli/say.h"

namespace hotcell {
namespace {

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

constexpr int kNotApplied = 1;

// As the user writes them: "./a", and "/work/a" as programs in the cell call it.
std::string in_workspace(std::string_view path) {
  constexpr std::string_view kWork = "/work";
  if (path == kWork) return ".";
  if (path.starts_with("/work/")) path.remove_prefix(kWork.size() + 1);
  return std::string(path.empty() ? "." : path);
}

Result<int> diff(const Parsed& parsed, cells::KeeperClient& keeper, cells::Ask ask) {
  const bool json = parsed.has(Opt::kJson), patch = parsed.has(Opt::kPatch);
  ask.fields["format"] = json ? "json" : patch ? "patch" : "text";
  if (json && patch) ask.fields["patches"] = "1";
  TRY_SET(cells::Told told, keeper.ask(std::move(ask)));
  return print(json ? told.text + "\n" : told.text);
}

// A path that is none of the changes is a mistake of whoever named it, and nothing would have been applied without a word.
Result<void> check_named(cells::KeeperClient& keeper, const cells::Ask& ask) {
  auto changed = [&](std::vector<std::string> paths) {
    cells::Ask diff = cell_ask("diff", ask.cell);
    diff.fields["format"] = "json";
    diff.words = std::move(paths);
    return keeper.ask(std::move(diff));
  };
  auto all = changed(ask.words);
  if (!all.ok()) return {};  // apply looks at the same files, and has its own words for what is wrong
  TRY_SET(auto paths, read_changed(all.value().text));
  for (const auto& name : ask.words) {
    auto below = [&](const std::string& path) { return path == name || path.starts_with(cat(name, "/")); };
    if (name == "." || std::any_of(paths.begin(), paths.end(), below)) continue;
    // The name may be written otherwise ("a//b/"), or be none that JSON can hold: then it is asked for by itself.
    TRY_SET(cells::Told told, changed({name}));
    TRY_SET(auto of_it, read_changed(told.text));
    if (!of_it.empty()) continue;
    // What an apply that was cut off has written differs no more, and is to be finished.
    TRY_SET(cells::Told inspected, keeper.ask(cell_ask("inspect", ask.cell)));
    TRY_SET(CellSummary cell, read_cell(inspected.text));
    if (!cell.unfinished_apply.empty()) return {};
    return bad(cat("cell apply: ", printable(name), " is not changed in the cell; nothing was applied"));
  }
  return {};
}

Result<int> apply(const Parsed& parsed, cells::KeeperClient& keeper, cells::Ask ask) {
  TRY(check_named(keeper, ask));
  const bool json = parsed.has(Opt::kJson);
  ask.fields["format"] = json ? "json" : "text";
  for (auto [option, field] : {std::pair{Opt::kDryRun, "dry_run"}, std::pair{Opt::kForce, "force"}, std::pair{Opt::kAllowProtected, "allow_protected"}})
    if (parsed.has(option)) ask.fields[field] = "1";
  TRY_SET(cells::Told told, keeper.ask(std::move(ask)));
  if (auto note = told.fields.find("note"); note != told.fields.end()) say(note->second);
  if (int failed = print(json ? told.text + "\n" : told.text); failed != 0) return failed;
  return told.fields.contains("refused") ? kNotApplied : 0;
}

Result<int> discard(const Parsed& parsed, cells::KeeperClient& keeper, cells::Ask ask) {
  TRY_SET(cells::Told told, keeper.ask(std::move(ask)));
  if (parsed.has(Opt::kJson)) return print(told.text + "\n");
  TRY_SET(bool restarted, read_restarted(told.text));
  if (restarted) say("the cell was stopped for it and runs again; its processes are gone");
  return 0;
}

}  // namespace

Result<int> cell_changes(const Parsed& parsed, std::string_view what) {
  TRY_SET(std::string name, cell_word(parsed));
  cells::Ask ask = cell_ask(std::string(what), name);
  for (std::size_t i = 2; i < parsed.words.size(); ++i) ask.words.push_back(in_workspace(parsed.words[i]));
  TRY_SET(auto keeper, connect_keeper(parsed));
  if (what == "diff") return diff(parsed, keeper, std::move(ask));
  if (what == "apply") return apply(parsed, keeper, std::move(ask));
  return discard(parsed, keeper, std::move(ask));
}

}  // namespace hotcell
