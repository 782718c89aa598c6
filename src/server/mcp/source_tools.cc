// What can be said without running anything: verify_code, inspect, check_host, estimate_needs, list_languages.
#include "base/json_write.h"
#include "base/strings.h"
#include "cells/monitor/needs.h"
#include "core/policy/units.h"
#include "hotcell/language.h"
#include "server/mcp/arguments.h"
#include "server/mcp/outcome.h"
#include "server/mcp/tools.h"

namespace hotcell::server::mcp {

namespace {

constexpr std::string_view kReadOnly =
    R"({"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false})";

constexpr std::string_view kVerifyInput = R"({"type":"object","properties":{
"language":{"type":"string","description":"Told from the file's name or first line when it is left out."},
"code":{"type":"string"},
"file":{"type":"string","description":"What the code is called in the findings."},
"profile":{"type":"string","description":"Whose rules apply."}
},"required":["code"],"additionalProperties":false})";
constexpr std::string_view kVerifyOutput = R"({"type":"object","properties":{
"safe":{"type":"boolean","description":"No finding of severity error, and all of it could be read."},
"language":{"type":"string"},
"findings":{"type":"array","items":{"type":"object"}}},"required":["safe","language","findings"]})";
constexpr std::string_view kNeedsInput = R"({"type":"object","properties":{
"command":{"type":"string","description":"A line as a shell has it."}},"required":["command"],"additionalProperties":false})";
constexpr std::string_view kNeedsOutput = R"({"type":"object","properties":{
"memory_bytes":{"type":"integer"},"cpu_time_ns":{"type":"integer"},"timeout_ns":{"type":"integer"},
"because":{"type":"string","description":"Which words were recognised."}},"required":["memory_bytes","cpu_time_ns","timeout_ns","because"]})";
constexpr std::string_view kInspectInput = R"({"type":"object","properties":{
"text":{"type":"string","description":"What a tool or a page said."},
"command":{"type":"string","description":"A command line that somebody wants to run."},
"arguments":{"type":"object","description":"The arguments of a tool call: every string in them is looked at."},
"kinds":{"type":"array","items":{"type":"string","enum":["injection","egress","secrets","sql","traversal","c2","all"]}},
"allowed_domains":{"type":"array","items":{"type":"string"},"description":"Hosts that data may go to: a.org, *.a.org, .a.org."},
"rules":{"type":"string","description":"Rules of your own besides ours, YAML: a list of {id, kind, level, message, pattern}."}
},"additionalProperties":false})";
constexpr std::string_view kInspectOutput = R"({"type":"object","properties":{
"safe":{"type":"boolean","description":"Nothing of level medium or above."},
"level":{"type":"string","enum":["none","low","medium","high","critical"]},
"findings":{"type":"array","items":{"type":"object"}}},"required":["safe","level","findings"]})";
constexpr std::string_view kHostInput = R"({"type":"object","properties":{
"host":{"type":"string","description":"NAME, NAME:PORT or an address; without a port 443 is meant."}},"required":["host"],"additionalProperties":false})";
constexpr std::string_view kHostOutput = R"({"type":"object","properties":{
"host":{"type":"string"},"allowed":{"type":"boolean"},"rule":{"type":"string"},"reason":{"type":"string"},
"how":{"type":"string","description":"What would allow it."}},"required":["host","allowed","reason"]})";
constexpr std::string_view kNothing = R"({"type":"object","properties":{},"additionalProperties":false})";
constexpr std::string_view kLanguagesOutput = R"({"type":"object","properties":{
"languages":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},
"usable":{"type":"boolean","description":"Everything it needs is installed here."},"compiled":{"type":"boolean"}},
"required":["name"]}}},"required":["languages"]})";

