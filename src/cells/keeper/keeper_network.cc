// The network of a lasting cell: its door is served by a process of its own, its rules can be changed while it runs, and the
// phase that has a network ends once and for ever.
//
// What makes the end of that phase certain is the kernel's: the cell's network namespace has no device but its loopback, and
// the only sockets in it that belong to somebody outside are the two of the door. hotcell-proxy alone holds them. When it is
// gone, nothing in there leads out, and whatever was connected through it is cut. The record is written before, so that no
// crash brings the network back.
#include <algorithm>

#include "base/json_write.h"
#include "base/strings.h"
#include "cells/keeper/cell_secrets.h"
#include "cells/keeper/door_process.h"
#include "cells/keeper/keeper.h"
#include "core/remote/launcher_process.h"
#include "net/account.h"
#include "net/journal.h"

namespace hotcell::cells {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const Fields& fields, const std::string& name) {
  Lines out;
  auto it = fields.find(name);
  if (it == fields.end()) return out;
  for (auto line : split(it->second, '\n'))
    if (!line.empty()) out.emplace_back(line);
  return out;
}

Lines ceiling_words(const CellRecord& record) { return lines_of(record.network, "ceiling"); }

net::DoorOrder order_of(const CellRecord& record, RuleMode mode) {
  return {mode, lines_of(record.network, "allow"), lines_of(record.network, "block")};
}

constexpr auto kKeepEvery = std::chrono::seconds(2);

// Without the values of the cell's secrets: a program that got hold of one may ask for it as a name.
Result<void> keep_entries(DoorProcess& door, std::vector<net::LogEntry> entries) {
  if (door.tls)
    for (auto& e : entries)
      for (auto* text : {&e.host, &e.reason, &e.how}) *text = net::scrubbed(*text, door.tls->secrets());
  return door.journal->keep(entries);
}

void put_list(JsonWriter& w, std::string_view name, const Lines& list) {
  w.key(name);
  w.begin_array();
  for (const auto& entry : list) w.value(std::string_view(entry));
  w.end_array();
}

}  // namespace

Result<void> Keeper::plan_network(const Ask& ask, const Policy& policy, CellRecord& record) {
  auto field = [&](const char* name) { auto it = ask.fields.find(name); return it == ask.fields.end() ? std::string() : it->second; };
  bool phases = field("phases") == "1";
  if (policy.network.mode != NetworkMode::kProxy) {
    if (phases) return make_error(ErrorCode::kInvalid, cat("--phases needs --network proxy: with network ", hotcell::to_string(policy.network.mode), " there is no door to shut"));
    return {};
  }
  Lines words = lines_of(ask.fields, "network_words");
  if (words.empty()) {
    net::RuleOptions rules;
    rules.mode = policy.network.rules;
    rules.allow = policy.network.allow;
    rules.block = policy.network.block;
    words = net::rule_words(rules);
  }
  TRY_SET(net::DoorCeiling most, net::read_door_words(words).context("network"));
  // Of the policy's own lists, what is within: @… stands for all that there is.
  Lines allow;
  for (const auto& entry : policy.network.allow) {
    if (entry.starts_with('@')) allow.insert(allow.end(), most.rules.allow.begin(), most.rules.allow.end());
    else allow.push_back(entry);
  }
  // A secret is for a host, which is thereby meant.
  for (const auto& [name, value] : ask.fields)
    if (auto at = name.find('@'); name.starts_with("secret.") && at != name.npos && net::covers(most.rules, name.substr(at + 1))) allow.push_back(name.substr(at + 1));
  TRY_SET(auto checked, net::rules_within(most.rules, {policy.network.rules, allow, policy.network.block}).context("network"));
  TRY(remote::find_program_of_ours("hotcell-proxy").context("--network proxy"));
  record.network["ceiling"] = join(words, "\n");
  record.network["allow"] = join(allow, "\n");
  record.network["block"] = join(policy.network.block, "\n");
  record.network_phase = phases ? "setup" : "";
  return {};
}

