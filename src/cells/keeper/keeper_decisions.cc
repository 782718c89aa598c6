// Before something is done in a cell that was made with decisions: may it? What is asked about waits here until somebody
// answers in another process (DecisionDesk); no answer in time is a no, and so is a client that goes.
#include <algorithm>
#include <set>

#include "base/sha256.h"
#include "base/strings.h"
#include "cells/decisions/command_lister.h"
#include "cells/decisions/desk.h"
#include "cells/files/apply.h"
#include "cells/files/changes.h"
#include "cells/keeper/cell_layers.h"
#include "cells/keeper/held_context.h"
#include "cells/keeper/keeper.h"
#include "cells/keeper/session.h"
#include "cells/spawner/orders.h"

namespace hotcell::cells {
namespace {

constexpr auto kLook = std::chrono::milliseconds(50);   // how soon an answer is noticed
constexpr std::size_t kMostParked = 256;
constexpr char kTerminal[] = "bash -i";                 // what a terminal is, to the rules

using Then = std::function<void(const Result<void>&)>;

std::string word(const Ask& ask, const std::string& name) {
  auto it = ask.fields.find(name);
  return it == ask.fields.end() ? std::string() : it->second;
}

Error denied(std::string message) { return make_error(ErrorCode::kDenied, std::move(message)); }

// The file agent's words: an operation and its paths. nullopt: a program like any other.
std::optional<std::vector<Action>> file_actions(const Ask& ask) {
  if (ask.words.size() < 2 || ask.words[0] != kSpawnerPath) return std::nullopt;
  const std::string& what = ask.words[1];
  auto at = [&](std::size_t i) {
    std::string path = i < ask.words.size() ? ask.words[i] : std::string();
    std::string folder = word(ask, "workdir");
    return path.starts_with('/') || folder.empty() ? path : cat(folder, "/", path);
  };
  if (what == "write" || what == "mkdir" || what == "remove" || what == "unpack") return std::vector<Action>{{ActionClass::kWrite, at(2)}};
  if (what == "move") return std::vector<Action>{{ActionClass::kWrite, at(2)}, {ActionClass::kWrite, at(3)}};
  if (what == "read" || what == "list" || what == "stat" || what == "pack" || what == "watch") return std::vector<Action>{{ActionClass::kRead, at(2)}};
  return std::nullopt;
}

// With the variables that it is given and that may change what runs: PATH, LD_PRELOAD and whatever else is not harmless.
Action with_variables(const Fields& env, std::vector<std::string> argv) {
  std::vector<std::string> words = {"env"};
  for (const auto& [name, value] : env)
    if (!is_harmless_variable(name)) words.push_back(cat(name, "=", value));
  if (words.size() == 1) return command_action(argv);
  words.insert(words.end(), argv.begin(), argv.end());
  return command_action(words);
}
bool sets_something(const Fields& env) {
  return std::any_of(env.begin(), env.end(), [](const auto& e) { return !is_harmless_variable(e.first); });
}

}  // namespace

struct Keeper::ToApply {
  std::vector<std::string> paths;  // that were asked for
  SeenChanges seen;                // and the new folders above them
};

struct Keeper::Parking {
  struct Parked {
    std::string question, cell;
    Action action;
    Asker asker;
    Then then;
    std::string content;  // of what is asked about, where its words do not say all of it
  };
  std::optional<DecisionQueue> queue;
  std::unique_ptr<AuditLog> audit;
  std::vector<Parked> parked;
  Clock::time_point next_look{};
  bool swept = false;

