// `backend list`: each way to build a cell is tried, not assumed.
#include "backends/probe.h"
#include "backends/tool_launcher.h"
#include "base/json_write.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/policy_flags.h"
#include "cli/say.h"
#include "core/remote/serve_launcher.h"
#include "manager/wasm_backend.h"

namespace hotcell {
namespace {

// macOS and Windows have walls of their own; what they are called there.
constexpr std::pair<std::string_view, std::string_view> kElsewhere[] = {{"seatbelt", "sandbox-exec profiles, on macOS"},
                                                                        {"job-object", "job objects and restricted tokens, on Windows"}};

std::string milliseconds(std::chrono::microseconds us) {
  auto tenths = (us.count() + 50) / 100;
  return cat(tenths / 10, ".", tenths % 10, " ms");
}

std::string list_text(const std::vector<backends::Probed>& all) {
  std::string text;
  auto column = [](std::string_view word, std::size_t width) { return cat(word, std::string(word.size() < width ? width - word.size() : 1, ' ')); };
  for (const auto& b : all) {
    text += cat(column(b.name, 10), b.works ? column(cat("works ", milliseconds(b.start)), 16) : column("fails", 16), b.what, "\n");
    if (!b.works) text += cat(std::string(26, ' '), "why: ", printable(b.why), "\n");
    if (!b.works) continue;
    std::string missing;
    for (const auto& l : b.layers)
      if (l.status != LayerStatus::kFull && l.layer != Layer::kLsm) missing += cat(missing.empty() ? "" : ", ", to_string(l.layer), " ", to_string(l.status));
    if (!missing.empty()) text += cat(std::string(26, ' '), "not in full: ", missing, "\n");
  }
  for (auto [name, what] : kElsewhere) text += cat(column(name, 10), column("not here", 16), what, "\n");
  return text;
}

std::string list_json(const std::vector<backends::Probed>& all) {
  JsonWriter w;
  w.begin_array();
  for (const auto& b : all) {
    w.begin_object();
    w.field("name", std::string_view(b.name));
    w.field("what", std::string_view(b.what));
    w.field("works", b.works);
    w.field("why", std::string_view(b.why));
    w.field("start_us", static_cast<std::int64_t>(b.start.count()));
    w.key("layers");
    w.begin_array();
    for (const auto& l : b.layers) {
      w.begin_object();
      w.field("name", to_string(l.layer));
      w.field("status", to_string(l.status));
      w.field("detail", std::string_view(l.detail));
      w.end_object();
    }
    w.end_array();
    w.key("policy");
    w.begin_array();
    for (const auto& h : b.held) {
      w.begin_object();
      w.field("statement", std::string_view(h.statement));
      w.field("status", to_string(h.status));
      w.field("detail", std::string_view(h.detail));
      w.end_object();
    }
    w.end_array();
    w.end_object();
  }
  for (auto [name, what] : kElsewhere) {
    w.begin_object();
    w.field("name", name);
    w.field("what", what);
    w.field("works", false);
    w.field("why", "not on Linux");
    w.end_object();
  }
  w.end_array();
  return w.take() + "\n";
}

// For the supervisor alone: which backend the strong tier is, in two lines, and a launcher process with it.
int strongest() {
  auto choice = backends::select_strong();
  if (!choice.ok()) return print(cat(printable(choice.error().message), "\n")), 1;
  return print(cat(choice.value().backend, "\n", printable(choice.value().reason), "\n"));
}
int serve_tool(Args args) {
  std::string backend(args[1]);
  // Whoever comes next will most likely come with the same policy.
  backends::ToolOptions tool;
  tool.keep_warm = true;
  auto done = remote::serve_launcher({args.begin() + 2, args.end()},
                                     [&](const LauncherOptions& options) { return backends::open_backend(backend, options, tool); });
  return done.ok() ? 0 : refuse(done.error());
}

}  // namespace

int cmd_backend(Args args) {
  if (args.size() == 1 && args[0] == "strongest") return strongest();
  if (args.size() > 2 && args[0] == "launcher") return serve_tool(args);
  auto parsed = parse(Command::kBackend, args);
  if (!parsed.ok()) return refuse(parsed.error());
  const auto& options = parsed.value();
  if (options.has(Opt::kHelp)) return print(help_text(Command::kBackend));
  if (options.words.size() != 1 || options.words[0] != "list") {
    return refuse(make_error(ErrorCode::kInvalid, "backend: expected hotcell backend list [--json]"));
  }
  register_wasm_backend();
  auto settings = backend_settings(options);
  if (!settings.ok()) return refuse(settings.error());
  auto all = backends::probe_all(settings.value());
  return print(options.has(Opt::kJson) ? list_json(all) : list_text(all));
}

}  // namespace hotcell