void Keeper::open_door(const std::string& id, sys::Fd door, sys::Fd dns) {
  auto it = kept_.find(id);
  // Sealed while it was being started: the sockets are closed here and now.
  if (it == kept_.end() || it->second->record.network_phase == "agent") return;
  Kept& cell = *it->second;
  auto started = DoorProcess::start(ceiling_words(cell.record));
  if (!started.ok()) {
    // The door stays shut: nothing gets out, and whoever asks is told why.
    cell.door_failed = started.error().message;
    return tell(cell, "network.failed", {{"reason", cell.door_failed}});
  }
  cell.door_failed.clear();
  cell.door = std::move(started).value();
  cell.door->journal.emplace(cells_.substr(0, cells_.rfind('/')), id);
  doors_.push_back(cell.door);
  std::weak_ptr<DoorProcess> weak = cell.door;
  cell.door->watch = watch(cell.door->fd(), EPOLLIN, [this, weak](std::uint32_t) {
    if (auto d = weak.lock()) {
      d->on_readable();
      sweep_doors();
    }
  });
  net::DoorOrder order = order_of(cell.record, cell.policy.network.rules);
  std::vector<int> fds = {door.get(), dns.get()};
  if (cell.secrets && cell.secrets->tls) {
    cell.door->tls = std::move(cell.secrets->tls);
    for (const auto& s : cell.secrets->held) order.secret_hosts.push_back(s.where.text());
    fds.push_back(cell.door->tls->socket());
  }
  cell.door->ask(net::pack(order), [this, weak, id](Result<std::string> said) {
    auto d = weak.lock();
    if (!d) return;
    d->serving = said.ok() && said.value().empty();
    if (d->serving) return;
    std::string why = said.ok() ? printable(said.value()) : said.error().message;
    if (said.ok()) d->end(why);
    if (auto found = kept_.find(id); found != kept_.end()) tell(*found->second, "network.failed", {{"reason", why}});
  }, fds);
}

// Those that are gone are forgotten, and no longer listened to.
void Keeper::sweep_doors() {
  std::erase_if(doors_, [&](const std::shared_ptr<DoorProcess>& d) {
    if (d->living()) return false;
    if (d->watch != 0) unwatch(std::exchange(d->watch, 0), -1);
    return true;
  });
}

void Keeper::close_door(Kept& cell, std::function<void()> then) {
  auto door = std::exchange(cell.door, nullptr);
  if (!door) return then();
  std::string id = cell.record.id;
  // It shuts the door and tells what went through it; then it is ended, whatever it has answered.
  door->ask({}, [this, door, id, then = std::move(then)](Result<std::string> said) {
    auto account = said.ok() ? net::unpack_door_account(said.value()) : std::nullopt;
    if (account) door->account = *std::move(account);
    keep_entries(*door, door->account.entries).ignore("it is in the cell's own account, too");
    if (auto found = kept_.find(id); found != kept_.end()) found->second->last_account = std::make_shared<const net::DoorAccount>(door->account);
    door->end("the door is shut");
    then();
  });
  sweep_doors();
}

// What the door has refused since the program was started is in its result, and the log is kept as far as it has come. Several
// programs of one cell at a time have one door: each is told what all of them were refused.
void Keeper::answer_exec(Kept& cell, const Execution& execution, Told told) {
  if (!execution.asker) return;
  if (!cell.door || !cell.door->serving) {
    const std::string& failed = cell.door ? cell.door->failed : cell.door_failed;
    if (!failed.empty()) told.fields["network"] = net::denial_lines({}, {cat("the cell has no network: ", failed)});
    return deliver(execution.relay, *execution.asker, std::move(told));
  }
  std::weak_ptr<DoorProcess> weak = cell.door;
  std::string question = cat("d", static_cast<std::uint64_t>(execution.started.time_since_epoch().count()), " ", cell.door->journal->kept());
  cell.door->ask(question, [this, weak, relay = execution.relay, asker = *execution.asker, told = std::move(told)](Result<std::string> said) mutable {
    auto account = said.ok() ? net::unpack_door_account(said.value()) : std::nullopt;
    if (!account) {
      told.fields["network"] = net::denial_lines({}, {"what the proxy refused is not known: it does not answer"});
    } else {
      told.fields["network"] = net::denial_lines(account->refusals, account->notices);
      if (auto door = weak.lock()) keep_entries(*door, account->entries).ignore("the next account has them, too");
    }
    deliver(relay, asker, std::move(told));
  });
}

