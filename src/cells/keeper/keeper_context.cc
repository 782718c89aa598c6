// What may be asked of the contexts of a cell. An interpreter is started by the cell's spawner like any program; a call is
// waited for by a thread of its own, which knows nothing of the keeper: it has the context's ends and a way to send SIGINT.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>

#include "base/json_write.h"
#include "base/strings.h"
#include "cells/keeper/held_context.h"
#include "cells/keeper/keeper.h"
#include "sys/file.h"
#include "sys/socket.h"

namespace hotcell::cells {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostContexts = 16;
constexpr std::size_t kLongestCode = 8 << 20;
constexpr auto kStartTime = std::chrono::seconds(60);
constexpr int kRequests = 3, kAnswers = 4, kScratch = 5;

std::string word(const Ask& ask, const std::string& name) {
  auto it = ask.fields.find(name);
  return it == ask.fields.end() ? std::string() : it->second;
}

std::string end_words(const News& news, const HeldContext& held, const Kept& cell) {
  if (!cell.spawned || !cell.run) return cat("the cell has stopped", cell.record.reason.empty() ? "" : cat(": ", cell.record.reason));
  if (news.kind == NewsKind::kFailed)
    return cat("the interpreter of ", held.language, " cannot be started in the cell: ", ::strerror(news.err),
               news.step == Step::kFork ? " (see --processes)" : "");
  if (news.kind != NewsKind::kExited) return "the interpreter has ended";
  std::string how = WIFEXITED(news.status) ? cat("exit code ", WEXITSTATUS(news.status)) : cat("signal ", WTERMSIG(news.status));
  return cat("the interpreter has ended with ", how, held.language == "bash" && WIFEXITED(news.status) ? " (`exit`, or a failing command under `set -e`)" : "");
}

const char* state_of(const HeldContext& held) { return !held.gone.empty() ? "gone" : held.starting ? "starting" : held.busy ? "busy" : "idle"; }

void fill(const CallResult& r, bool json, Told& told) {
  told.fields = {{"state", std::string(to_string(r.state))}, {"exit_code", cat(r.exit_code)}, {"timed_out", r.timed_out ? "1" : "0"}};
  if (json) {
    told.text = call_json(r);
    return;
  }
  std::string names;
  for (const auto& o : r.rich) names += cat(names.empty() ? "" : ", ", o.name);
  told.fields.insert({{"value", r.value}, {"output", r.output}, {"errors", r.errors}, {"error", r.error}, {"traceback", r.traceback},
                      {"rich", names}, {"truncated", r.output_cut ? "1" : "0"}});
}

}  // namespace

std::string Keeper::context_language_of(const Kept& cell, const std::string& name) {
  auto it = cell.contexts.find(name);
  return it == cell.contexts.end() ? std::string() : it->second->language;
}

void Keeper::context_timers(Kept& cell) {
  for (auto& [name, held] : cell.contexts)
    if (held->sleep) held->sleep->set(cell.record.state == CellState::kPaused);
}

// Nobody waits for the call any more: it is interrupted, and the interpreter is kept.
void Keeper::forget_caller(Kept& cell, std::uint64_t client) {
  for (auto& [name, held] : cell.contexts) {
    if (!held->caller || held->caller->client != client) continue;
    held->caller.reset();
    if (held->context) held->context->interrupt();
  }
}

// The same of one call of a client that goes on.
void Keeper::interrupt_caller(Kept& cell, const Asker& asker) {
  for (auto& [name, held] : cell.contexts)
    if (held->caller && held->caller->client == asker.client && held->caller->number == asker.number && held->context) held->context->interrupt();
}

void Keeper::context_news(const std::string& id, const std::string& name, const News& news) {
  auto it = kept_.find(id);
  if (it == kept_.end()) return;
  auto h = it->second->contexts.find(name);
  // One that was restarted has another execution by now.
  if (h == it->second->contexts.end() || (news.id != 0 && h->second->execution != news.id)) return;
  HeldContext& held = *h->second;
  std::string why = end_words(news, held, *it->second);
  if (held.context) held.context->over(why);
  if (held.gone.empty()) held.gone = why;
  if (!held.busy && !held.starting) held.context.reset();
}

// The interpreter and all that it started.
void Keeper::end_context(Kept& cell, HeldContext& held, std::string why) {
  if (held.context) held.context->over(why);
  if (cell.spawned && cell.executions.contains(held.execution))
    cell.spawned->tell(OrderKind::kKill, held.execution).ignore("the spawner is gone, and the cell with it");
  held.gone = std::move(why);
}

