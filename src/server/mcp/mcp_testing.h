// Stand-ins for what MCP leans on: executions that end when the test says so, a history in memory, a transport that
// remembers what it was told. For tests and the fuzz target.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/strings.h"
#include "manager/report_json.h"
#include "core/remote/remote_launcher.h"
#include "server/mcp/server.h"

namespace hotcell::server::mcp::testing {

class FakeExecutions : public Executions {
 public:
  struct One {
    ExecutionRecord record;
    JobSpec spec;
    Report report;
    std::string result;
    std::vector<std::pair<int, OnUpdate>> watchers;
    std::vector<std::pair<int, Ended>> waiters;
    std::uint64_t seq = 0;
    bool killed = false;
  };
  std::vector<std::unique_ptr<One>> all;
  bool end_at_once = true;           // as soon as it is submitted
  std::function<void(Report&)> make = [](Report&) {};
  bool full = false;
  std::optional<OutputInspection> inspection;  // of what all of them write

  One* one(std::string_view id) {
    for (auto& o : all)
      if (o->record.id == id) return o.get();
    return nullptr;
  }
  One& last() { return *all.back(); }

  void update(One& o, std::string type, std::string data) {
    Update u{++o.seq, std::move(type), std::move(data)};
    auto watchers = o.watchers;
    for (auto& w : watchers) w.second(u);
  }
  void end(One& o) {
    o.report.id = o.record.id;
    make(o.report);
    o.record.status = o.report.verdict.status();
    o.record.exit_reason = to_string(o.report.verdict.reason);
    o.record.exit_code = o.report.verdict.exit_code;
    o.result = report_json(o.report, JsonStyle::kOneLine, inspection);
    update(o, "done", o.result);
    auto waiters = o.waiters;
    for (auto& w : waiters) w.second(o.record);
  }

  void attach(std::unique_ptr<RemoteLauncher>) override {}
  void verify(VerifyQuestion, std::function<void(Verification)>) override {}
  void inspect(InspectQuestion, std::function<void(Result<std::string>)>) override {}
  Result<Submitted> submit(JobSpec spec) override {
    if (full) return make_error(ErrorCode::kLimit, "the queue is full");
    auto o = std::make_unique<One>();
    o->record.id = cat("x", all.size() + 1);
    o->record.number = all.size() + 1;
    o->record.client = spec.client;
    o->record.language = spec.language;
    o->record.command = spec.argv.empty() ? spec.code : join(spec.argv, " ");
    o->report.verdict.exit_code = 0;
    o->report.out = "hello\n";
    o->report.out_bytes = 6;
    o->spec = std::move(spec);
    all.push_back(std::move(o));
    if (end_at_once) end(last());
    return Submitted{last().record.id, false};
  }
  Result<Subscription> await(std::string_view id, Ended ended) override {
    One* o = one(id);
    if (o == nullptr) return make_error(ErrorCode::kNotFound, "no such execution");
    int key = ++keys_;
    o->waiters.emplace_back(key, ended);
    if (o->record.ended_already()) ended(o->record);
    return Subscription([o, key] { std::erase_if(o->waiters, [key](auto& w) { return w.first == key; }); });
  }
  std::optional<ExecutionRecord> find(std::string_view id) override {
    One* o = one(id);
    return o == nullptr ? std::nullopt : std::optional(o->record);
  }
  Result<void> kill(std::string_view id) override {
    One* o = one(id);
    if (o == nullptr) return make_error(ErrorCode::kNotFound, "no such execution");
    if (o->record.ended_already()) return make_error(ErrorCode::kInvalid, "it has ended already");
    o->killed = true;
    o->report.verdict = {ExitReason::kCancelled, std::nullopt, 9};
    end(*o);
    return {};
  }
  Result<Subscription> watch(std::string_view id, std::uint64_t, OnUpdate update) override {
    One* o = one(id);
    if (o == nullptr) return make_error(ErrorCode::kNotFound, "no such execution");
    int key = ++keys_;
    o->watchers.emplace_back(key, update);
    if (o->record.ended_already()) update({1, "done", o->result});
    return Subscription([o, key] { std::erase_if(o->watchers, [key](auto& w) { return w.first == key; }); });
  }
  Subscription watch_all(OnChange) override { return {}; }
  ExecutionsStats stats() const override { return {}; }
  const JobRules& rules() const override { return rules_; }
  void attach_strong(std::unique_ptr<RemoteLauncher>) override {}
  void refuse_strong(std::string) override {}
  void set_strong(bool works, std::string reason) override { rules_.strong = works, rules_.strong_reason = std::move(reason); }
  void set_rules(JobRules rules) override { rules_ = std::move(rules); }
  void drain(std::chrono::milliseconds, std::function<void()> drained) override { drained(); }

