// `sandbox`: containers of an engine that last, by the folder of the project they are for. The engine keeps them: whoever names the same
// folder, in whatever process, has the same container.
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>

#include "backends/engine/dockerfile.h"
#include "backends/engine/sandbox.h"
#include "base/json_write.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/policy_flags.h"
#include "cli/say.h"
#include "cli/state.h"
#include "core/policy/suggest.h"
#include "core/policy/units.h"
#include "sys/file.h"

namespace hotcell {
namespace {

using backends::ContainerSandbox;
using backends::EngineClient;

constexpr int kExitTimeout = 124;
constexpr auto kPatience = std::chrono::milliseconds(2000);

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

// --backend docker or podman; without it the one that answers, docker first.
Result<EngineClient> engine(const Parsed& parsed, backends::Settings& settings, std::string& name) {
  TRY_SET(settings, backend_settings(parsed));
  auto said = parsed.last(Opt::kBackend);
  if (said && *said != "docker" && *said != "podman") return bad(cat("sandbox: --backend docker or podman, not ", *said));
  std::string passed;
  for (std::string_view candidate : {"docker", "podman"}) {
    if (said && *said != candidate) continue;
    EngineClient client{std::string(candidate), settings.get(cat(candidate, ".socket"))};
    auto there = client.ping(kPatience);
    if (there.ok()) {
      name = candidate;
      return client;
    }
    passed += cat(passed.empty() ? "" : "; ", there.error().message);
  }
  return make_error(ErrorCode::kUnsupported, cat("sandbox: no container engine answers: ", passed, " (--backend-option docker.socket=PATH says where one listens)"));
}

Result<std::string> folder(std::string_view said, std::string_view option) {
  char real[PATH_MAX];
  struct stat st {};
  if (::realpath(std::string(said).c_str(), real) == nullptr) return errno_error(cat(option, ": ", printable(said)), errno);
  if (::stat(real, &st) != 0 || !S_ISDIR(st.st_mode)) return bad(cat(option, ": ", printable(said), " is no folder"));
  return std::string(real);
}

Result<backends::SandboxSpec> spec_of(const Parsed& parsed, const backends::Settings& settings, std::string_view engine_name) {
  backends::SandboxSpec spec;
  TRY_SET(spec.project, folder(parsed.last(Opt::kProject).value_or("."), "--project"));
  spec.runtime = settings.get(cat(engine_name, ".runtime"));
  if (auto said = parsed.last(Opt::kAttachments)) {
    TRY_SET(spec.attachments, folder(*said, "--attachments"));
  }
  if (auto said = parsed.last(Opt::kCacheFolder)) {
    TRY_SET(spec.cache, folder(*said, "--cache"));
  }
  if (auto said = parsed.last(Opt::kMemory)) {
    TRY_SET(spec.memory, parse_bytes(*said).context("--memory"));
  }
  if (auto said = parsed.last(Opt::kProcesses)) {
    auto count = parse_u64(*said);
    if (!count || *count == 0 || *count > 1'000'000) return bad(cat("--processes: expected a number, not '", printable(*said), "'"));
    spec.processes = static_cast<std::uint32_t>(*count);
  }
  if (auto said = parsed.last(Opt::kCpus)) {
    auto [end, error] = std::from_chars(said->data(), said->data() + said->size(), spec.cpus);
    if (error != std::errc{} || end != said->data() + said->size() || !(spec.cpus > 0) || spec.cpus > 1024) return bad(cat("--cpus: expected a number such as 0.5, not '", printable(*said), "'"));
  }
  // Commands are whoever the project belongs to, so that they can write there; never root.
  struct stat st {};
  if (::stat(spec.project.c_str(), &st) == 0 && st.st_uid != 0) {
    spec.uid = st.st_uid;
    spec.gid = st.st_gid != 0 ? st.st_gid : st.st_uid;
  }
  return spec;
}

// --image, or --dockerfile built, or a recipe of --base and --package.
Result<std::string> image_of(const Parsed& parsed, const EngineClient& client, std::string_view verb) {
  auto image = parsed.last(Opt::kImage), recipe = parsed.last(Opt::kDockerfile), base = parsed.last(Opt::kBase);
  if ((image ? 1 : 0) + (recipe ? 1 : 0) + (base ? 1 : 0) > 1) return bad(cat("sandbox ", verb, ": one of --image, --dockerfile and --base"));
  auto network = parsed.has(Opt::kBuildNetwork) ? backends::BuildNetwork::kDefault : backends::BuildNetwork::kNone;
  // What the engine says while it builds is for people; the result is on standard output.
  auto progress = [](std::string_view words) {
    for (auto line : split(words, '\n'))
      if (auto text = trim(line); !text.empty()) say(text);
  };
  if (recipe) return backends::build_from_dockerfile(client, std::string(*recipe), progress, network);
  if (base) {
    backends::ImageRecipe made;
    made.base = std::string(*base);
    for (const auto& [option, value] : parsed.values())
      if (option == Opt::kPackage) made.packages.emplace_back(value);
    TRY_SET(std::string text, backends::dockerfile_for(made));
    std::string tag = backends::image_tag("hotcell-sandbox", text);
    TRY(backends::build_image(client, tag, text, progress, network));
    return tag;
  }
  if (!image) return bad(cat("sandbox ", verb, ": on which image? --image TAG, or --dockerfile FILE (hotcell sandbox images lists those there are)"));
  TRY_SET(bool there, backends::has_image(client, std::string(*image)));
  if (!there) return make_error(ErrorCode::kNotFound, cat("the engine has no image ", printable(*image), ": build or import one (hotcell sandbox images lists ours)"));
  return std::string(*image);
}

int tell(const Parsed& parsed, const ContainerSandbox& sandbox, const backends::SandboxState& state) {
  if (!parsed.has(Opt::kJson))
    return print(state.running ? cat(sandbox.name(), " on ", printable(state.image), ", commands as uid ", state.uid, ", container ", state.id.substr(0, 12), "\n") : std::string("not running\n"));
  JsonWriter w;
  w.begin_object();
  w.field("name", std::string_view(sandbox.name()));
  w.field("running", state.running);
  w.field("image", std::string_view(state.image));
  w.field("id", std::string_view(state.id));
  w.field("uid", state.uid);
  w.end_object();
  return print(w.take() + "\n");
}

std::string shell_words(std::span<const std::string_view> argv) {
  std::string line;
  for (auto word : argv) {
    line += line.empty() ? "'" : " '";
    for (char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += "'";
  }
  return line;
}

Result<int> exec(const Parsed& parsed, ContainerSandbox& sandbox) {
  if (!parsed.dashes || parsed.words.size() < 2) return bad("sandbox exec: expected hotcell sandbox exec [options] -- PROGRAM [ARGS...]");
  std::chrono::milliseconds timeout = std::chrono::seconds(120);
  Bytes output = 1_MiB;
  if (auto said = parsed.last(Opt::kTimeout)) {
    TRY_SET(Nanoseconds time, parse_duration(*said).context("--timeout"));
    timeout = std::chrono::ceil<std::chrono::milliseconds>(time);
  }
  if (auto said = parsed.last(Opt::kOutput)) {
    TRY_SET(output, parse_bytes(*said).context("--output"));
  }
  TRY_SET(backends::ExecResult r, sandbox.exec(shell_words(std::span(parsed.words).subspan(1)), timeout, output));
  int code = r.timed_out ? kExitTimeout : r.exit_code < 0 ? kExitRefused : r.exit_code;
  if (parsed.has(Opt::kJson)) {
    JsonWriter w;
    w.begin_object();
    w.field("output", std::string_view(r.output));
    w.field("exit_code", r.exit_code);
    w.field("timed_out", r.timed_out);
    w.field("truncated", r.truncated);
    w.end_object();
    int failed = print(w.take() + "\n");
    return failed != 0 ? failed : code;
  }
  if (int failed = print(r.output); failed != 0) return failed;
  if (r.timed_out) say(cat("its time was over (", format_duration(timeout), "): everything it had started was killed"));
  if (r.truncated) say(cat("its output was longer than ", output.n, " bytes"));
  return code;
}

Result<int> images(const Parsed& parsed, const EngineClient& client) {
  TRY_SET(auto list, backends::cached_images(client));
  if (!parsed.has(Opt::kJson)) {
    std::string text;
    for (const auto& i : list) text += cat(printable(i.tag), "  ", format_duration(i.age), "\n");
    return print(text.empty() ? "no images of hotcell's\n" : text);
  }
  JsonWriter w;
  w.begin_array();
  for (const auto& i : list) {
    w.begin_object();
    w.field("tag", std::string_view(i.tag));
    w.field("hash", std::string_view(i.hash));
    w.field("age_seconds", static_cast<std::int64_t>(i.age.count()));
    w.end_object();
  }
  w.end_array();
  return print(w.take() + "\n");
}

Result<int> build(const Parsed& parsed, const EngineClient& client) {
  if (!parsed.has(Opt::kDockerfile) && !parsed.has(Opt::kBase)) return bad("sandbox build: from what? --dockerfile FILE, or --base IMAGE --package NAME...");
  TRY_SET(std::string tag, image_of(parsed, client, "build"));
  if (!parsed.has(Opt::kJson)) return print(tag + "\n");
  JsonWriter w;
  w.begin_object();
  w.field("tag", std::string_view(tag));
  w.end_object();
  return print(w.take() + "\n");
}

Result<int> with_sandbox(const Parsed& parsed, std::string_view verb, const EngineClient& client, const backends::Settings& settings, std::string_view engine_name) {
  TRY_SET(auto spec, spec_of(parsed, settings, engine_name));
  std::string image;
  if (verb == "start" || verb == "swap") {
    TRY_SET(image, image_of(parsed, client, verb));
  }
  spec.image = image;
  ContainerSandbox sandbox(client, spec);
  TRY_SET(bool there, [&]() -> Result<bool> {
    if (verb == "start") return false;  // what has its name is replaced
    return sandbox.adopt();
  }());
  // What lasts goes on without us, however this ends.
  struct Leave {
    ContainerSandbox& s;
    ~Leave() { s.leave(); }
  } leave{sandbox};
  if (verb == "stop") {
    TRY(sandbox.stop());
    return parsed.has(Opt::kJson) ? tell(parsed, sandbox, {}) : print(there ? "stopped\n" : "not running\n");
  }
  if (verb == "inspect" && !there) return tell(parsed, sandbox, {});
  if (verb != "start" && !there)
    return make_error(ErrorCode::kNotFound, cat("nothing runs for ", printable(spec.project), ": hotcell sandbox start --project ", printable(spec.project), " --image TAG"));
  if (verb == "exec") return exec(parsed, sandbox);
  if (verb == "start") TRY(sandbox.start());
  if (verb == "swap") TRY(sandbox.hot_swap(image));
  TRY_SET(auto state, sandbox.inspect());
  return tell(parsed, sandbox, state);
}

Result<int> dispatch(const Parsed& parsed) {
  auto known = split(command_spec(Command::kSandbox).words, '|');
  if (parsed.words.empty()) return bad("sandbox: which subcommand? see hotcell sandbox --help");
  std::string_view verb = parsed.words[0];
  if (std::find(known.begin(), known.end(), verb) == known.end()) return bad(cat("sandbox: unknown subcommand ", printable(verb), did_you_mean(verb, known)));
  if (verb != "exec" && parsed.words.size() > 1) return bad(cat("sandbox ", verb, ": takes no further words; the folder is said by --project"));
  backends::Settings settings;
  std::string name;
  TRY_SET(EngineClient client, engine(parsed, settings, name));
  if (verb == "images") return images(parsed, client);
  if (verb == "build") return build(parsed, client);
  return with_sandbox(parsed, verb, client, settings, name);
}

}  // namespace

int cmd_sandbox(Args args) { return run_command(Command::kSandbox, args, dispatch); }

}  // namespace hotcell
