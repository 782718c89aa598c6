// The three routes of code-sandbox, so that its clients can come here as they are.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/json_write.h"
#include "base/strings.h"
#include "server/json/base64_decode.h"
#include "server/http/door_words.h"
#include "server/rest/errors.h"
#include "server/rest/json_reader.h"
#include "server/rest/query.h"
#include "server/rest/routes.h"
#include "server/rest/wait.h"

namespace hotcell::server {

namespace {

constexpr std::array<std::string_view, 2> kFields = {"code", "timeout"};
constexpr double kUsual = 10, kMost = 30;   // seconds
constexpr Bytes kOutput = 50_KiB;
constexpr std::string_view kCut = "\n[output truncated at 50 KB]";

struct Asked {
  std::string code;
  double timeout = kUsual;
};

Result<Asked> read_request(std::string_view text) {
  TRY_SET(auto body, parse_body(text));
  TRY_SET(auto reader, JsonReader::of(body, "", kFields));
  Asked asked;
  std::optional<double> timeout;
  if (reader.find("code") == nullptr) return make_error(ErrorCode::kInvalid, "code is required");
  TRY(reader.read("code", asked.code));
  TRY(reader.read("timeout", timeout));
  asked.timeout = timeout.value_or(kUsual);
  if (!(asked.timeout > 0 && asked.timeout <= kMost))
    return make_error(ErrorCode::kInvalid, "timeout must be more than 0 and at most 30");
  return asked;
}

// The shape in which FastAPI says that a body does not fit.
HttpResponse does_not_fit(std::string_view message) {
  JsonWriter w;
  w.begin_object();
  w.key("detail");
  w.begin_array();
  w.begin_object();
  w.field("type", "value_error");
  w.key("loc");
  w.begin_array();
  w.value("body");
  w.end_array();
  w.field("msg", message);
  w.end_object();
  w.end_array();
  w.end_object();
  return json_answer(w.take(), 422);
}

HttpResponse refused(int status, std::string_view message, const std::vector<std::string>* violations = nullptr) {
  JsonWriter w;
  w.begin_object();
  w.field("error", message);
  if (violations != nullptr) {
    w.key("violations");
    w.begin_array();
    for (const auto& v : *violations) w.value(v);
    w.end_array();
  }
  w.end_object();
  return json_answer(w.take(), status);
}

std::string text_of(const JsonValue& result, const std::string& name) {
  if (const auto* text = result.find(name); text != nullptr && text->string() != nullptr) return *text->string();
  const auto* encoded = result.find(name + "_base64");
  if (encoded == nullptr || encoded->string() == nullptr) return {};
  return base64_decode(*encoded->string()).value_or("");
}

std::string stream_of(const JsonValue& result, const std::string& name) {
  std::string text = text_of(result, name);
  const auto* cut = result.find(name + "_truncated");
  const bool* truth = cut == nullptr ? nullptr : std::get_if<bool>(&cut->v);
  if (truth != nullptr && *truth) text += kCut;
  return text;
}

std::vector<std::string> violations_of(const JsonValue& result) {
  std::vector<std::string> out;
  const auto* findings = result.find("findings");
  if (findings == nullptr || findings->array() == nullptr) return out;
  for (const auto& f : *findings->array()) {
    if (text_of(f, "severity") != "error") continue;
    const auto* line = f.find("line");
    const auto* number = line == nullptr ? nullptr : std::get_if<std::int64_t>(&line->v);
    out.push_back(number != nullptr && *number > 0 ? cat("Line ", *number, ": ", text_of(f, "message")) : text_of(f, "message"));
  }
  return out;
}

// As Python prints a float: 10.0, 2.5.
std::string python_float(double number) {
  char text[32];
  std::snprintf(text, sizeof text, "%.12g", number);
  std::string out = text;
  return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
}

HttpResponse answer_of(const ExecutionRecord& record, const std::string& text, double timeout) {
  auto parsed = parse_json(text, JsonBounds{64, 10'000'000});
  if (!parsed.ok() || record.exit_reason == "sandbox_error")
    return refused(500, record.error.empty() ? "the sandbox failed" : record.error);
  const JsonValue& result = parsed.value();
  if (record.exit_reason == "verification") {
    auto violations = violations_of(result);
    return refused(400, "Code validation failed", &violations);
  }
  // Its clients know two streams and no more: an output that a profile withholds is said in one of them.
  const JsonValue* inspection = result.find("inspection");
  const std::string withheld = inspection != nullptr && inspection->boolean_or("withheld", false) ? std::string(inspection->text("message")) : std::string();
  const bool timed_out = record.exit_reason == "timeout_wall" || record.exit_reason == "timeout_cpu";
  JsonWriter w;
  w.begin_object();
  w.field("stdout", stream_of(result, "stdout"));
  w.field("stderr", timed_out ? cat("Execution timed out after ", python_float(timeout), "s") : !withheld.empty() ? withheld : stream_of(result, "stderr"));
  // Python's way to say "by a signal".
  w.field("exit_code", timed_out ? -9 : record.exit_code.value_or(-record.signal.value_or(9)));
  w.field("timed_out", timed_out);
  w.end_object();
  return json_answer(w.take());
}

void execute(Services& services, ExchangePtr exchange) {
  auto asked = read_request(exchange->request().body);
  if (!asked.ok()) return exchange->respond(does_not_fit(asked.error().message));
  if (asked.value().code.find_first_not_of(" \t\r\n\f\v") == std::string::npos)
    return exchange->respond(refused(400, "No code provided"));
  const double timeout = asked.value().timeout;
  JobSpec spec;
  spec.door = "code-sandbox";
  spec.client = exchange->request().caller.name;
  spec.max_running = exchange->request().caller.max_running;
  spec.trace_parent = trace_parent(exchange->request());
  spec.language = "python";
  spec.code = std::move(asked.value().code);
  spec.profile = services.code_sandbox_profile;
  spec.timeout = std::chrono::duration_cast<Nanoseconds>(std::chrono::duration<double>(timeout));
  // What only takes long or much ran until its limit there, and its clients expect that.
  spec.rules_off = {"python-endless-loop", "python-huge-loop", "python-huge-allocation", "python-deadlock"};
  spec.limits.output = kOutput;
  spec.on_output = OnOutput::kTruncate;
  auto submitted = services.executions.submit(std::move(spec));
  if (!submitted.ok()) {
    auto answer = submit_error(submitted.error(), services.executions.stats());
    auto said = refused(answer.status, door_words(submitted.error().message));
    said.headers = std::move(answer.headers);
    return exchange->respond(std::move(said));
  }
  answer_at_end(services, exchange, submitted.value().id, WhenClosed::kKill,
                [timeout](const ExecutionRecord& record, const std::string& result) { return answer_of(record, result, timeout); });
}

void list(JsonWriter& w, std::string_view name, const std::vector<std::string>& items) {
  w.key(name);
  w.begin_array();
  for (const auto& item : items) w.value(item);
  w.end_array();
}

void profile(Services& services, ExchangePtr exchange) {
  auto policy = load_profile(services.code_sandbox_profile, services.executions.rules().profiles);
  if (!policy.ok()) return exchange->respond(error_answer(policy.error()));
  auto imports = policy.value().imports_allowed;
  std::sort(imports.begin(), imports.end());
  JsonWriter w;
  w.begin_object();
  w.field("name", policy.value().name);
  w.field("description", policy.value().description);
  list(w, "allowed_imports", imports);
  w.field("blocklist_entries", policy.value().blocklist.size());
  w.key("scan_stages");
  w.begin_object();
  list(w, "pre", policy.value().stages_pre);
  list(w, "post", policy.value().stages_post);
  w.end_object();
  w.end_object();
  exchange->respond(json_answer(w.take()));
}

}  // namespace

void add_code_sandbox_routes(RouteList& routes, Services& services) {
  routes.push_back({"POST", "/execute", Scope::kRun, [&services](ExchangePtr x) { execute(services, std::move(x)); }});
  routes.push_back({"GET", "/profile", Scope::kRead, [&services](ExchangePtr x) { profile(services, std::move(x)); }});
  routes.push_back({"GET", "/healthz", Scope::kNone,
                    [](ExchangePtr x) { x->respond(json_answer(R"({"status":"ok"})")); }});
}

}  // namespace hotcell::server