void answer_verified(const CallPtr& call, const VerifyJob& job, const Result<Verification>& verified) {
  if (!verified.ok()) return call->finish_error(verified.error().message);
  const Verification& v = verified.value();
  auto json = parse_json(verification_json({&v, 1}), kResultBounds);  // may have line ends, a message must not
  if (!json.ok()) return call->fail({kInternalError, "the findings cannot be read", {}});
  ToolResult to;
  to.structured = json_text(json.value());
  std::string text = verification_text(v, job.code);
  if (text.size() > kMostText) text = cat(text.substr(0, kMostText), "\n[cut]");
  to.texts.push_back(text.empty() ? "safe: no findings" : std::move(text));
  call->finish(std::move(to));
}

void verify_code(const CallPtr& call) {
  Arguments a(call->arguments());
  VerifyJob job;
  job.language = a.string("language");
  job.code = a.string("code");
  job.file = a.string("file");
  job.profile = a.string("profile");
  if (!a.has("code")) a.mistake("code is missing");
  if (auto done = a.done(); !done.ok()) return call->finish_error(cat("verify_code: ", done.error().message));
  if (!call->services().verify) return call->finish_error("code cannot be verified here");
  std::weak_ptr<Call> weak = call;
  call->services().verify(job, [weak, job](Result<Verification> verified) {
    if (auto asker = weak.lock(); asker && !asker->finished()) answer_verified(asker, job, verified);
  });
}

void answer_inspected(const CallPtr& call, const Result<std::string>& inspected) {
  if (!inspected.ok()) return call->finish_error(cat("inspect: ", inspected.error().message));
  auto json = parse_json(inspected.value(), kResultBounds);
  if (!json.ok()) return call->fail({kInternalError, "the findings cannot be read", {}});
  ToolResult to;
  to.structured = json_text(json.value());
  std::string text;
  for (const JsonValue& finding : json.value().items("findings"))
    text += cat(finding.text("level"), ": ", finding.text("message"), " [", finding.text("rule"), "] at ", finding.integer_or("offset", 0), "\n");
  if (text.size() > kMostText) text = cat(text.substr(0, kMostText), "\n[cut]");
  to.texts.push_back(text.empty() ? "safe: no findings" : std::move(text));
  call->finish(std::move(to));
}

void inspect(const CallPtr& call) {
  Arguments a(call->arguments());
  InspectQuestion question;
  int forms = 0;
  for (std::string_view form : {"text", "command"}) {
    std::string value = a.string(form);
    if (!a.has(form)) continue;
    ++forms;
    question.as = form;
    question.text = std::move(value);
  }
  if (const JsonValue* arguments = a.object("arguments")) {
    ++forms;
    question.as = "arguments";
    question.text = json_text(*arguments);
  }
  question.kinds = a.strings("kinds");
  question.allowed_domains = a.strings("allowed_domains");
  if (std::string rules = a.string("rules"); !rules.empty()) question.rules.emplace_back("rules", std::move(rules));
  if (forms != 1) a.mistake("one of text, command and arguments is needed");
  if (auto done = a.done(); !done.ok()) return call->finish_error(cat("inspect: ", done.error().message));
  if (!call->services().inspect) return call->finish_error("texts cannot be inspected here");
  std::weak_ptr<Call> weak = call;
  call->services().inspect(std::move(question), call->caller().name, [weak](Result<std::string> inspected) {
    if (auto asker = weak.lock(); asker && !asker->finished()) answer_inspected(asker, inspected);
  });
}

void check_host(const CallPtr& call) {
  Arguments a(call->arguments());
  const std::string host = a.string("host");
  if (host.empty()) a.mistake("host is missing");
  if (auto done = a.done(); !done.ok()) return call->finish_error(cat("check_host: ", done.error().message));
  auto said = call->services().check_host ? call->services().check_host(host) : make_error(ErrorCode::kUnsupported, "programs have no network here");
  if (!said.ok()) return call->finish_error(cat("check_host: ", said.error().message));
  auto json = parse_json(said.value());
  if (!json.ok()) return call->fail({kInternalError, "the decision cannot be read", {}});
  ToolResult to;
  to.structured = json_text(json.value());
  to.texts.push_back(std::string(json.value().text("reason")));
  call->finish(std::move(to));
}

