// `cell snapshot`, `cell snapshots`, `cell restore`, `cell fork`: a cell's files, kept and multiplied.
#include "base/strings.h"
#include "cli/cell.h"
#include "cli/cell_json.h"
#include "cli/paths.h"
#include "cli/say.h"

namespace hotcell {
namespace {

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

std::string size_words(std::uint64_t bytes) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  std::uint64_t tenths = bytes * 10;
  if (bytes >= UINT64_MAX / 10) return cat(bytes, " B");
  for (; tenths >= 10240 && unit + 1 < std::size(kUnits); ++unit) tenths /= 1024;
  return unit == 0 ? cat(bytes, " B") : cat(tenths / 10, ".", tenths % 10, " ", kUnits[unit]);
}

Result<int> snapshot(const Parsed& parsed, const std::string& cell) {
  if (parsed.words.size() > 3) return bad("cell snapshot: expected hotcell cell snapshot NAME [LABEL]");
  cells::Ask ask = cell_ask("snapshot", cell);
  if (parsed.words.size() == 3) ask.fields["label"] = std::string(parsed.words[2]);
  TRY_SET(auto keeper, connect_keeper(parsed));
  TRY_SET(cells::Told told, keeper.ask(std::move(ask)));
  if (parsed.has(Opt::kJson)) return print(told.text + "\n");
  TRY_SET(SnapshotSummary saved, read_snapshot(told.text));
  for (const auto& left : saved.left_out) say(cat("left out: ", printable(left)));
  return print(cat(saved.label, "  ", saved.entries, " entries, ", size_words(saved.content), " in ", size_words(saved.size), "\n", saved.file, "\n"));
}

Result<int> snapshots(const Parsed& parsed, const std::string& cell) {
  if (parsed.words.size() > 2) {
    if (parsed.words[2] != "rm" || parsed.words.size() == 3) return bad("cell snapshots: expected hotcell cell snapshots NAME [rm LABEL...]");
    cells::Ask ask = cell_ask("snapshot_rm", cell);
    for (std::size_t i = 3; i < parsed.words.size(); ++i) ask.words.emplace_back(parsed.words[i]);
    TRY_SET(auto keeper, connect_keeper(parsed));
    TRY(keeper.ask(std::move(ask)));
    return 0;
  }
  TRY_SET(auto keeper, connect_keeper(parsed));
  TRY_SET(cells::Told told, keeper.ask(cell_ask("snapshots", cell)));
  if (parsed.has(Opt::kJson)) return print(told.text + "\n");
  TRY_SET(auto all, read_snapshots(told.text));
  std::string text;
  for (const auto& s : all) text += cat(s.label, "  ", s.created_at, "  ", s.entries, " entries  ", size_words(s.size), "\n");
  return print(text.empty() ? cat("no snapshots of ", printable(cell), "\n") : text);
}

// What was made of another cell's files: its name, or all of it.
Result<int> tell_new(const Parsed& parsed, const cells::Told& told) {
  if (auto note = told.fields.find("note"); note != told.fields.end()) say(note->second);
  auto owners = told.fields.find("owners_kept");
  if (owners != told.fields.end() && owners->second == "0") say("owners could not be kept: what was somebody else's is now yours");
  if (parsed.has(Opt::kJson)) return print(told.text + "\n");
  TRY_SET(CellSummary made, read_cell(told.text));
  return print(cat(made.name, "\n"));
}

Result<int> restore(const Parsed& parsed, const std::string& cell) {
  if (parsed.words.size() != 3) return bad("cell restore: expected hotcell cell restore NAME LABEL|FILE [--name NEW]");
  cells::Ask ask = cell_ask("restore", cell);
  const std::string_view what = parsed.words[2];
  if (what.find('/') != what.npos || what.ends_with(".snap")) {
    TRY_SET(ask.fields["file"], real_path(what, "cell restore"));
  } else {
    ask.fields["label"] = std::string(what);
  }
  auto name = parsed.last(Opt::kName);
  if (name) ask.fields["name"] = std::string(*name);
  if (parsed.has(Opt::kStopped) && !name) return bad("cell restore: --stopped goes with --name; the cell itself runs again when it ran");
  if (parsed.has(Opt::kStopped)) ask.fields["stopped"] = "1";
  TRY_SET(auto keeper, connect_keeper(parsed));
  TRY_SET(cells::Told told, keeper.ask(std::move(ask)));
  if (name) return tell_new(parsed, told);
  if (auto owners = told.fields.find("owners_kept"); owners != told.fields.end() && owners->second == "0")
    say("owners could not be kept: what was somebody else's is now yours");
  if (parsed.has(Opt::kJson)) return print(told.text + "\n");
  TRY_SET(bool restarted, read_restarted(told.text));
  if (restarted) say("the cell was stopped for it and runs again; its processes are gone");
  return print(cat(told.fields["entries"], " entries restored\n"));
}

Result<int> fork_cell(const Parsed& parsed, const std::string& cell) {
  if (parsed.words.size() != 3) return bad("cell fork: expected hotcell cell fork NAME NEW");
  cells::Ask ask = cell_ask("fork", cell);
  ask.fields["name"] = std::string(parsed.words[2]);
  if (parsed.has(Opt::kStopped)) ask.fields["stopped"] = "1";
  TRY_SET(auto keeper, connect_keeper(parsed));
  TRY_SET(cells::Told told, keeper.ask(std::move(ask)));
  return tell_new(parsed, told);
}

}  // namespace

Result<int> cell_saved(const Parsed& parsed, std::string_view what) {
  TRY_SET(std::string cell, cell_word(parsed));
  if (what == "snapshot") return snapshot(parsed, cell);
  if (what == "snapshots") return snapshots(parsed, cell);
  if (what == "restore") return restore(parsed, cell);
  return fork_cell(parsed, cell);
}

}  // namespace hotcell
