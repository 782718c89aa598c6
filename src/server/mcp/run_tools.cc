// run_code and run_command: a program in a fresh cell.
#include <chrono>

#include "base/strings.h"
#include "server/mcp/arguments.h"
#include "server/mcp/outcome.h"
#include "server/mcp/sandbox_tools.h"
#include "server/mcp/tools.h"

namespace hotcell::server::mcp {

namespace {

// What both tools take, as properties of their schemas.
constexpr std::string_view kRunProperties =
    HOTCELL_SANDBOX_ID("Run it in this sandbox (create_sandbox, cell_create), which keeps its files, and not in a fresh one. What it may do was said when it was made.") R"(,
"stdin":{"type":"string","description":"Text the program reads from standard input."},
"files":{"description":"Files in the working folder before the program starts: {\"name\":\"text\"}, or a list with encodings.",
"anyOf":[{"type":"object","additionalProperties":{"type":"string"}},
{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"content":{"type":"string"},
"encoding":{"type":"string","enum":["utf8","base64"]},"executable":{"type":"boolean"}},
"required":["name","content"],"additionalProperties":false}}]},
"env":{"type":"object","additionalProperties":{"type":"string"},"description":"Environment variables."},
"timeout_ms":{"type":"integer","minimum":1,"maximum":86400000,"description":"Wall time; the server's maximum still holds."},
"profile":{"type":"string","description":"Name of a policy profile, such as default, strict or dev."},
"tier":{"type":"string","enum":["light","strong"],"description":"How strongly the cell is isolated."},
"network":{"type":"boolean","description":"true: a network, false: none, whatever this server gives to whoever does not say (none, unless it is configured to)."},
"secrets":{"type":"object","additionalProperties":{"type":"string"},"description":"{\"NAME@host\":\"value\"}: with network, the variable NAME is a placeholder; the value is put in for it in requests to that host alone, and never seen by the program."},
"allow_domains":{"type":"array","items":{"type":"string"},"description":"With network: only these hosts, within the server's configuration (host, *.d, .d, with :PORT)."},
"block_domains":{"type":"array","items":{"type":"string"},"description":"With network: not these."},
"limits":{"type":"object","description":"May tighten what the server allows: sizes such as \"256M\", times in seconds.",
"properties":{"memory":{"type":"string"},"disk":{"type":"string"},"output":{"type":"string"},
"cpu_time":{"type":"number"},"wall":{"type":"number"},"cpus":{"type":"number"},
"processes":{"type":"integer"},"open_files":{"type":"integer"}},"additionalProperties":false},
"inspect":{"type":"string","enum":["report","mark","block"],"description":"Look for prompt injection, exfiltration and secrets in the output: report tells what is there, mark puts marks around those lines, block withholds all output then."},
"explain_denials":{"type":"boolean","description":"Also record every file that was refused (slower); read them with explain_denial."},
"background":{"type":"boolean","description":"Return at once with the id; ask get_execution for the result."})";

constexpr std::string_view kCodeProperties = R"({"type":"object","properties":{
"language":{"type":"string","description":"python, bash, javascript, typescript, c, cpp, rust, go, java, perl, ruby; see list_languages."},
"code":{"type":"string","description":"The whole program."},
"args":{"type":"array","items":{"type":"string"},"description":"Arguments of the program."},
"rich":{"type":"boolean","description":"Bring back figures, tables and the value of the last expression (Python)."},
"verify":{"type":"boolean","description":"Read the code for dangerous constructs first; true by default."},
)";

constexpr std::string_view kCommandProperties = R"({"type":"object","properties":{
"command":{"type":"string","description":"A shell command, run by /bin/sh -c. Give this or argv."},
"argv":{"type":"array","items":{"type":"string"},"minItems":1,"description":"A program and its arguments, without a shell."},
"cwd":{"type":"string","description":"Working folder inside the cell; /work by default."},
)";

constexpr std::string_view kAnnotations =
    R"({"readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false})";

void read_common(Arguments& a, JobSpec& spec) {
  spec.stdin_bytes = a.string("stdin");
  spec.files = a.files("files");
  spec.env = a.string_map("env");
  if (auto ms = a.integer("timeout_ms", 1, 86'400'000)) spec.timeout = std::chrono::milliseconds(*ms);
  spec.profile = a.string("profile");
  spec.tier = a.string("tier");
  spec.network = a.boolean("network");
  spec.secrets = a.string_map("secrets");
  if (auto allow = a.strings("allow_domains"); a.has("allow_domains")) spec.allow_domains = std::move(allow);
  spec.block_domains = a.strings("block_domains");
  spec.limits = a.limits("limits");
  (void)a.string("sandbox_id");  // null
  spec.explain_denials = a.boolean("explain_denials").value_or(false);
  spec.inspect = a.inspect("inspect");
}

// Progress as people want it: that it runs, what it wrote last, what it uses. Not more often than somebody can read.
class ProgressTeller {
 public:
  explicit ProgressTeller(std::weak_ptr<Call> call) : call_(std::move(call)) {}

  void tell(const Update& update) {
    auto call = call_.lock();
    if (!call || !call->wants_progress()) return;
    bool output = update.type == "stdout" || update.type == "stderr", usage = update.type == "usage";
    if (!output && !usage && update.type != "state") return;
    auto now = std::chrono::steady_clock::now();
    auto pause = output ? std::chrono::milliseconds(200) : std::chrono::milliseconds(usage ? 1000 : 0);
    if (now - last_ < pause) return;
    last_ = now;
    auto data = parse_json(update.data);
    if (data.ok()) call->progress(sentence(update.type, data.value()));
  }

