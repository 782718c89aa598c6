// `backend list`: each way to build a cell is tried, not assumed.
#include <array>

#include "base/json_write.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/say.h"
#include "hotcell/launcher.h"

namespace hotcell {

namespace {

struct Backend {
  std::string_view name, what;
  bool works = false;
  std::string why;
};

Result<void> try_backend(std::string_view name) {
  LauncherOptions options;
  options.backend = std::string(name);
  TRY_SET(auto launcher, Launcher::create(options));
  Policy policy = default_policy();
  policy.limits.wall = std::chrono::seconds(5);
  Request request;
  request.argv = {"/bin/true"};
  TRY_SET(Report report, launcher->run(policy, std::move(request)));
  if (report.verdict.status() == RunStatus::kCompleted) return {};
  return make_error(ErrorCode::kInternal, cat("/bin/true ended with ", to_string(report.verdict.reason),
                                              report.error.empty() ? "" : ": ", report.error));
}

std::array<Backend, 2> try_all() {
  std::array<Backend, 2> all = {{{"native", "namespaces, Landlock, seccomp, cgroups", false, {}},
                                 {"landlock", "no namespaces: Landlock, seccomp, rlimits", false, {}}}};
  for (auto& backend : all) {
    auto tried = try_backend(backend.name);
    backend.works = tried.ok();
    if (!tried.ok()) backend.why = tried.error().message;
  }
  return all;
}

}  // namespace

int cmd_backend(Args args) {
  auto parsed = parse(Command::kBackend, args);
  if (!parsed.ok()) return refuse(parsed.error());
  const auto& options = parsed.value();
  if (options.has(Opt::kHelp)) return print(help_text(Command::kBackend));
  if (options.words.size() != 1 || options.words[0] != "list") {
    return refuse(make_error(ErrorCode::kInvalid, "backend: expected hotcell backend list [--json]"));
  }
  auto all = try_all();
  if (!options.has(Opt::kJson)) {
    std::string text;
    for (const auto& b : all) {
      text += cat(b.name, std::string(10 - b.name.size(), ' '), b.works ? "works  " : "fails  ", b.what);
      text += b.works ? "\n" : cat(" (", printable(b.why), ")\n");
    }
    return print(text);
  }
  JsonWriter w;
  w.begin_array();
  for (const auto& b : all) {
    w.begin_object();
    w.field("name", b.name);
    w.field("what", b.what);
    w.field("works", b.works);
    w.field("why", b.why);
    w.end_object();
  }
  w.end_array();
  return print(w.take() + "\n");
}

}  // namespace hotcell
