// `backend list`: each way to build a cell is tried, not assumed.
#include <algorithm>

#include "backends/probe.h"
#include "backends/tool_launcher.h"
#include "base/json_write.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "cli/held_json.h"
#include "cli/help.h"
#include "cli/policy_flags.h"
#include "cli/say.h"
#include "core/policy/suggest.h"
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

// What becomes of a policy there, in a line.
std::string policy_words(const std::vector<backends::Held>& held) {
  std::string no, part;
  for (const auto& h : held) {
    auto& list = h.status == LayerStatus::kNone ? no : part;
    if (h.status != LayerStatus::kFull) list += cat(list.empty() ? "" : ", ", h.statement);
  }
  return cat("policy: ", no.empty() && part.empty() ? "held" : "", no.empty() ? "" : cat("not held: ", no), no.empty() || part.empty() ? "" : "; ", part.empty() ? "" : cat("in part: ", part));
}

std::string list_text(const std::vector<backends::Probed>& all, bool whole) {
  std::string text;
  auto column = [](std::string_view word, std::size_t width) { return cat(word, std::string(word.size() < width ? width - word.size() : 1, ' ')); };
  for (const auto& b : all) {
    text += cat(column(b.name, 10), b.works ? column(cat("works ", milliseconds(b.start)), 16) : column("fails", 16), b.what, "\n");
    if (!b.works) text += cat(std::string(26, ' '), "why: ", printable(b.why), "\n");
    if (!b.works) continue;
    std::string missing;
    for (const auto& l : b.layers)
      if (l.status != LayerStatus::kFull && l.layer != Layer::kLsm) missing += cat(missing.empty() ? "" : ", ", to_string(l.layer), " ", to_string(l.status));
    text += cat(std::string(26, ' '), policy_words(b.held), "\n");
    if (!missing.empty()) text += cat(std::string(26, ' '), "not in full: ", missing, "\n");
  }
  if (!whole) return text;
  for (auto [name, what] : kElsewhere) text += cat(column(name, 11), column("not here", 15), what, "\n");
  return text;
}

std::string list_json(const std::vector<backends::Probed>& all, bool whole) {
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
    write_held(w, b.held);
    w.end_object();
  }
  for (auto [name, what] : kElsewhere) {
    if (!whole) break;
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
  if (options.has(Opt::kHelp)) return print(help_text(Command::kBackend, options.words));
  if (options.words.empty() || options.words[0] != "list") {
    return refuse(make_error(ErrorCode::kInvalid, "backend: expected hotcell backend list [NAME...] [--json]"));
  }
  register_wasm_backend();
  std::vector<std::string> only(options.words.begin() + 1, options.words.end());
  const auto known = backends::names();
  for (const auto& name : only)
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      bool elsewhere = std::any_of(std::begin(kElsewhere), std::end(kElsewhere), [&](const auto& e) { return e.first == name; });
      return refuse(make_error(ErrorCode::kInvalid, cat("backend: ", printable(name), elsewhere ? " is not for Linux" : " is unknown", did_you_mean(name, known))));
    }
  auto settings = backend_settings(options);
  if (!settings.ok()) return refuse(settings.error());
  auto chosen = choose_policy(options);
  if (!chosen.ok()) return refuse(chosen.error());
  auto all = backends::probe_all(settings.value(), chosen.value().policy, only);
  return print(options.has(Opt::kJson) ? list_json(all, only.empty()) : list_text(all, only.empty()));
}

}  // namespace hotcell