 private:
  static std::string sentence(std::string_view type, const JsonValue& data) {
    if (type == "state") return std::string(data.text("status"));
    if (type == "usage")
      return cat("running for ", data.integer_or("elapsed_ms", 0) / 1000, " s, ",
                 data.integer_or("memory_bytes", 0) >> 20, " MiB");
    std::string_view text = trim(data.text("text"));
    text = text.substr(text.rfind('\n') + 1);
    return cat(type, ": ", text.empty() ? "…" : text.substr(0, 200));
  }

  std::weak_ptr<Call> call_;
  std::chrono::steady_clock::time_point last_{};
};

void start(const CallPtr& call, JobSpec spec, bool background) {
  spec.door = "mcp";
  spec.client = call->caller().name;
  spec.trace_parent = call->trace_parent;
  spec.max_running = call->caller().max_running;
  spec.recorded_first = background;  // whoever is told the id must find it again
  spec.on_output = OnOutput::kTruncate;
  Executions& executions = call->services().executions;
  auto submitted = executions.submit(std::move(spec));
  if (!submitted.ok()) {
    const Error& error = submitted.error();
    return call->finish_error(error.code == ErrorCode::kLimit ? cat(error.message, "; try again later")
                                                              : error.message);
  }
  std::string id = submitted.value().id;
  if (background) {
    auto record = executions.find(id);
    if (!record) return call->finish_error("the execution is gone already");
    return call->finish(record_outcome(*record));
  }
  // The program dies with whoever waits for it.
  call->on_cancel = [&executions, id] { executions.kill(id).ignore("it may just have ended"); };
  std::weak_ptr<Call> weak = call;
  auto teller = std::make_shared<ProgressTeller>(weak);
  auto watching = executions.watch(id, 0, [weak, teller](const Update& update) {
    auto waiter = weak.lock();
    if (!waiter || waiter->finished()) return;
    if (update.type != "done") return teller->tell(update);
    auto result = parse_json(update.data, kResultBounds);
    if (!result.ok()) return waiter->fail({kInternalError, "the result cannot be read", {}});
    waiter->finish(run_outcome(result.value(), {}));
  });
  if (!watching.ok()) return call->finish_error(watching.error().message);
  // A short program may have ended within watch(); then this ends the subscription at once, else it is kept.
  if (!call->finished()) call->subscription = std::move(watching).value();
}

void run_code(const CallPtr& call) {
  if (wants_sandbox(call)) return run_code_in_sandbox(call);
  Arguments a(call->arguments());
  JobSpec spec;
  spec.language = a.string("language");
  spec.code = a.string("code");
  spec.args = a.strings("args");
  spec.rich = a.boolean("rich").value_or(false);
  spec.verify = a.boolean("verify").value_or(true);
  read_common(a, spec);
  bool background = a.boolean("background").value_or(false);
  if (spec.language.empty()) a.mistake("language is missing");
  if (!a.has("code")) a.mistake("code is missing");
  if (auto done = a.done(); !done.ok()) return call->finish_error(cat("run_code: ", done.error().message));
  start(call, std::move(spec), background);
}

void run_command(const CallPtr& call) {
  if (wants_sandbox(call)) return run_command_in_sandbox(call);
  Arguments a(call->arguments());
  JobSpec spec;
  std::string command = a.string("command");
  spec.argv = a.strings("argv");
  spec.workdir = a.string("cwd");
  read_common(a, spec);
  bool background = a.boolean("background").value_or(false);
  if (command.empty() == spec.argv.empty()) a.mistake("give either command or argv");
  if (auto done = a.done(); !done.ok()) return call->finish_error(cat("run_command: ", done.error().message));
  if (!command.empty()) spec.argv = {"/bin/sh", "-c", std::move(command)};
  start(call, std::move(spec), background);
}

}  // namespace

std::span<const Tool> run_tools() {
  static const std::string kCodeInput = cat(kCodeProperties, kRunProperties,
                                            R"(},"required":["language","code"],"additionalProperties":false})");
  static const std::string kCommandInput =
      cat(kCommandProperties, kRunProperties, R"(},"additionalProperties":false})");
  static const Tool kTools[] = {
      {"run_code", "Run code",
       "Run a program in a fresh sandbox, or in one that lasts (sandbox_id), and return its output, exit code, findings "
       "of the static check (fresh ones), denials and resource usage. No network unless it is asked for or this server gives one, and no files of the host "
       "unless the profile grants them. Long output is cut: "
       "`truncated` says so, get_execution returns the rest.",
       kCodeInput, kRunOutputSchema, kAnnotations, ToolNeeds::kRun, run_code, kSandboxHeader},
      {"run_command", "Run a command",
       "Run a shell command or a program with arguments in a fresh sandbox and return its output, exit code, denials "
       "and resource usage. Nothing it writes outlives the call, unless sandbox_id names a sandbox that lasts.",
       kCommandInput, kRunOutputSchema, kAnnotations, ToolNeeds::kRun, run_command, kSandboxHeader},
  };
  return kTools;
}

}  // namespace hotcell::server::mcp