Result<void> Keeper::start_context(const Asker& asker, Kept& cell, const std::shared_ptr<HeldContext>& held) {
  TRY_SET(std::vector<std::string> argv, driver_argv(held->language, kRequests, kAnswers, kScratch));
  TRY_SET(sys::Fd null, sys::open("/dev/null", O_RDONLY));
  TRY_SET(sys::SocketPair requests, sys::stream_pair());
  TRY_SET(sys::SocketPair answers, sys::stream_pair());
  TRY_SET(sys::Pipe out, sys::make_pipe(0));
  TRY_SET(sys::Pipe err, sys::make_pipe(0));
  // Under another uid inside: what it opens by name (/dev/stderr) must be its to open.
  for (int fd : {out.write.get(), err.write.get()}) (void)!::fchmod(fd, 0622);
  // The thread's own end of the spawner's socket: the keeper's may be gone when it is needed.
  TRY_SET(sys::Fd socket, sys::duplicate(cell.spawned->fd()));
  ExecOrder order;
  order.argv = std::move(argv);
  order.env = environment(cell, held->env);
  order.fds = {null.get(), out.write.get(), err.write.get(), requests.theirs.get(), answers.theirs.get()};
  sys::Fd scratch;
  if (held->language == "bash") {
    TRY_SET(scratch, sys::memfd("hotcell-scratch", {}, false, false));
    order.fds.push_back(scratch.get());
  }
  TRY_SET(Execution * execution, run(cell, order));
  std::string id = cell.record.id, name = held->name;
  execution->ours = true;
  execution->on_news = [this, id, name, number = execution->id](const News& news) {
    News mine = news;
    mine.id = number;
    context_news(id, name, mine);
  };
  held->execution = execution->id;
  held->sleep = std::make_shared<Sleep>();
  Context::Ends ends;
  ends.requests = std::move(requests.ours);
  ends.answers = std::move(answers.ours);
  ends.output = std::move(out.read);
  ends.errors = std::move(err.read);
  ends.interrupt = [spawner = std::make_shared<Spawned>(std::move(socket)), number = execution->id] {
    return spawner->tell(OrderKind::kSignal, number, SIGINT);
  };
  ends.slept = [sleep = held->sleep] { return sleep->slept(); };
  ends.told_of_end = true;
  ContextLimits limits;
  limits.output = cell.policy.limits.output;
  held->context = std::make_shared<Context>(std::move(ends), limits);
  held->gone.clear();
  held->in = {};
  held->starting = true;
  auto ready = std::make_shared<Result<void>>();
  work([context = held->context, ready] { *ready = context->wait_ready(kStartTime); },
       [this, id, held, context = held->context, asker, ready] {
         auto it = kept_.find(id);
         if (held->context == context) held->starting = false;
         if (it == kept_.end()) return answer(asker, make_error(ErrorCode::kCancelled, "the cell is gone"));
         it->second->last_use = Clock::now();
         if (held->context != context || !ready->ok()) {
           std::string why = ready->ok() ? "it was closed or restarted meanwhile" : ready->error().message;
           if (held->context == context) end_context(*it->second, *held, why);
           // One that never was there is none.
           auto h = it->second->contexts.find(held->name);
           if (held->calls == 0 && h != it->second->contexts.end() && h->second == held) it->second->contexts.erase(h);
           return answer(asker, make_error(ErrorCode::kIo, cat("context ", held->name, ": ", why)));
         }
         answer(asker, Told{.number = 0, .last = true, .error = {}, .fields = {{"context", held->name}, {"language", held->language}}, .text = held->name});
       });
  return {};
}

Result<void> Keeper::create_context(const Asker& asker, Kept& cell, const Ask& ask) {
  std::string_view language = context_language(word(ask, "language"));
  if (language.empty()) return driver_argv(word(ask, "language"), kRequests, kAnswers, kScratch).error();
  std::string name = word(ask, "context");
  if (name.empty()) {
    name = std::string(language);
    for (int i = 2; cell.contexts.contains(name); ++i) name = cat(language, "-", i);
  }
  if (!is_cell_name(name)) return make_error(ErrorCode::kInvalid, cat("--session: ", printable(name), " is no name (letters, digits, dot, dash, underscore; at most 64)"));
  if (auto old = cell.contexts.find(name); old != cell.contexts.end()) {
    if (old->second->gone.empty()) return taken(cat("there is a context ", printable(name), " already"));
    cell.contexts.erase(old);  // its interpreter is gone; the name is free
  }
  if (cell.contexts.size() >= kMostContexts) return make_error(ErrorCode::kLimit, cat("the cell has ", kMostContexts, " contexts already; close one"));
  for (const auto& [k, v] : ask.env)
    if (k.empty() || k.find('=') != k.npos || k.find('\0') != k.npos || v.find('\0') != v.npos)
      return make_error(ErrorCode::kInvalid, cat("not a name for an environment variable: ", printable(k)));
  auto held = std::make_shared<HeldContext>();
  held->name = name;
  held->language = std::string(language);
  held->env = ask.env;
  held->created = held->used = now();
  cell.contexts.emplace(name, held);
  auto started = start_context(asker, cell, held);
  if (!started.ok()) cell.contexts.erase(name);
  return started;
}

