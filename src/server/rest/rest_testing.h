// The routes with their neighbours replaced: an exchange in memory, executions that end when the test says so.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/remote/remote_launcher.h"
#include "server/json/json_value.h"
#include "server/rest/routes.h"

namespace hotcell::server::testing {

class MemoryExchange : public Exchange {
 public:
  explicit MemoryExchange(HttpRequest request) : request_(std::move(request)) {}
  const HttpRequest& request() const override { return request_; }
  void respond(HttpResponse response) override { answer = std::move(response); }
  void start(HttpResponse head) override {
    streamed = head.body;
    answer = std::move(head);
  }
  bool write(std::string_view piece) override {
    if (reads) streamed += piece;
    return reads;
  }
  void finish() override { finished = true; }
  void on_closed(std::function<void()> closed) override { closed_ = std::move(closed); }

  void close() {
    if (auto closed = std::move(closed_)) closed();
  }
  std::string header(std::string_view name) const;

  std::optional<HttpResponse> answer;
  std::string streamed;
  bool reads = true, finished = false;

 private:
  HttpRequest request_;
  std::function<void()> closed_;
};
using MemoryExchangePtr = std::shared_ptr<MemoryExchange>;

class FakeExecutions : public Executions {
 public:
  void attach(std::unique_ptr<RemoteLauncher>) override {}
  void verify(VerifyQuestion, std::function<void(Verification)>) override {}
  void inspect(InspectQuestion, std::function<void(Result<std::string>)>) override {}
  Result<Submitted> submit(JobSpec spec) override;
  Result<Subscription> await(std::string_view id, Ended ended) override;
  std::optional<ExecutionRecord> find(std::string_view id) override;
  Result<void> kill(std::string_view id) override;
  Result<Subscription> watch(std::string_view id, std::uint64_t after, OnUpdate update) override;
  Subscription watch_all(OnChange change) override;
  ExecutionsStats stats() const override { return now; }
  const JobRules& rules() const override { return rules_; }
  void attach_strong(std::unique_ptr<RemoteLauncher>) override {}
  void refuse_strong(std::string) override {}
  void set_strong(bool works, std::string reason) override { rules_.strong = works, rules_.strong_reason = std::move(reason); }
  void set_rules(JobRules rules) override { rules_ = std::move(rules); }
  void drain(std::chrono::milliseconds, std::function<void()> drained) override { drained(); }

  void end(const std::string& id, std::string exit_reason, std::optional<int> exit_code);
  void tell(const std::string& id, Update update);

  ExecutionsStats now;
  JobRules rules_;
  std::optional<Error> refuse;
  std::vector<JobSpec> specs;
  std::vector<std::string> killed;
  std::map<std::string, ExecutionRecord> records;
  std::map<std::string, Ended> waiting;
  std::map<std::string, OnUpdate> watching;
  std::map<std::string, std::uint64_t> watched_after;
  OnChange on_change;
  int ended_subscriptions = 0;
};

class FakeHistory : public History {
 public:
  void begin(ExecutionRecord, std::string, Committed) override {}
  void end(ExecutionRecord, ExecutionDetails, Committed) override {}
  void flush() override {}
  std::uint64_t last_number() const override { return 0; }
  std::uint64_t abandoned() const override { return 0; }
  Result<std::optional<ExecutionRecord>> find(std::string_view) override { return std::optional<ExecutionRecord>(); }
  Result<std::optional<ExecutionRecord>> find_key(std::string_view, std::string_view) override {
    return std::optional<ExecutionRecord>();
  }
  Result<ExecutionDetails> details(std::string_view id) override { return all[std::string(id)]; }
  Result<std::vector<ExecutionRecord>> list(const HistoryQuery& query) override {
    asked = query;
    return rows;
  }
  Result<void> clean_up() override { return {}; }

  std::map<std::string, ExecutionDetails> all;
  std::vector<ExecutionRecord> rows;
  HistoryQuery asked;
};

class RestWorld {
 public:
  RestWorld();
  ~RestWorld();   // as a server does: closes every connection while everything else is still there
  // "?…" of the target becomes the query; the answer may come later.
  MemoryExchangePtr send(std::string method, std::string target, std::string body = {},
                         std::vector<std::pair<std::string, std::string>> headers = {});
  void run_posted();

  FakeExecutions executions;
  FakeHistory history;
  Metrics metrics;
  Config config;
  Caller caller;
  std::vector<AuditNote> notes;
  std::map<std::string, std::string> saved;
  std::vector<KeyRow> keys;
  std::vector<std::function<void()>> timers;
  std::deque<std::function<void()>> posted;
  std::optional<Verification> verification;
  std::optional<VerifyQuestion> question;
  std::vector<MemoryExchangePtr> sent;
  Services services;
  Router router;
};

int status_of(const MemoryExchangePtr& exchange);               // 0: not answered yet
std::string message_of(const MemoryExchangePtr& exchange);      // "message" of the body
JsonValue json_of(const MemoryExchangePtr& exchange);
// What is not there, or is of another kind, is null or empty.
const JsonValue& at(const JsonValue& value, std::string_view name);
const JsonValue::Array& items_at(const JsonValue& value, std::string_view name);
const JsonValue::Object& members_of(const JsonValue& value);
std::string text_at(const JsonValue& value, std::string_view name);
std::optional<std::int64_t> number_at(const JsonValue& value, std::string_view name);

}  // namespace hotcell::server::testing
