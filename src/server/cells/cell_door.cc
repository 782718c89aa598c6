#include "server/cells/cell_door.h"

#include <algorithm>
#include <cerrno>

#include "base/strings.h"
#include "cells/decisions/standard.h"
#include "cells/spawner/orders.h"
#include "core/policy/profile.h"
#include "core/policy/validate.h"
#include "manager/report_json.h"
#include "server/http/door_words.h"
#include "sys/uuid.h"

namespace hotcell::server {
namespace {

constexpr JsonBounds kCellBounds{32, 1'000'000};
constexpr std::size_t kMostKept = 256;            // runs that nobody waits for, ended ones included
constexpr Bytes kListing{64u << 20};              // of a folder

Error nobodys(const std::string& name) { return cells::not_there(cat("there is no cell ", printable(name.substr(0, 100)))); }

bool may_have(const Caller& caller, const JsonValue& cell) {
  const JsonValue* labels = cell.find("labels");
  return caller.admin || (labels != nullptr && labels->text(kOwnerLabel) == caller.name);
}

int errno_of(std::string_view said) {
  struct Row {
    std::string_view words;
    int err;
  };
  static constexpr Row kRows[] = {{"No such file or directory", ENOENT}, {"File exists", EEXIST}, {"Directory not empty", ENOTEMPTY},
                                  {"Is a directory", EISDIR}, {"Not a directory", ENOTDIR}, {"No space left on device", ENOSPC},
                                  {"File too large", EFBIG}, {"Disk quota exceeded", EDQUOT}, {"Permission denied", EACCES},
                                  {"Operation not permitted", EPERM}, {"Read-only file system", EROFS}};
  for (const auto& row : kRows)
    if (said.find(row.words) != std::string_view::npos) return row.err;
  return 0;
}

// The keeper speaks to its own clients, who have options; errors that are answered by themselves are looked at there.
void reword(Result<Report>& report) {
  if (!report.ok()) {
    Error error = report.error();
    error.message = door_words(error.message);
    report = std::move(error);
    return;
  }
  for (auto& denial : report.value().denials) denial.fix = door_words(denial.fix);
}

}  // namespace

CellView read_view(const JsonValue& cell, std::string json) {
  CellView view;
  view.id = cell.text("id");
  view.name = cell.text("name");
  view.status = cell.text("status");
  view.json = std::move(json);
  if (const JsonValue* limits = cell.find("limits")) {
    view.output = Bytes{static_cast<std::uint64_t>(std::max<std::int64_t>(0, limits->integer_or("output_bytes", 0)))};
    view.wall = Nanoseconds(std::max<std::int64_t>(0, limits->integer_or("wall_ns", 0)));
  }
  if (const JsonValue* enforcement = cell.find("enforcement")) {
    view.enforcement.backend = enforcement->text("backend");
    for (const auto& l : enforcement->items("layers")) {
      auto layer = layer_from(l.text("name"));
      if (!layer) continue;
      auto status = l.text("status");
      view.enforcement.layers.push_back(
          {*layer, status == "full" ? LayerStatus::kFull : status == "partial" ? LayerStatus::kPartial : LayerStatus::kNone, std::string(l.text("detail"))});
    }
  }
  return view;
}

void CellDoor::find(const Caller& caller, const std::string& name, Done<CellView> done) {
  cells::Ask ask;
  ask.verb = "inspect";
  ask.cell = name;
  link_.ask(std::move(ask), [caller, name, done = std::move(done)](Result<KeeperLink::Answer> answer) {
    if (!answer.ok()) return done(answer.error().err == ENOENT ? nobodys(name) : answer.error());
    auto parsed = parse_json(answer.value().told.text, kCellBounds);
    if (!parsed.ok()) return done(make_error(ErrorCode::kInternal, "the keeper's answer is no JSON"));
    if (!may_have(caller, parsed.value())) return done(nobodys(name));
    done(read_view(parsed.value(), door_words_in(std::move(answer.value().told.text), "unfinished_apply")));
  });
}

void CellDoor::list(const Caller& caller, Done<JsonValue> done) {
  cells::Ask ask;
  ask.verb = "list";
  link_.ask(std::move(ask), [caller, done = std::move(done)](Result<KeeperLink::Answer> answer) {
    if (!answer.ok()) return done(answer.error());
    auto parsed = parse_json(door_words_in(std::move(answer.value().told.text), "unfinished_apply"), kCellBounds);
    if (!parsed.ok() || parsed.value().array() == nullptr) return done(make_error(ErrorCode::kInternal, "the keeper's answer is no JSON"));
    JsonValue::Array mine;
    for (const auto& cell : *parsed.value().array())
      if (may_have(caller, cell)) mine.push_back(cell);
    JsonValue out;
    out.v = std::move(mine);
    done(std::move(out));
  });
}

std::uint64_t CellDoor::ask(const std::string& id, std::string verb, cells::Fields fields, std::vector<std::string> words, Done<cells::Told> done, Waiting waiting) {
  cells::Ask ask;
  ask.verb = std::move(verb);
  ask.cell = id;
  ask.fields = std::move(fields);
  ask.words = std::move(words);
  std::shared_ptr<int> waited;
  if (ask.verb == "shell.run" || ask.verb == "context.run") {
    // Without a word of ours the keeper has times of its own, and zero would be none at all.
    constexpr Nanoseconds kShell = std::chrono::seconds(30);
    const Nanoseconds most = rules_().max_timeout, usual = ask.verb == "shell.run" ? std::min(kShell, most) : most;
    auto said = ask.fields.find("timeout_ns");
    const auto wish = said == ask.fields.end() ? std::nullopt : parse_u64(said->second);
    const auto allowed = static_cast<std::uint64_t>(most.count());
    ask.fields["timeout_ns"] = cat(!wish ? static_cast<std::uint64_t>(usual.count()) : *wish == 0 ? allowed : std::min(*wish, allowed));
    waited = waited_;
  }
  // Not of every answer: what a shell has said is the program's.
  const bool log = ask.verb == "network";
  KeeperLink::News news;
  if (waiting)
    news = [waiting = std::move(waiting)](const cells::Told& told) {
      auto question = told.fields.find("waiting"), reason = told.fields.find("reason");
      if (question != told.fields.end()) waiting(question->second, reason == told.fields.end() ? std::string() : reason->second);
    };
  return link_.ask(
      std::move(ask),
      [done = std::move(done), waited, log](Result<KeeperLink::Answer> answer) {
        if (!answer.ok()) return done(answer.error());
        if (log) answer.value().told.text = door_words_in(std::move(answer.value().told.text), "how");
        done(std::move(answer.value().told));
      },
      std::move(news));
}

void CellDoor::create(const Caller& caller, CellSpec spec, Done<std::string> done) {
  for (const auto& [key, value] : spec.labels)
    if (key.starts_with("hotcell.")) return done(make_error(ErrorCode::kInvalid, cat("labels: ", printable(key), ": names that begin with hotcell. are ours")));
  if (spec.stopped && (!spec.job.files.empty() || !spec.tar.empty()))
    return done(make_error(ErrorCode::kInvalid, "files are put into a cell that runs; create it without stopped, and stop it"));
  if (spec.phases && !spec.job.network.value_or(false))
    return done(make_error(ErrorCode::kInvalid, "phases: without a network (network: proxy) there is none to end"));
  JobSpec shape;
  shape.argv = {"/bin/true"};
  shape.profile = spec.job.profile;
  shape.limits = spec.job.limits;
  shape.timeout = spec.job.timeout;
  // Not what everybody's programs have: a network is given to a cell by name.
  shape.network = spec.job.network.value_or(false);
  shape.network_mode = spec.job.network_mode;
  shape.allow_domains = spec.job.allow_domains;
  shape.block_domains = spec.job.block_domains;
  shape.secrets = spec.job.secrets;
  shape.env = spec.job.env;
  auto job = make_job(std::move(shape), rules_());
  if (!job.ok()) return done(std::move(job).error());
  Policy policy = std::move(job.value().policy);
  // Of one run the time is the request's; a cell keeps it for all that will run in it, where somebody has said one: the caller, or a
  // profile that allows less than the server does.
  if (const Nanoseconds wall = job.value().request.wall.value_or(policy.limits.wall);
      spec.job.timeout || spec.job.limits.wall || wall < rules_().default_timeout)
    policy.limits.wall = wall;
  cells::Ask ask;
  ask.verb = "create";
  ask.env = policy.env.set;
  for (const auto& [key, value] : spec.job.env) ask.env[key] = value;
  policy.env = {};
  ask.fields["policy"] = to_yaml(policy);
  if (!spec.name.empty()) ask.fields["name"] = spec.name;
  if (!spec.project.empty()) ask.fields["project"] = spec.project;
  for (const auto& [key, value] : spec.labels) ask.fields[cat("label.", key)] = value;
  ask.fields[cat("label.", kOwnerLabel)] = caller.name;
  if (spec.ttl.count() > 0) ask.fields["ttl_ns"] = cat(static_cast<std::uint64_t>(spec.ttl.count()));
  if (spec.idle_pause.count() > 0) ask.fields["idle_pause_ns"] = cat(static_cast<std::uint64_t>(spec.idle_pause.count()));
  for (auto& [where, value] : spec.job.secrets) ask.fields[cat("secret.", where)] = std::move(value);
  if (spec.stopped) ask.fields["stopped"] = "1";
  if (spec.phases) ask.fields["phases"] = "1";
  // Whoever says how much wants it held, where the keeper can: by a file system of that size.
  if (spec.job.limits.disk) ask.fields["own_disk"] = "1";
  if (!spec.decisions.empty()) ask.fields["decisions"] = spec.decisions == "standard" ? std::string(cells::standard_decisions_yaml()) : spec.decisions;
  if (!spec.job.files.empty() || !spec.tar.empty()) ask.fields["filling"] = "1";   // until it has them it goes when we go
  link_.ask(std::move(ask), [this, spec = std::move(spec), done = std::move(done)](Result<KeeperLink::Answer> answer) mutable {
    if (!answer.ok()) return done(std::move(answer).error());
    std::string text = std::move(answer.value().told.text);
    if (spec.job.files.empty() && spec.tar.empty()) return done(std::move(text));
    auto parsed = parse_json(text, kCellBounds);
    if (!parsed.ok()) return done(make_error(ErrorCode::kInternal, "the keeper's answer is no JSON"));
    fill(read_view(parsed.value(), std::move(text)), std::move(spec), std::move(done));
  });
}

// A cell that does not have the files it was to have is none.
void CellDoor::fill(const CellView& cell, CellSpec spec, Done<std::string> done) {
  std::string tar = spec.job.files.empty() ? std::move(spec.tar) : tar_of(spec.job.files);
  std::string then = spec.job.files.empty() ? std::string() : std::move(spec.tar);
  const std::uint64_t number = ++last_busy_;
  busy_[number] = files(cell.id, {"unpack", "/work"}, std::move(tar), {}, kListing,
                        [this, number, cell, then = std::move(then), done = std::move(done)](Result<Report> unpacked) mutable {
                          link_.loop().post([this, number] { busy_.erase(number); });
                          if (unpacked.ok() && !then.empty()) {
                            CellSpec rest;
                            rest.tar = std::move(then);
                            return fill(cell, std::move(rest), std::move(done));
                          }
                          if (unpacked.ok()) {
                            ask(cell.id, "filled", {}, {}, [done = std::move(done)](Result<cells::Told> told) {
                              if (!told.ok()) return done(told.error());
                              done(std::move(told.value().text));
                            });
                            return;
                          }
                          ask(cell.id, "rm", {}, {}, [done = std::move(done), error = unpacked.error()](Result<cells::Told>) { done(error); });
                        });
}

std::shared_ptr<void> CellDoor::listen(const std::string& cell, Listener listener) {
  std::shared_ptr<Feed>& feed = feeds_[cell];
  const bool fresh = feed == nullptr;
  if (fresh) feed = std::make_shared<Feed>();
  const std::uint64_t number = ++feed->last;
  std::weak_ptr<Feed> weak = feed;
  feed->listeners[number] = std::move(listener);
  if (feed->ready) link_.loop().post([weak, number] {
    auto f = weak.lock();
    if (f && f->listeners.contains(number) && f->listeners[number].ready) f->listeners[number].ready();
  });
  if (fresh) {
    cells::Ask ask;
    ask.verb = "events";
    ask.cell = cell;
    link_.ask(std::move(ask),
              [this, weak, cell](Result<KeeperLink::Answer> answer) {
                auto f = weak.lock();
                feeds_.erase(cell);
                if (!f) return;
                const Error error = answer.ok() ? make_error(ErrorCode::kCancelled, "the cell has no more events") : answer.error();
                for (auto& [n, l] : std::exchange(f->listeners, {})) l.ended(error);
              },
              [weak](const cells::Told& news) {
                auto f = weak.lock();
                if (!f) return;
                const bool begins = news.fields.contains("listening");
                if (begins) f->ready = true;
                for (auto& [n, l] : std::map(f->listeners)) begins ? l.ready() : l.event(news.text);
              });
  }
  return std::shared_ptr<void>(nullptr, [weak, number](void*) {
    if (auto f = weak.lock()) f->listeners.erase(number);
  });
}

std::shared_ptr<CellRun> CellDoor::exec(const CellView& cell, CellRunSpec spec, CellRun::Output output, Ran done) {
  spec.timeout = clamp(cell, spec.timeout);
  return start(cell, std::move(spec), std::move(output),
               [done = std::move(done), waited = waited_](Result<Report> report, const std::optional<OutputInspection>& found) { done(std::move(report), found); });
}

Nanoseconds CellDoor::clamp(const CellView& cell, Nanoseconds timeout) const {
  const Nanoseconds most = cell.wall.count() > 0 ? std::min(cell.wall, rules_().max_timeout) : rules_().max_timeout;
  return timeout.count() <= 0 ? most : std::min(timeout, most);
}

std::shared_ptr<CellRun> CellDoor::start(const CellView& cell, CellRunSpec spec, CellRun::Output output, Ran done) {
  spec.cell = cell.id;
  if (spec.output.n == 0 || spec.output > cell.output) spec.output = cell.output;
  OutputOrder order = spec.inspect;
  if (order.mode != InspectMode::kOff) spec.collect = true;
  CellRun::Output held = holds_output(order.mode) ? std::exchange(output, {}) : CellRun::Output();
  std::string client = spec.client;
  return CellRun::start(link_, std::move(spec), std::move(output),
                        [this, done = std::move(done), enforcement = cell.enforcement, held = std::move(held), order = std::move(order),
                         client = std::move(client), id = cell.id](Result<Report> report) {
    reword(report);
    if (report.ok()) report.value().enforcement = enforcement;
    if (!report.ok() || order.mode == InspectMode::kOff) return done(std::move(report), std::nullopt);
    auto looked = [done, held](Report seen, const std::optional<OutputInspection>& found) {
      if (held && !seen.out.empty()) held(OutStream::kStdout, seen.out);
      if (held && !seen.err.empty()) held(OutStream::kStderr, seen.err);
      done(std::move(seen), found);
    };
    if (inspect) return inspect(std::move(report).value(), order, client, id, looked);
    auto found = inspect_output(report.value(), order, [] { return Result<std::unique_ptr<InspectorChild>>(make_error(ErrorCode::kUnsupported, "there is no inspector here")); });
    looked(std::move(report).value(), found);
  });
}

std::shared_ptr<CellRun> CellDoor::files(const std::string& id, std::vector<std::string> words, std::optional<std::string> in, CellRun::Output output, Bytes most,
                                         Done<Report> done) {
  CellRunSpec spec;
  spec.cell = id;
  spec.argv = {cells::kSpawnerPath};
  for (auto& word : words) spec.argv.push_back(std::move(word));
  spec.stdin_open = !in;
  if (in) spec.stdin_bytes = std::move(*in);
  spec.output = most;
  spec.collect = output == nullptr;
  auto said = std::make_shared<std::string>();
  return CellRun::start(
      link_, std::move(spec),
      [said, output = std::move(output)](OutStream stream, std::string_view bytes) {
        if (stream == OutStream::kStderr && said->size() < 4096) *said += bytes;
        if (stream == OutStream::kStdout && output) output(stream, bytes);
      },
      [said, done = std::move(done)](Result<Report> report) {
        if (!report.ok()) return done(std::move(report).error());
        const Verdict& v = report.value().verdict;
        if (v.reason == ExitReason::kExited && v.exit_code == 0) return done(std::move(report));
        std::string why(trim(*said));
        if (v.reason == ExitReason::kDisk) return done(Error{ErrorCode::kInvalid, EDQUOT, "the cell has more on its disk now than it may"});
        if (v.reason == ExitReason::kOutput) return done(Error{ErrorCode::kInvalid, EFBIG, "it is larger than may be read at once"});
        if (why.empty()) return done(make_error(ErrorCode::kInvalid, cat("the file agent ended: ", to_string(v.reason))));
        done(Error{ErrorCode::kInvalid, errno_of(why), printable(why)});
      });
}

Result<std::string> CellDoor::keep(const CellView& cell, CellRunSpec spec) {
  if (kept_.size() >= kMostKept) {
    auto ended = std::find_if(kept_.begin(), kept_.end(), [](const auto& k) { return !k->result.empty(); });
    if (ended == kept_.end()) return make_error(ErrorCode::kLimit, cat(kMostKept, " programs run that nobody waits for; end one"));
    kept_.erase(ended);
  }
  auto entry = std::make_shared<KeptRun>();
  entry->cell = cell.id;
  entry->command = join(spec.argv, " ").substr(0, 200);
  // Never that of another one, of a front before this one neither: whoever polls would be told of the other.
  const std::string random = sys::random_id();
  if (random.empty()) return make_error(ErrorCode::kInternal, "getrandom failed");
  entry->id = cat("r-", random);
  spec.timeout = spec.timeout.count() < 0 ? Nanoseconds(0) : clamp(cell, spec.timeout);
  std::weak_ptr<KeptRun> weak = entry;
  entry->run = start(cell, std::move(spec), {}, [this, weak](Result<Report> report, const std::optional<OutputInspection>& found) {
    auto mine = weak.lock();
    if (!mine) return;
    if (report.ok()) report.value().id = mine->id;
    Report failed = report.ok() ? Report{} : failed_report(report.error());
    mine->result = report_json(report.ok() ? report.value() : failed, JsonStyle::kOneLine, found);
    link_.loop().post([mine] { mine->run.reset(); });   // this is inside of it
  });
  kept_.push_back(entry);
  return entry->id;
}

Error no_such_run() {
  return cells::not_there("there is no such execution in this cell; what was left running is forgotten, and ends, when the daemon stops or its front is restarted");
}

const KeptRun* CellDoor::kept(const std::string& cell, const std::string& id) const {
  for (const auto& k : kept_)
    if (k->id == id && k->cell == cell) return k.get();
  return nullptr;
}

std::vector<const KeptRun*> CellDoor::kept(const std::string& cell) const {
  std::vector<const KeptRun*> out;
  for (auto it = kept_.rbegin(); it != kept_.rend(); ++it)
    if ((*it)->cell == cell) out.push_back(it->get());
  return out;
}

Result<void> CellDoor::kill(const std::string& cell, const std::string& id) {
  for (const auto& k : kept_) {
    if (k->id != id || k->cell != cell) continue;
    if (!k->run || !k->result.empty()) return cells::not_now("it has ended already");
    k->run->kill("cancelled");
    return {};
  }
  return no_such_run();
}

}  // namespace hotcell::server