 private:
  int keys_ = 0;
  JobRules rules_;
};

// What FakeExecutions has seen.
class FakeHistory : public History {
 public:
  explicit FakeHistory(FakeExecutions& executions) : executions_(executions) {}

  void begin(ExecutionRecord, std::string, Committed) override {}
  void end(ExecutionRecord, ExecutionDetails, Committed) override {}
  void flush() override {}
  std::uint64_t last_number() const override { return executions_.all.size(); }
  std::uint64_t abandoned() const override { return 0; }
  Result<std::optional<ExecutionRecord>> find(std::string_view id) override { return executions_.find(id); }
  Result<std::optional<ExecutionRecord>> find_key(std::string_view, std::string_view) override {
    return std::optional<ExecutionRecord>();
  }
  Result<ExecutionDetails> details(std::string_view id) override {
    auto* o = executions_.one(id);
    if (o == nullptr) return make_error(ErrorCode::kNotFound, "no such execution");
    return ExecutionDetails{{}, o->result, {}, {}};
  }
  Result<std::vector<ExecutionRecord>> list(const HistoryQuery& query) override {
    std::vector<ExecutionRecord> out;
    for (auto o = executions_.all.rbegin(); o != executions_.all.rend() && out.size() < query.limit; ++o) {
      const auto& r = (*o)->record;
      if (query.before != 0 && r.number >= query.before) continue;
      if (!query.client.empty() && r.client != query.client) continue;
      if (!query.status.empty() && to_string(r.status) != query.status) continue;
      out.push_back(r);
    }
    return out;
  }
  Result<void> clean_up() override { return {}; }

 private:
  FakeExecutions& executions_;
};

struct Told {
  std::vector<std::string> notices;
  std::vector<std::string> answers;
  int status = 0;
  int times = 0;                    // answer() was called
  std::function<void()> closed;
  bool peer_gone = false;
};

class FakeReply : public Reply {
 public:
  explicit FakeReply(std::shared_ptr<Told> told) : told_(std::move(told)) {}
  bool notify(std::string_view json) override {
    told_->notices.emplace_back(json);
    return !told_->peer_gone;
  }
  void answer(int status, std::string json) override {
    told_->status = status;
    ++told_->times;
    if (!json.empty()) told_->answers.push_back(std::move(json));
  }
  void on_closed(std::function<void()> closed) override { told_->closed = std::move(closed); }

 private:
  std::shared_ptr<Told> told_;
};

// A whole server over the stand-ins.
struct Scene {
  FakeExecutions executions;
  FakeHistory history{executions};
  std::vector<std::function<void()>> posted;
  Caller caller;
  std::unique_ptr<McpServer> server;

  explicit Scene(bool fixtures = false) {
    McpServices services{.executions = executions, .history = history,
                         .post = [this](std::function<void()> f) { posted.push_back(std::move(f)); },
                         .verify = [](VerifyJob job, McpServices::Verified verified) {
                           Verification v;
                           v.safe = job.code.find("evil") == std::string::npos;
                           v.language = job.language;
                           if (!v.safe)
                             v.findings.push_back({"rule", "type", "error", job.file, "evil", "evil", "", 1, 1});
                           verified(v);
                         },
                         .inspect = [](InspectQuestion q, std::string, std::function<void(Result<std::string>)> done) {
                           std::string what = cat(q.as, " ", q.text, " ", join(q.kinds, ","), " ", join(q.allowed_domains, ","));
                           done(cat(R"({"safe":false,"level":"high","findings":[{"level":"high","rule":"r","offset":0,"message":)",
                                    json_string(what), "}]}"));
                         },
                         .languages = {}, .version = "1.2.3", .conformance_fixtures = fixtures};
    server = std::make_unique<McpServer>(std::move(services));
  }
  ~Scene() {
    server.reset();
    run_posted();
  }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;
  void run_posted() {
    for (auto& f : std::exchange(posted, {})) f();
  }
  std::shared_ptr<Told> send(std::string_view json, const Headers* headers = nullptr, std::string_view peer = "p") {
    auto told = std::make_shared<Told>();
    server->handle(json, headers, caller, peer, std::make_shared<FakeReply>(told));
    run_posted();
    return told;
  }
};

}  // namespace hotcell::server::mcp::testing