void estimate_needs(const CallPtr& call) {
  Arguments a(call->arguments());
  const std::string command = a.string("command");
  if (command.empty()) a.mistake("command is missing");
  if (auto done = a.done(); !done.ok()) return call->finish_error(cat("estimate_needs: ", done.error().message));
  const cells::Needs needs = cells::estimate_needs(command);
  ToolResult to;
  to.structured = cells::needs_json(needs);
  to.texts.push_back(cat("memory ", format_bytes(needs.memory), ", CPU time ", needs.cpu.count(), " s, ", needs.wall.count(), " s in all",
                         needs.because.empty() ? "" : cat(" (", needs.because, ")")));
  call->finish(std::move(to));
}

// What the program was built with; whether its tools are installed here is not known yet.
std::string registry_json() {
  JsonWriter w;
  w.begin_array();
  for (const Language* language : languages()) {
    w.begin_object();
    w.field("name", language->name);
    w.field("compiled", language->compile != nullptr);
    w.field("default_profile", language->default_profile);
    for (auto [key, list] : {std::pair{"aliases", language->aliases}, std::pair{"extensions", language->extensions}}) {
      w.key(key);
      w.begin_array();
      for (auto word : list) w.value(word);
      w.end_array();
    }
    w.end_object();
  }
  w.end_array();
  return w.take();
}

void list_languages(const CallPtr& call) {
  Arguments a(call->arguments());
  if (auto done = a.done(); !done.ok()) return call->finish_error(cat("list_languages: ", done.error().message));
  std::optional<std::string> known;
  if (call->services().languages) known = call->services().languages();
  auto list = parse_json(known ? *known : registry_json());
  if (!list.ok() || list.value().array() == nullptr) list = parse_json(registry_json());
  if (!list.ok()) return call->fail({kInternalError, "the languages cannot be read", {}});
  ToolResult to;
  to.structured = cat("{\"languages\":", json_text(list.value()), "}");
  std::string text;
  for (const JsonValue& language : *list.value().array())
    text += cat(language.text("name"), language.boolean_or("usable", true) ? "" : " (not installed)", "\n");
  to.texts.push_back(std::move(text));
  call->finish(std::move(to));
}

}  // namespace

std::span<const Tool> source_tools() {
  static const Tool kTools[] = {
      {"verify_code", "Check code without running it",
       "Reads code for what its profile would rather not see: dangerous calls, modules, paths and hosts, with line and "
       "fix. Advice: the sandbox holds whatever was read.",
       kVerifyInput, kVerifyOutput, kReadOnly, ToolNeeds::kRead, verify_code},
      {"inspect", "Look for attacks in a text, a command or arguments",
       "Says whether a tool's output tries to steer its reader (prompt injection), whether a command or arguments would "
       "carry data out, and which secrets a text holds. Advice: the sandbox and its proxy hold whatever was read.",
       kInspectInput, kInspectOutput, kReadOnly, ToolNeeds::kRead, inspect},
      {"check_host", "Ask whether a host may be reached",
       "Whether a program that is given the network may reach this host through the proxy, by which rule, and what would allow it.",
       kHostInput, kHostOutput, kReadOnly, ToolNeeds::kRead, check_host},
      {"estimate_needs", "Guess what a command needs", "How much memory and time a command line will probably need, by the names in it. Decides nothing.",
       kNeedsInput, kNeedsOutput, kReadOnly, ToolNeeds::kRead, estimate_needs},
      {"list_languages", "List languages", "The languages that run_code knows, and whether each can be used here.",
       kNothing, kLanguagesOutput, kReadOnly, ToolNeeds::kRead, list_languages},
  };
  return kTools;
}

}  // namespace hotcell::server::mcp