// Not before the output that goes by us is on its way.
void Keeper::deliver(const std::shared_ptr<OutputRelay>& relay, const Asker& asker, Told told) {
  if (relay) finish_relay(relay, [this, asker, told = std::move(told)] { answer(asker, told); });
  else answer(asker, std::move(told));
}

Clock::time_point Keeper::doors_due() const {
  auto due = Clock::time_point::max();
  for (const auto& d : doors_) due = std::min(due, d->serving && !d->asked() ? d->keep_at : d->due());
  return due;
}
void Keeper::door_timers(Clock::time_point at) {
  auto late = doors_;
  for (auto& d : late)
    if (d->due() <= at) d->on_late();
    else if (d->serving && !d->asked() && d->keep_at <= at) keep_log(d);
  sweep_doors();
}

// A program may run for as long as its cell does: what it asks for is on disk before, and when we are killed.
void Keeper::keep_log(const std::shared_ptr<DoorProcess>& door) {
  door->keep_at = Clock::now() + kKeepEvery;
  std::weak_ptr<DoorProcess> weak = door;
  const auto moment = static_cast<std::uint64_t>(std::chrono::duration_cast<Nanoseconds>(now().time_since_epoch()).count());
  door->ask(cat("d", moment, " ", door->journal->kept()), [weak](Result<std::string> said) {
    auto account = said.ok() ? net::unpack_door_account(said.value()) : std::nullopt;
    if (auto d = weak.lock(); d && account) keep_entries(*d, std::move(account->entries)).ignore("the next account has them, too");
  });
}

Result<void> Keeper::seal(const Asker& asker, Kept& cell) {
  CellRecord& r = cell.record;
  if (r.network_phase == "agent") return not_now(cat(r.name, " is sealed already: phase agent, without a network, for good"));
  if (r.network_phase != "setup") return make_error(ErrorCode::kInvalid, cat(r.name, " has one phase only; a cell is made for two with cell create --network proxy --phases"));
  r.network_phase = "agent";
  r.network["sealed_at"] = rfc3339(now());
  if (auto saved = save_record(cell.folder, r); !saved.ok()) {
    // What is not written down would be undone by the next start.
    r.network_phase = "setup";
    r.network.erase("sealed_at");
    return std::move(saved).error().context("seal");
  }
  std::string id = r.id;
  close_door(cell, [this, asker, id] {
    auto it = kept_.find(id);
    if (it == kept_.end()) return answer(asker, make_error(ErrorCode::kNotFound, "the cell is gone"));
    tell(*it->second, "config.changed", {{"what", "network_phase"}, {"to", "agent"}});
    answer_text(asker, network_json(*it->second));
  });
  return {};
}

Result<void> Keeper::change_network(const Asker& asker, Kept& cell, const Ask& ask) {
  CellRecord& r = cell.record;
  if (cell.policy.network.mode != NetworkMode::kProxy)
    return make_error(ErrorCode::kInvalid, cat(r.name, " has network ", hotcell::to_string(cell.policy.network.mode), ": there are no rules to change"));
  if (r.network_phase == "agent") return make_error(ErrorCode::kInvalid, cat(r.name, " is sealed: phase agent, without a network, for good"));
  TRY_SET(net::DoorCeiling most, net::read_door_words(ceiling_words(r)));
  net::DoorOrder order = order_of(r, cell.policy.network.rules);
  for (const auto& domain : lines_of(ask.fields, "allow")) {
    if (!net::covers(most.rules, domain))
      return make_error(ErrorCode::kInvalid, cat("--allow-domain: ", printable(domain), " is beyond what ", r.name, " was created with"));
    std::erase(order.block, domain);
    if (std::find(order.allow.begin(), order.allow.end(), domain) == order.allow.end()) order.allow.push_back(domain);
  }
  for (const auto& domain : lines_of(ask.fields, "block"))
    if (std::find(order.block.begin(), order.block.end(), domain) == order.block.end()) order.block.push_back(domain);
  TRY_SET(auto checked, net::rules_within(most.rules, order));
  std::string bytes = net::pack(order);
  if (bytes.size() + 1 > net::kLongestDoorOrder) return make_error(ErrorCode::kLimit, "there are more rules than a door takes");
  auto changed = [this, asker, id = r.id, order](const Result<std::string>& said) {
    auto it = kept_.find(id);
    if (it == kept_.end()) return answer(asker, make_error(ErrorCode::kNotFound, "the cell is gone"));
    if (!said.ok()) return answer(asker, said.error());
    if (!said.value().empty()) return answer(asker, make_error(ErrorCode::kInvalid, printable(said.value())));
    Kept& c = *it->second;
    c.record.network["allow"] = join(order.allow, "\n");
    c.record.network["block"] = join(order.block, "\n");
    save(c);
    tell(c, "config.changed", {{"what", "network_rules"}});
    answer_text(asker, network_json(c));
  };
  if (cell.door && cell.door->living()) cell.door->ask(cat("r", bytes), changed);
  else changed(std::string());  // in force from its next start
  return {};
}

