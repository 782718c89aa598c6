// What waits for somebody's word: `cell questions`, `approve`, `deny`, and the words given beforehand: `grant`, `grants`,
// `revoke`. None of it needs the keeper: questions and grants are in a file of the state folder.
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/strings.h"
#include "cells/decisions/desk.h"
#include "cells/decisions/standard.h"
#include "cells/keeper/folder.h"
#include "cli/cell.h"
#include "cli/say.h"
#include "cli/state.h"
#include "core/policy/units.h"
#include "sys/file.h"

namespace hotcell {
namespace {

using cells::DecisionDesk;
using cells::Question;

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

// By number: names can be changed, and a login's environment says what it likes.
std::string who() { return cat("uid ", ::getuid()); }

struct Place {
  std::string state, cells;
  std::vector<cells::StoredCell> all;
};

Result<Place> look(const Parsed& parsed) {
  Place p;
  TRY_SET(p.state, state_folder(parsed, Missing::kMake));
  TRY_SET(bool any, has_cells(parsed));
  if (!any) return no_cell(parsed, "");
  TRY_SET(p.cells, cells::make_cells_folder(p.state));
  TRY_SET(p.all, cells::list_cells(p.cells));
  return p;
}

Result<const cells::CellRecord*> find(const Place& place, std::string_view name) {
  for (const auto& c : place.all)
    if (c.record.name == name || c.record.id == name) return &c.record;
  return bad(cat("there is no cell ", printable(name), "; see hotcell cell list"));
}

std::string name_of(const Place& place, const std::string& id) {
  for (const auto& c : place.all)
    if (c.record.id == id) return c.record.name;
  return id;
}

std::string left(cells::WallTime until) {
  auto seconds = std::max<std::int64_t>(0, (until - cells::wall_now()).count());
  return cells::age_words(std::chrono::seconds(seconds));
}

Result<int> questions(const Parsed& parsed) {
  if (parsed.words.size() > 2) return bad("cell questions takes one name at most");
  TRY_SET(bool any, has_cells(parsed));
  if (!any && parsed.words.size() == 1) return print(parsed.has(Opt::kJson) ? cells::questions_json({}) + "\n" : "");
  TRY_SET(Place place, look(parsed));
  std::string id;
  if (parsed.words.size() == 2) {
    TRY_SET(const cells::CellRecord* cell, find(place, parsed.words[1]));
    id = cell->id;
  }
  TRY_SET(auto queue, cells::DecisionQueue::open(cells::decisions_file(place.state)));
  TRY_SET(auto waiting, queue.list(id, true, cells::wall_now()));
  if (parsed.has(Opt::kJson)) return print(cells::questions_json(waiting) + "\n");
  std::string text;
  for (const auto& q : waiting)
    text += cat(q.id, "  ", printable(name_of(place, q.cell)), "  ", cells::to_string(q.action.what), "  ", printable(q.action.subject), "\n    ", printable(q.reason),
                "; a no in ", left(q.expires), "\n");
  return print(text);
}

Result<int> answer(const Parsed& parsed, bool yes) {
  if (parsed.words.size() < 2) return bad(cat("cell ", parsed.words[0], ": which question? see hotcell cell questions"));
  TRY_SET(Place place, look(parsed));
  TRY_SET(DecisionDesk desk, DecisionDesk::open(place.state));
  int code = 0;
  std::vector<Question> answered;
  for (std::size_t i = 1; i < parsed.words.size(); ++i) {
    auto done = desk.answer(parsed.words[i], yes, who());
    if (done.ok()) answered.push_back(std::move(done).value());
    else code = refuse(bad(done.error().message));
  }
  if (parsed.has(Opt::kJson))
    if (int failed = print(cells::questions_json(answered) + "\n"); failed != 0) return failed;
  return code;
}

Result<int> grant(const Parsed& parsed) {
  if (parsed.words.size() != 4) return bad("cell grant: expected hotcell cell grant NAME command|read|write PATTERN [--ttl TIME]");
  TRY_SET(Place place, look(parsed));
  TRY_SET(const cells::CellRecord* cell, find(place, parsed.words[1]));
  auto what = cells::parse_action_class(parsed.words[2]);
  if (!what) return bad(cat("cell grant: '", printable(parsed.words[2]), "' is none of command, read, write"));
  if (cell->decisions.empty()) return bad(cat(cell->name, " has no decisions, so nothing of it is asked about (see cell create --decisions)"));
  cells::Grant given{*what, std::string(parsed.words[3]), std::nullopt, who()};
  if (auto time = parsed.last(Opt::kTtl)) {
    TRY_SET(Nanoseconds ttl, parse_duration(*time).context("--ttl"));
    given.expires = cells::wall_now() + std::chrono::ceil<std::chrono::seconds>(ttl);
  }
  TRY_SET(DecisionDesk desk, DecisionDesk::open(place.state));
  TRY(desk.grant(cell->id, given).context("cell grant"));
  return 0;
}

Result<int> grants(const Parsed& parsed) {
  TRY_SET(std::string name, cell_word(parsed));
  TRY_SET(Place place, look(parsed));
  TRY_SET(const cells::CellRecord* cell, find(place, name));
  TRY_SET(auto queue, cells::DecisionQueue::open(cells::decisions_file(place.state)));
  TRY_SET(auto given, queue.grants(cell->id, cells::wall_now()));
  if (parsed.has(Opt::kJson)) return print(cells::grants_json(given) + "\n");
  std::string text;
  for (const auto& g : given)
    text += cat(cells::to_string(g.what), "  ", printable(g.pattern), "  by ", printable(g.by), g.expires ? cat(", for another ", left(*g.expires)) : "", "\n");
  return print(text);
}

Result<int> revoke(const Parsed& parsed) {
  if (parsed.words.size() != 3) return bad("cell revoke: expected hotcell cell revoke NAME PATTERN");
  TRY_SET(Place place, look(parsed));
  TRY_SET(const cells::CellRecord* cell, find(place, parsed.words[1]));
  TRY_SET(DecisionDesk desk, DecisionDesk::open(place.state));
  TRY(desk.revoke(cell->id, parsed.words[2], who()));
  return 0;
}

}  // namespace

Result<std::string> decisions_text(std::string_view file) {
  if (file == "standard") return std::string(cells::standard_decisions_yaml());
  auto text = sys::read_file(std::string(file).c_str(), 1 << 20);
  if (!text.ok()) return std::move(text).error().context("--decisions");
  TRY(cells::parse_decisions(text.value(), file));
  return text;
}

Result<int> cell_decisions(const Parsed& parsed, std::string_view what) {
  if (what == "questions") return questions(parsed);
  if (what == "approve") return answer(parsed, true);
  if (what == "deny") return answer(parsed, false);
  if (what == "grant") return grant(parsed);
  return what == "grants" ? grants(parsed) : revoke(parsed);
}

}  // namespace hotcell