  void record(std::string_view what, const std::string& cell, const Action& about, std::string_view reason, std::string_view question = {}, std::string_view by = {}) {
    if (audit) audit->append(decision_event(what, cell, about, reason, question, by));
  }
  // The last who waited for it is gone.
  void withdraw(const Parked& p, std::string_view why) {
    if (std::any_of(parked.begin(), parked.end(), [&](const Parked& other) { return other.question == p.question; })) return;
    if (queue->answer(p.question, false, why, wall_now()).ok()) record("withdrawn", p.cell, p.action, why, p.question);
  }
};

Result<Keeper::Parking*> Keeper::parking() {
  if (!parking_) parking_ = std::make_shared<Parking>();
  Parking& p = *parking_;
  std::string state = cells_.substr(0, cells_.rfind('/'));
  if (!p.queue) {
    auto queue = DecisionQueue::open(decisions_file(state));
    if (!queue.ok()) return std::move(queue).error().context("the questions of cells");
    p.queue = std::move(queue).value();
  }
  if (!p.audit) {
    TRY_SET(p.audit, AuditLog::open(state).context("the audit log"));
  }
  if (!std::exchange(p.swept, true)) {
    // Only a keeper asks, and there is one at a time: whoever asked these is gone.
    TRY_SET(auto old, p.queue->list("", true, wall_now()));
    for (const auto& q : old)
      if (p.queue->answer(q.id, false, "its keeper ended", wall_now()).ok()) p.record("withdrawn", q.cell, q.action, "its keeper ended", q.id);
  }
  return &p;
}

const DecisionPolicy* Keeper::decisions_of(Kept& cell) {
  if (cell.record.decisions.empty()) return nullptr;
  if (!cell.decisions) {
    auto read = parse_decisions(cell.record.decisions, "decisions");
    DecisionPolicy closed;
    closed.otherwise = Answer::kDeny;
    if (!read.ok()) ::dprintf(2, "%s: %s\n", cell.record.id.c_str(), read.error().message.c_str());  // then nothing is allowed
    cell.decisions = std::make_shared<const DecisionPolicy>(read.ok() ? read.value() : closed);
  }
  return cell.decisions.get();
}

Result<std::string> Keeper::given_decisions(const Ask& ask, const Bounds* bounds) {
  std::string text = word(ask, "decisions");
  if (bounds != nullptr && !bounds->decisions.empty()) {
    // Who is to ask does not say what about.
    if (!text.empty() && text != bounds->decisions) return denied("decisions: the daemon's configuration says what cells must ask about (cells.decisions)");
    text = bounds->decisions;
  }
  if (text.empty()) return text;
  TRY(parse_decisions(text, "decisions"));
  TRY(parking());  // a state folder in which no question can be asked is told now, not when one comes up
  return text;
}

void Keeper::decide(Kept& cell, const std::vector<Action>& actions, const Asker& asker, Then then, std::string content) {
  const DecisionPolicy* policy = decisions_of(cell);
  if (policy == nullptr || actions.empty()) return then({});
  const std::string id = cell.record.id;
  WallTime at = wall_now();
  auto consult = [&]() -> Result<DecisionQueue::Outcome> {
    TRY_SET(Parking * p, parking());
    TRY_SET(auto grants, p->queue->grants(id, at));
    DecisionQueue::Outcome strictest{{Answer::kAllow, ""}, ""};
    for (const auto& action : actions) {
      Decision d = cells::decide(*policy, grants, action, at);
      if (d.answer <= strictest.decision.answer && !strictest.decision.reason.empty()) continue;
      strictest.decision = {d.answer, &action == &actions.front() ? d.reason : cat(printable(action.subject), ": ", d.reason)};
    }
    if (strictest.decision.answer != Answer::kAsk) return strictest;
    if (p->parked.size() >= kMostParked) return make_error(ErrorCode::kLimit, cat(kMostParked, " actions wait for approval already"));
    auto before = p->queue->list(id, true, at);
    TRY_SET(strictest.question, p->queue->ask(id, actions.front(), strictest.decision.reason, at, policy->patience));
    bool known = before.ok() && std::any_of(before.value().begin(), before.value().end(), [&](const Question& q) { return q.id == strictest.question; });
    // One yes is for what the first of them has: the same words about something else are no part of it.
    for (const auto& other : p->parked)
      if (other.question == strictest.question && other.content != content)
        return not_now(cat("the same is asked about already, with other content (question ", other.question, "); try again when that is answered"));
    if (!known) p->record("asked", id, actions.front(), strictest.decision.reason, strictest.question);
    return strictest;
  };
  auto outcome = consult();
  if (!outcome.ok()) return then(std::move(outcome).error().context("may this be done?"));
  const Decision& d = outcome.value().decision;
  if (d.answer == Answer::kAllow) return then({});
  if (d.answer == Answer::kDeny) {
    parking_->record("denied", id, actions.front(), d.reason);
    return then(denied(cat("denied by the decisions of ", cell.record.name, ": ", d.reason)));
  }
  const std::string& question = outcome.value().question;
  parking_->parked.push_back({question, id, actions.front(), asker, std::move(then), std::move(content)});
  parking_->next_look = Clock::now() + kLook;
  answer(asker, Told{.number = 0, .last = false, .error = {}, .fields = {{"waiting", question}, {"cell", id}, {"reason", d.reason}},
                     .text = cat("waiting for approval, question ", question, ": hotcell cell approve ", question)});
}

Clock::time_point Keeper::parked_due() const { return !parking_ || parking_->parked.empty() ? Clock::time_point::max() : parking_->next_look; }

void Keeper::parked_timers(Clock::time_point at) {
  if (!parking_ || parking_->parked.empty() || at < parking_->next_look) return;
  Parking& p = *parking_;
  p.next_look = at + kLook;
  std::map<std::string, Result<Question>> answered;
  for (const auto& one : p.parked)
    if (!answered.contains(one.question)) {
      auto q = p.queue->get(one.question, wall_now());
      if (!q.ok() || q.value().state != QuestionState::kPending) answered.emplace(one.question, std::move(q));
    }
  for (const auto& [id, q] : answered)
    if (q.ok() && q.value().state == QuestionState::kExpired) p.record("expired", q.value().cell, q.value().action, "nobody answered in time", id);
  for (const auto& [id, q] : answered) {
    std::vector<Parking::Parked> free;
    std::erase_if(p.parked, [&](Parking::Parked& one) {
      if (one.question != id) return false;
      free.push_back(std::move(one));
      return true;
    });
    for (auto& one : free) {
      if (!q.ok()) one.then(Error(q.error()));
      else if (q.value().state == QuestionState::kApproved) one.then({});
      else if (q.value().state == QuestionState::kExpired) one.then(denied(cat("nobody approved it in time, so it is denied (question ", id, ")")));
      else one.then(denied(cat("denied by ", q.value().answered_by.empty() ? "somebody" : printable(q.value().answered_by), " (question ", id, ")")));
    }
  }
}

bool Keeper::goes_on(const Asker& asker) {
  if (held_back_.erase({asker.client, asker.number}) > 0) return true;
  answer(asker, make_error(ErrorCode::kCancelled, "cancelled before it began"));
  return false;
}

void Keeper::forget_parked(const Asker& asker, bool whole_client) {
  if (whole_client) std::erase_if(held_back_, [&](const auto& held) { return held.first == asker.client; });
  else held_back_.erase({asker.client, asker.number});
  if (!parking_) return;
  std::vector<Parking::Parked> gone;
  std::erase_if(parking_->parked, [&](Parking::Parked& one) {
    if (one.asker.client != asker.client || (!whole_client && one.asker.number != asker.number)) return false;
    gone.push_back(std::move(one));
    return true;
  });
  for (auto& one : gone) {
    parking_->withdraw(one, whole_client ? "the asker is gone" : "the asker gave up");
    if (!whole_client) one.then(make_error(ErrorCode::kCancelled, "cancelled while it waited for approval"));
  }
}

void Keeper::forget_decisions(const Kept& cell) {
  if (cell.record.decisions.empty()) return;
  if (auto p = parking(); p.ok()) p.value()->queue->forget_cell(cell.record.id).ignore("its id is never used again");
}

void Keeper::guard_apply(Kept& cell, ApplyOptions& options) {
  const DecisionPolicy* policy = decisions_of(cell);
  if (cell.approved && !options.dry_run) options.approved = *cell.approved;
  if (policy == nullptr || policy->protected_paths.empty()) return;
  // --allow-protected lifts what is protected by custom, not what the decisions protect.
  if (options.on_protected == OnRefusal::kAllow) options.protected_paths.clear();
  options.protected_paths.insert(options.protected_paths.end(), policy->protected_paths.begin(), policy->protected_paths.end());
  options.on_protected = OnRefusal::kRefuse;
}

// What an apply would write is known when its changes are: each is a write, and all of it one command that can be asked
// about. What somebody has approved is applied byte for byte, since the cell's programs go on while they think; what a rule allows is
// allowed by its path, and a log that grows meanwhile is no reason to refuse it.
void Keeper::decide_apply(Kept& cell, const Asker& asker, const Ask& ask, std::function<void(const Result<ToApply>&)> then) {
  const std::string id = cell.record.id;
  auto seen = std::make_shared<Result<ToApply>>(ToApply());
  hold_back(asker);
  still(cell, "apply", [files = std::make_shared<CellLayers>(cell), words = ask.words, seen] {
    auto run = [&]() -> Result<ToApply> {
      TRY_SET(Layers layers, files->open());
      TRY_SET(auto selection, clean_selection(words));
      ToApply out;
      TRY_SET(out.seen, see_changes(layers, words));
      for (const auto& [path, digest] : out.seen)
        if (is_selected(path, selection)) out.paths.push_back(path);
      return out;
    };
    *seen = run();
    files->close();
  }, [this, id, asker, seen, then = std::move(then)] {
    if (!goes_on(asker)) return;
    auto it = kept_.find(id);
    if (it == kept_.end()) return then(not_there("the cell is gone"));
    if (!seen->ok()) return then(seen->error());
    const ToApply& changes = seen->value();
    if (changes.paths.empty()) return then(*seen);  // nothing to ask about; what comes meanwhile is left out
    std::vector<std::string> line = {"hotcell", "cell", "apply", it->second->record.name};
    line.insert(line.end(), changes.paths.begin(), changes.paths.end());
    std::vector<Action> actions = {command_action(line)};
    for (const auto& path : changes.paths) actions.push_back({ActionClass::kWrite, cat("/work/", path)});
    Sha256 content;
    for (const auto& [path, digest] : changes.seen) content.add_field(path), content.add_field(digest);
    auto asked = std::make_shared<bool>(false);
    decide(*it->second, actions, asker, [seen, then, asked](const Result<void>& may) {
      if (!may.ok()) return then(may.error());
      if (!*asked)
        for (auto& [path, digest] : seen->value().seen) digest.clear();
      then(*seen);
    }, content.finish_hex());
    *asked = true;  // it has not gone on at once
  });
}

bool Keeper::judged(const Asker& asker, const Ask& ask, std::vector<sys::Fd>& fds) {
  if (ask.verb == "kill") return forget_parked(asker, false), false;
  bool shell = ask.verb == "shell.run" || ask.verb == "shell.open" || ask.verb == "shell.attach" || ask.verb == "shell.input";
  bool apply = ask.verb == "apply" && word(ask, "dry_run") != "1";
  bool context = ask.verb == "context.run" || ask.verb == "context.create";
  if (ask.verb != "exec" && !context && !shell && !apply) return false;
  auto found = find(ask.cell);
  if (!found.ok() || decisions_of(*found.value()) == nullptr) return false;
  Kept& cell = *found.value();
  if (apply && (!cell.busy.empty() || cell.record.project.empty())) return false;  // refused by itself
  auto held = std::make_shared<std::vector<sys::Fd>>(std::move(fds));
  Then go_on = [this, asker, ask, held, id = cell.record.id](const Result<void>& may) {
    if (!may.ok()) return answer(asker, may.error());
    auto it = kept_.find(id);
    auto client = clients_.find(asker.client);
    // The daemon's connection is that of many people.
    bool one_person = client != clients_.end() && !client->second.bounds;
    if (it != kept_.end() && one_person && ask.verb.starts_with("shell.") && ask.verb != "shell.run") it->second->may_type.insert(asker.client);
    dispatch(asker, ask, std::move(*held), true);
  };
  if (apply) {
    decide_apply(cell, asker, ask, [this, asker, ask, id = cell.record.id](const Result<ToApply>& judged) {
      if (!judged.ok()) return answer(asker, judged.error());
      Ask judged_ask = ask;
      if (!judged.value().paths.empty()) judged_ask.words = judged.value().paths;
      auto approve = [&](std::shared_ptr<const SeenChanges> what) {
        if (auto it = kept_.find(id); it != kept_.end()) it->second->approved = std::move(what);
      };
      approve(std::make_shared<const SeenChanges>(judged.value().seen));
      dispatch(asker, judged_ask, {}, true);
      approve(nullptr);  // of this apply alone, also when it was not begun
    });
    return true;
  }
  std::vector<Action> actions;
  if (ask.verb == "exec") {
    auto files = file_actions(ask);
    actions = files ? *std::move(files) : std::vector<Action>{with_variables(ask.env, ask.words)};
    if (!files) actions[0].in = Whereabouts(word(ask, "workdir"));
  } else if (ask.verb == "shell.run") {
    actions = {{ActionClass::kCommand, ask.words.empty() ? "" : ask.words[0]}};
    if (auto session = cell.sessions.find(word(ask, "session")); session != cell.sessions.end()) actions[0].in = session->second->in;
  } else if (ask.verb == "context.run") {
    // What it is, not what the client says it is.
    const std::string language = context_language_of(cell, word(ask, "context")), code = ask.words.empty() ? std::string() : ask.words.back();
    if (language.empty()) return fds = std::move(*held), false;  // there is none: refused by itself
    if (language == "bash") actions = {{ActionClass::kCommand, code, cell.contexts.at(word(ask, "context"))->in}};
    else actions = {command_action({language == "python" ? "python3" : "node", language == "python" ? "-c" : "-e", code})};
  } else if (context || (ask.verb == "shell.open" && word(ask, "kind") != "terminal")) {
    // By itself it runs nothing yet; with variables of its own what it will run may be something else than it says.
    if (!sets_something(ask.env)) return fds = std::move(*held), false;
    actions = {with_variables(ask.env, {"bash"})};
  } else {
    // Whoever types into a terminal may run anything there; one leave is enough for a connection. An agent's shell runs
    // nothing that is typed: its commands are judged one by one.
    auto session = cell.sessions.find(word(ask, "session"));
    bool terminal = ask.verb == "shell.open" ? word(ask, "kind") == "terminal" : session != cell.sessions.end() && !session->second->agent();
    if (!terminal || cell.may_type.contains(asker.client)) return fds = std::move(*held), false;
    actions = {{ActionClass::kCommand, kTerminal}};
  }
  decide(cell, actions, asker, [this, go_on, ask, id = cell.record.id, line = actions[0]](const Result<void>& may) {
    if (auto it = kept_.find(id); may.ok() && it != kept_.end()) goes_on_in(*it->second, ask, line);
    go_on(may);
  });
  return true;
}

void Keeper::goes_on_in(Kept& cell, const Ask& ask, const Action& line) {
  Whereabouts* in = nullptr;
  if (auto session = cell.sessions.find(word(ask, "session")); ask.verb == "shell.run" && session != cell.sessions.end()) in = &session->second->in;
  if (auto held = cell.contexts.find(word(ask, "context")); ask.verb == "context.run" && held != cell.contexts.end() && held->second->language == "bash") in = &held->second->in;
  if (in != nullptr) *in = list_commands(line.subject, line.in).in;
}

}  // namespace hotcell::cells
