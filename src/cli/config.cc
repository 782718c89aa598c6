// `config show`, `config check` and `config example`: the daemon's configuration without the daemon.
#include "base/json_write.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/say.h"
#include "cli/serve_options.h"

namespace hotcell {

namespace {

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

int show(const Parsed& parsed) {
  if (parsed.words.size() != 1) return refuse(bad("config show takes no further words; a file is given by --config"));
  auto config = serve_config(parsed);
  if (!config.ok()) return refuse(config.error());
  for (const auto& note : config.value().notes) say(note);
  const bool origins = parsed.has(Opt::kOrigin);
  if (parsed.has(Opt::kJson)) return print(server::config_json(config.value(), origins) + "\n");
  return print(server::config_yaml(config.value(), origins));
}

// The file alone: what variables say on this machine is not the file's fault.
int check(const Parsed& parsed) {
  if (parsed.words.size() < 2) return refuse(bad("config check: expected FILE..."));
  JsonWriter w;
  std::string text;
  int code = 0;
  w.begin_array();
  for (std::size_t i = 1; i < parsed.words.size(); ++i) {
    auto name = parsed.words[i];
    server::ConfigSources sources;
    sources.only_file = std::string(name);
    sources.variables["STATE_DIRECTORY"] = "/var/lib/hotcell";  // where the state would lie is not asked here
    auto config = server::load_config(sources);
    // Whom its programs may talk to, which `serve` reads as well before it starts anything.
    if (config.ok())
      if (auto words = proxy_words(config.value()); !words.ok()) config = std::move(words).error().context(printable(name));
    w.begin_object();
    w.field("file", name);
    w.field("valid", config.ok());
    w.field("error", config.ok() ? std::string() : config.error().message);
    w.key("warnings");
    w.begin_array();
    if (!config.ok()) {
      code = kExitRefused;
      say(config.error().message);
    } else {
      for (const auto& note : config.value().notes) {
        w.value(note);
        text += cat(printable(name), ": warning: ", printable(note), "\n");
        if (code == 0) code = 1;
      }
      if (config.value().notes.empty()) text += cat(printable(name), ": ok\n");
    }
    w.end_array();
    w.end_object();
  }
  w.end_array();
  int printed = print(parsed.has(Opt::kJson) ? w.take() + "\n" : text);
  return printed != 0 ? printed : code;
}

}  // namespace

int cmd_config(Args args) {
  auto parsed = parse(Command::kConfig, args);
  if (!parsed.ok()) return refuse(parsed.error());
  const auto& p = parsed.value();
  if (p.has(Opt::kHelp)) return print(help_text(Command::kConfig, p.words));
  auto what = p.words.empty() ? std::string_view{} : p.words[0];
  if (what == "show") return show(p);
  if (what == "check") return check(p);
  if (what == "example" && p.words.size() == 1) return print(server::config_example());
  return refuse(bad("config: expected show, check FILE... or example"));
}

}  // namespace hotcell
