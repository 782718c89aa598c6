// What rest_testing.h promises. A *_test.cc, so that it is built into the tests alone.
#include "server/rest/rest_testing.h"

#include <algorithm>

#include "base/strings.h"

namespace hotcell::server::testing {

std::string MemoryExchange::header(std::string_view name) const {
  if (!answer) return {};
  for (const auto& [key, value] : answer->headers)
    if (key == name) return value;
  return {};
}

Result<Executions::Submitted> FakeExecutions::submit(JobSpec spec) {
  if (refuse) return *refuse;
  const std::string id = cat("id-", specs.size() + 1);
  ExecutionRecord record;
  record.id = id;
  record.number = specs.size() + 1;
  record.client = spec.client;
  record.door = spec.door;
  record.created = std::chrono::system_clock::now();
  for (const auto& [other, known] : records) {
    if (!spec.idempotency_key.empty() && known.idempotency_key == spec.idempotency_key) return Submitted{other, true};
  }
  record.idempotency_key = spec.idempotency_key;
  records[id] = record;
  specs.push_back(std::move(spec));
  return Submitted{id, false};
}

Result<Subscription> FakeExecutions::await(std::string_view id, Ended ended) {
  if (!records.contains(std::string(id))) return make_error(ErrorCode::kNotFound, "execution not found");
  waiting[std::string(id)] = std::move(ended);
  return Subscription([this, key = std::string(id)] { ++ended_subscriptions; waiting.erase(key); });
}

std::optional<ExecutionRecord> FakeExecutions::find(std::string_view id) {
  auto found = records.find(std::string(id));
  return found == records.end() ? std::nullopt : std::optional(found->second);
}

Result<void> FakeExecutions::kill(std::string_view id) {
  auto found = records.find(std::string(id));
  if (found == records.end()) return make_error(ErrorCode::kNotFound, "execution not found");
  if (found->second.ended_already()) return make_error(ErrorCode::kInvalid, "execution has ended");
  killed.emplace_back(id);
  return {};
}

Result<Subscription> FakeExecutions::watch(std::string_view id, std::uint64_t after, OnUpdate update) {
  if (!records.contains(std::string(id))) return make_error(ErrorCode::kNotFound, "execution not found");
  watching[std::string(id)] = std::move(update);
  watched_after[std::string(id)] = after;
  return Subscription([this, key = std::string(id)] { ++ended_subscriptions; watching.erase(key); });
}

Subscription FakeExecutions::watch_all(OnChange change) {
  on_change = std::move(change);
  return Subscription([this] { ++ended_subscriptions; on_change = nullptr; });
}

void FakeExecutions::end(const std::string& id, std::string exit_reason, std::optional<int> exit_code) {
  auto& record = records[id];
  record.exit_reason = std::move(exit_reason);
  record.exit_code = exit_code;
  record.status = exit_code == 0 ? RunStatus::kCompleted : RunStatus::kFailed;
  record.ended = std::chrono::system_clock::now();
  auto found = waiting.find(id);
  if (found == waiting.end()) return;
  auto callback = std::move(found->second);
  waiting.erase(found);
  callback(record);
}

void FakeExecutions::tell(const std::string& id, Update update) {
  auto found = watching.find(id);
  if (found != watching.end()) found->second(update);
}

RestWorld::RestWorld() : services{executions, history, metrics, config} {
  executions.now.launcher_up = true;
  services.audit.append = [this](AuditNote note) { notes.push_back(std::move(note)); };
  services.audit.page = [](std::size_t, std::uint64_t) -> Result<AuditPage> { return AuditPage{{R"({"a":1})", R"({"a":2})"}, 7}; };
  services.audit.check = [](auto done) { done(AuditCheck{true, 12, 0, ""}); };
  services.keys.list = [this]() -> Result<std::vector<KeyRow>> { return keys; };
  services.keys.create = [this](const KeyRow& key) -> Result<std::string> {
    keys.push_back(key);
    return std::string("hc_secret");
  };
  services.keys.revoke = [this](std::string_view name) -> Result<void> {
    if (std::erase_if(keys, [&](const KeyRow& key) { return key.name == name; }) == 0)
      return make_error(ErrorCode::kNotFound, "no such key");
    return {};
  };
  services.settings.get = [this](std::string_view section) -> Result<std::optional<std::string>> {
    auto found = saved.find(std::string(section));
    return found == saved.end() ? std::optional<std::string>() : std::optional(found->second);
  };
  services.settings.put = [this](std::string_view section, std::string json) -> Result<void> {
    saved[std::string(section)] = std::move(json);
    return {};
  };
  services.verify = [this](VerifyQuestion asked, std::function<void(Verification)> done) {
    question = std::move(asked);
    if (verification) done(*verification);
  };
  services.post = [this](std::function<void()> work) { posted.push_back(std::move(work)); };
  services.every = [this](std::chrono::milliseconds, std::function<void()> work) {
    timers.push_back(std::move(work));
    return Subscription([this, index = timers.size() - 1] { timers[index] = nullptr; });
  };
  services.facts_folder = "/nonexistent";
  add_rest(router, services);
}

MemoryExchangePtr RestWorld::send(std::string method, std::string target, std::string body,
                                  std::vector<std::pair<std::string, std::string>> headers) {
  HttpRequest request;
  request.method = method;
  request.target = target;
  auto question_mark = target.find('?');
  request.path = target.substr(0, question_mark);
  if (question_mark != std::string::npos) {
    for (auto pair : split(std::string_view(target).substr(question_mark + 1), '&')) {
      auto equals = pair.find('=');
      request.query.emplace_back(pair.substr(0, equals), equals == std::string_view::npos ? "" : pair.substr(equals + 1));
    }
  }
  request.headers = std::move(headers);
  request.body = std::move(body);
  request.caller = caller;
  auto match = router.match(method, request.path);
  request.params = match.params;
  auto exchange = std::make_shared<MemoryExchange>(std::move(request));
  sent.push_back(exchange);
  if (match.handler != nullptr) (*match.handler)(exchange);
  else exchange->respond(error_response(match.allowed.empty() ? 404 : 405, "no such route"));
  return exchange;
}

RestWorld::~RestWorld() {
  for (auto& exchange : sent) exchange->close();
  run_posted();
  sent.clear();
}

void RestWorld::run_posted() {
  while (!posted.empty()) {
    auto work = std::move(posted.front());
    posted.pop_front();
    work();
  }
}

int status_of(const MemoryExchangePtr& exchange) { return exchange->answer ? exchange->answer->status : 0; }

JsonValue json_of(const MemoryExchangePtr& exchange) {
  if (!exchange->answer) return {};
  return parse_json(exchange->answer->body, JsonBounds{64, 1'000'000}).value_or(JsonValue{});
}

const JsonValue& at(const JsonValue& value, std::string_view name) {
  static const JsonValue kNull;
  const auto* found = value.find(name);
  return found == nullptr ? kNull : *found;
}

const JsonValue::Array& items_at(const JsonValue& value, std::string_view name) {
  static const JsonValue::Array kNone;
  const auto* items = at(value, name).array();
  return items == nullptr ? kNone : *items;
}

const JsonValue::Object& members_of(const JsonValue& value) {
  static const JsonValue::Object kNone;
  const auto* members = value.object();
  return members == nullptr ? kNone : *members;
}

std::string text_at(const JsonValue& value, std::string_view name) {
  const std::string* text = at(value, name).string();
  return text == nullptr ? "" : *text;
}

std::optional<std::int64_t> number_at(const JsonValue& value, std::string_view name) {
  const auto* number = std::get_if<std::int64_t>(&at(value, name).v);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::string message_of(const MemoryExchangePtr& exchange) { return text_at(json_of(exchange), "message"); }

}  // namespace hotcell::server::testing