std::string Keeper::network_json(const Kept& cell) const {
  const CellRecord& r = cell.record;
  bool sealed = r.network_phase == "agent";
  JsonWriter w;
  w.begin_object();
  w.field("id", std::string_view(r.id));
  w.field("name", std::string_view(r.name));
  w.field("mode", sealed ? std::string_view("none") : hotcell::to_string(cell.policy.network.mode));
  w.key("phase");
  if (r.network_phase.empty()) w.null();
  else w.value(std::string_view(r.network_phase));
  if (auto at = r.network.find("sealed_at"); at != r.network.end()) w.field("sealed_at", std::string_view(at->second));
  w.field("serving", cell.door && cell.door->serving);
  std::string failed = cell.door && !cell.door->serving ? cell.door->failed : cell.door_failed;
  if (!failed.empty()) w.field("error", std::string_view(failed));
  w.key("rules");
  w.begin_object();
  w.field("mode", hotcell::to_string(cell.policy.network.rules));
  put_list(w, "allow", lines_of(r.network, "allow"));
  put_list(w, "block", lines_of(r.network, "block"));
  put_list(w, "created_with", ceiling_words(r));
  w.end_object();
  w.end_object();
  std::string text = w.take();
  text.pop_back();
  static const net::DoorAccount none;
  const net::DoorAccount& account = cell.door ? cell.door->account : cell.last_account ? *cell.last_account : none;
  if (r.network.contains("secrets")) text += cat(",\"secrets\":", secrets_json(cell));
  text += cat(",\"counters\":", net::stats_json(account.stats), ",\"log\":[");
  for (std::size_t i = 0; i < account.entries.size(); ++i) text += cat(i == 0 ? "" : ",", net::log_json(account.entries[i]));
  return text + "]}\n";
}

bool Keeper::network_verb(const Asker& asker, const Ask& ask) {
  if (ask.verb != "seal" && ask.verb != "network") return false;
  auto found = find(ask.cell);
  if (!found.ok()) return answer(asker, std::move(found).error()), true;
  Kept& cell = *found.value();
  Result<void> done;
  if (ask.verb == "seal") {
    done = seal(asker, cell);
  } else if (ask.fields.contains("allow") || ask.fields.contains("block")) {
    done = change_network(asker, cell, ask);
  } else if (cell.door && cell.door->living()) {
    std::weak_ptr<DoorProcess> weak = cell.door;
    cell.door->ask("a", [this, asker, weak, id = cell.record.id](Result<std::string> said) {
      auto account = said.ok() ? net::unpack_door_account(said.value()) : std::nullopt;
      if (auto d = weak.lock(); d && account) d->account = *std::move(account);
      if (auto it = kept_.find(id); it != kept_.end()) answer_text(asker, network_json(*it->second));
      else answer(asker, make_error(ErrorCode::kNotFound, "the cell is gone"));
    });
  } else {
    answer_text(asker, network_json(cell));
  }
  if (!done.ok()) answer(asker, std::move(done).error());
  return true;
}

}  // namespace hotcell::cells