Result<void> Keeper::call_context(const Asker& asker, Kept& cell, const std::shared_ptr<HeldContext>& held, const Ask& ask) {
  std::string code = ask.words.empty() ? std::string() : ask.words.back();
  if (code.size() > kLongestCode) return too_large("the code is longer than 8 MiB; write it to a file of the cell first");
  auto wish = parse_u64(word(ask, "timeout_ns"));
  Nanoseconds limit = wish ? Nanoseconds(static_cast<std::int64_t>(std::min<std::uint64_t>(*wish, INT64_MAX))) : cell.policy.limits.wall;
  auto timeout = std::chrono::ceil<milliseconds>(std::min<Nanoseconds>(limit, std::chrono::hours(24 * 365)));
  held->busy = true;
  held->context->announce();
  held->caller = asker;
  ++held->calls;
  held->used = cell.record.used = now();
  auto told = std::make_shared<Told>();
  auto why = std::make_shared<std::string>();
  work([context = held->context, code = std::move(code), timeout, told, why, json = word(ask, "json") == "1"] {
    CallResult result = context->call(code, timeout);
    if (result.state == CallResult::State::kGone) *why = result.error;
    fill(result, json, *told);
  }, [this, id = cell.record.id, held, context = held->context, asker, told, why] {
    auto it = kept_.find(id);
    if (it != kept_.end()) it->second->last_use = Clock::now();
    if (held->context == context) {
      held->busy = false;
      held->caller.reset();
      // What is left of one that was given up may still be running.
      if (!why->empty() && it != kept_.end()) end_context(*it->second, *held, *why);
    }
    answer(asker, std::move(*told));
  });
  return {};
}

std::string Keeper::contexts_json(const Kept& cell) const {
  JsonWriter w;
  w.begin_array();
  for (const auto& [name, held] : cell.contexts) {
    w.begin_object();
    w.field("name", name);
    w.field("language", held->language);
    w.field("state", state_of(*held));
    w.field("reason", held->gone);
    w.field("calls", held->calls);
    w.field("created_at", rfc3339(held->created));
    w.field("used_at", rfc3339(held->used));
    w.end_object();
  }
  w.end_array();
  return w.take();
}

bool Keeper::context_verb(const Asker& asker, const Ask& ask) {
  if (!ask.verb.starts_with("context.")) return false;
  auto found = find(ask.cell);
  if (!found.ok()) return answer(asker, std::move(found).error()), true;
  if (ask.verb == "context.list") {
    Told told;
    for (const auto& [context, held] : found.value()->contexts)
      told.fields["table"] += cat(context, "\t", held->language, "\t", state_of(*held), "\t", held->calls, held->calls == 1 ? " call" : " calls",
                                  held->gone.empty() ? "" : cat("\t", printable(held->gone)), "\n");
    told.text = contexts_json(*found.value());
    return answer(asker, std::move(told)), true;
  }
  std::string id = found.value()->record.id, name = word(ask, "context");
  // What is gone already needs no cell that runs.
  if (auto h = found.value()->contexts.find(name); ask.verb == "context.close" && h != found.value()->contexts.end() && !h->second->gone.empty()) {
    found.value()->contexts.erase(h);
    return answer_text(asker, ""), true;
  }
  hold_back(asker);
  awake(*found.value(), [this, asker, ask, id, name](const Result<void>& r) {
    if (!goes_on(asker)) return;
    auto it = kept_.find(id);
    if (!r.ok() || it == kept_.end()) return answer(asker, r.ok() ? make_error(ErrorCode::kNotFound, "the cell is gone") : r.error());
    Kept& cell = *it->second;
    auto refuse = [&](Error error) { answer(asker, std::move(error)); };
    if (ask.verb == "context.create") {
      if (auto made = create_context(asker, cell, ask); !made.ok()) refuse(std::move(made).error());
      return;
    }
    auto h = cell.contexts.find(name);
    if (h == cell.contexts.end())
      return refuse(not_there(cat("the cell has no context ", printable(name), " (contexts do not outlive their cell's processes); hotcell cell context ",
                                  cell.record.name, " create LANGUAGE")));
    std::shared_ptr<HeldContext> held = h->second;
    if (ask.verb == "context.restart" || ask.verb == "context.close") {
      bool again = ask.verb == "context.restart";
      end_context(cell, *held, again ? "it was restarted" : "it was closed");
      held->context.reset();
      held->busy = held->starting = false;
      held->caller.reset();
      if (!again) {
        cell.contexts.erase(name);
        return answer_text(asker, "");
      }
      if (auto started = start_context(asker, cell, held); !started.ok()) refuse(std::move(started).error());
      return;
    }
    if (!held->gone.empty())
      return refuse(not_now(cat("context ", name, " is gone: ", held->gone, "; hotcell cell context ", cell.record.name, " restart ", name)));
    if (ask.verb == "context.interrupt") {
      if (!held->busy) return refuse(not_now(cat("context ", name, " runs nothing that could be interrupted")));
      held->context->interrupt();
      return answer_text(asker, "");
    }
    if (ask.verb != "context.run") return refuse(make_error(ErrorCode::kInvalid, cat("the keeper knows no ", printable(ask.verb))));
    if (held->busy || held->starting)
      return refuse(not_now(cat("context ", name, held->starting ? " is being started" : " is busy with a call; wait for it, or interrupt it")));
    if (auto called = call_context(asker, cell, held, ask); !called.ok()) refuse(std::move(called).error());
  });
  return true;
}

}  // namespace hotcell::cells
