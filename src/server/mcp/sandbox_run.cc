// A program in a sandbox that lasts, asked for by run_code or run_command. What the sandbox was given when it was made
// holds for it; a request cannot ask for other walls here.
#include <algorithm>
#include <array>

#include "base/strings.h"
#include "hotcell/language.h"
#include "server/cells/cell_door.h"
#include "server/mcp/arguments.h"
#include "server/mcp/sandbox_tools.h"
#include "server/mcp/tools.h"

namespace hotcell::server::mcp {
namespace {

// The kernel takes no argument of more than 128 KiB.
constexpr std::size_t kMostCode = 120u << 10;

// What belongs to a sandbox of one's own.
constexpr std::array<std::string_view, 8> kOfFreshOnes = {"profile", "tier",           "network",    "limits",
                                                           "rich",    "explain_denials", "background", "verify"};

void refuse_others(Arguments& a, const CallPtr& call) {
  for (auto name : kOfFreshOnes) {
    const JsonValue* value = call->arguments().find(name);
    if (value == nullptr || value->is_null()) continue;
    a.mistake(cat(name, " cannot be given together with sandbox_id: ",
                  name == "background"                  ? "whoever asks waits for it"
                  : name == "verify" || name == "rich" ? "it is for programs in a fresh sandbox"
                                                        : "a sandbox has what it was made with"));
  }
}

// Everything that cell_exec takes under the same name, but for the program.
JsonValue::Object common(const CallPtr& call) {
  JsonValue::Object out;
  for (auto name : {"cwd", "env", "stdin", "timeout_ms"})
    if (const JsonValue* value = call->arguments().find(name)) out.push_back({name, *value});
  if (const JsonValue* cell = call->arguments().find("sandbox_id")) out.push_back({"cell", *cell});
  return out;
}

void exec(const CallPtr& call, JsonValue::Object arguments, std::string_view tool) {
  call->become(JsonValue{std::move(arguments)}, [tool](ToolResult& to) { say_as(to, "cell_exec", tool); });
  find_tool("cell_exec", false)->run(call);
}

// Its files first: a program that lacks one is not started.
void put_and_exec(const CallPtr& call, std::vector<JobFile> files, JsonValue::Object arguments, std::string_view tool) {
  if (files.empty()) return exec(call, std::move(arguments), tool);
  CellDoor* door = call->services().cells;
  if (door == nullptr) return call->finish_error(cat(tool, ": lasting cells cannot be had here"));
  const std::string cell(call->arguments().text("sandbox_id"));
  door->find(call->caller(), cell, [call, door, tool, files = std::move(files), arguments = std::move(arguments)](Result<CellView> view) {
    if (call->finished()) return;
    if (!view.ok()) return call->finish_error(view.error().message);
    std::weak_ptr<Call> weak = call;
    auto put = door->files(view.value().id, {"unpack", "/work"}, tar_of(files), {}, Bytes{1u << 20}, [weak, tool, arguments](Result<Report> put_report) {
      auto waiter = weak.lock();
      if (!waiter || waiter->finished()) return;
      if (!put_report.ok()) return waiter->finish_error(cat(tool, ": files: ", put_report.error().message));
      // Not from here: what runs now would be dropped inside its own call.
      waiter->services().post([weak, tool, arguments] {
        if (auto still = weak.lock(); still && !still->finished()) exec(still, arguments, tool);
      });
    });
    auto held = std::make_shared<std::shared_ptr<CellRun>>(std::move(put));
    call->on_cancel = [held] { held->reset(); };
    call->subscription = Subscription([held] { held->reset(); });
  });
}

std::vector<JobFile> read_common(Arguments& a, const CallPtr& call) {
  refuse_others(a, call);
  for (auto name : kOfFreshOnes) (void)a.string(name);  // null, which is as good as not there
  if (a.string("sandbox_id").empty()) a.mistake("sandbox_id is empty");
  for (auto name : {"stdin", "cwd"}) (void)a.string(name);
  (void)a.string_map("env");
  (void)a.integer("timeout_ms", 1, 86'400'000);
  return a.files("files");
}

JsonValue words_value(std::vector<std::string> words) {
  JsonValue::Array out;
  for (auto& word : words) out.push_back(JsonValue{std::move(word)});
  return JsonValue{std::move(out)};
}

// How an interpreter takes a program that is no file: what it imports is looked for in the working folder.
std::vector<std::string> interpreter_of(std::string_view language, std::string_view code) {
  const Language* known = find_language(language);
  const std::string_view name = known == nullptr ? language : known->name;
  if (name == "python") return {"python3", "-c", std::string(code)};
  if (name == "bash") return {"bash", "-c", std::string(code), "bash"};
  if (name == "javascript") {
    const bool module = known->code_name != nullptr && known->code_name(code) == "main.mjs";
    return {"node", cat("--input-type=", module ? "module" : "commonjs"), "-e", std::string(code), "--"};
  }
  if (name == "perl") return {"perl", "-e", std::string(code), "--"};
  if (name == "ruby") return {"ruby", "-e", std::string(code), "--"};
  return {};
}

}  // namespace

bool wants_sandbox(const CallPtr& call) {
  const JsonValue* id = call->arguments().find("sandbox_id");
  return id != nullptr && !id->is_null();
}

void run_code_in_sandbox(const CallPtr& call) {
  Arguments a(call->arguments());
  const std::string language = a.string("language"), code = a.string("code");
  auto args = a.strings("args");
  auto files = read_common(a, call);
  if (language.empty()) a.mistake("language is missing");
  if (!a.has("code")) a.mistake("code is missing");
  if (code.size() > kMostCode) a.mistake(cat("code has more than ", kMostCode, " bytes: write it with write_file and start it with run_command"));
  if (code.find('\0') != code.npos) a.mistake("code has a NUL byte");
  auto words = interpreter_of(language, code);
  if (words.empty())
    a.mistake(cat("with sandbox_id language must be python, javascript, bash, perl or ruby, not ", printable(language.substr(0, 64)),
                  ": write it with write_file, compile and start it with run_command"));
  if (auto done = a.done(); !done.ok()) return call->finish_error(cat("run_code: ", done.error().message));
  words.insert(words.end(), args.begin(), args.end());
  auto arguments = common(call);
  arguments.push_back({"argv", words_value(std::move(words))});
  put_and_exec(call, std::move(files), std::move(arguments), "run_code");
}

void run_command_in_sandbox(const CallPtr& call) {
  Arguments a(call->arguments());
  const std::string command = a.string("command");
  auto argv = a.strings("argv");
  auto files = read_common(a, call);
  if (command.empty() == argv.empty()) a.mistake("give either command or argv");
  if (auto done = a.done(); !done.ok()) return call->finish_error(cat("run_command: ", done.error().message));
  auto arguments = common(call);
  if (command.empty()) arguments.push_back({"argv", words_value(std::move(argv))});
  else arguments.push_back({"command", JsonValue{command}});
  put_and_exec(call, std::move(files), std::move(arguments), "run_command");
}

}  // namespace hotcell::server::mcp
