#include "core/policy/profile.h"

#include <unistd.h>

#include <climits>
#include <cstdlib>

#include "base/json_write.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/policy_flags.h"
#include "cli/policy_json.h"
#include "cli/profile_check.h"
#include "cli/say.h"
#include "core/kernel/seccomp_export.h"
#include "core/policy/validate.h"
#include "sys/file.h"

namespace hotcell {

namespace {

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

// 127 says "no such program"; a profile that is not there is bad usage.
int refuse_profile(Error error) {
  error.code = ErrorCode::kInvalid;
  return refuse(error);
}

int list(const Parsed& parsed) {
  if (parsed.words.size() != 1) return refuse(bad("profile list takes no further words"));
  auto search = search_here();
  JsonWriter w;
  std::string text;
  w.begin_array();
  for (const auto& entry : list_profiles(search)) {
    auto loaded = load_profile(entry.source == "built-in" ? entry.name : entry.source, search);
    std::string about = loaded.ok() ? std::string(trim(loaded.value().description)) : loaded.error().message;
    w.begin_object();
    w.field("name", entry.name);
    w.field("source", entry.source);
    w.field("valid", loaded.ok());
    w.field(loaded.ok() ? "description" : "error", about);
    w.end_object();
    text += cat(printable(entry.name), std::string(entry.name.size() < 14 ? 14 - entry.name.size() : 1, ' '),
                printable(entry.source), "  ", loaded.ok() ? "" : "error: ", printable(about), "\n");
  }
  w.end_array();
  return print(parsed.has(Opt::kJson) ? w.take() + "\n" : text);
}

Result<std::string> seccomp_of(const Policy& policy, std::string_view form) {
  SeccompRequest request;
  request.base = policy.syscalls.base;
  request.allow = policy.syscalls.allow;
  request.deny = policy.syscalls.deny;
  request.network_on = policy.network.mode != NetworkMode::kNone;
  // Other tools have no listener of ours, and a notification nobody listens to answers ENOSYS instead of EPERM.
  request.notify = false;
  if (!policy.syscalls.oci_file.empty()) {
    TRY_SET(request.oci_json, sys::read_file(policy.syscalls.oci_file.c_str(), 4 << 20).context("syscalls.file"));
  }
  return export_seccomp(request, form);
}

int show(const Parsed& parsed) {
  if (parsed.words.size() != 2) return refuse(bad("profile show: expected one NAME or FILE"));
  auto loaded = load_profile(parsed.words[1], search_here());
  if (!loaded.ok()) return refuse_profile(std::move(loaded).error());
  if (auto form = parsed.last(Opt::kSeccomp)) {
    if (parsed.has(Opt::kJson))
      return refuse(bad("profile show: --json and --seccomp do not go together; --seccomp oci is JSON"));
    if (*form == "bpf" && ::isatty(STDOUT_FILENO) == 1) {
      return refuse(bad("profile show: --seccomp bpf writes bytes; send them to a file or a pipe"));
    }
    auto text = seccomp_of(loaded.value(), *form);
    return text.ok() ? print(text.value()) : refuse_profile(std::move(text).error());
  }
  if (!parsed.has(Opt::kJson)) return print(to_yaml(loaded.value()));
  JsonWriter w;
  write_policy(w, loaded.value());
  return print(w.take() + "\n");
}

int check(const Parsed& parsed) {
  if (parsed.words.size() < 2) return refuse(bad("profile check: expected FILE..."));
  const bool json = parsed.has(Opt::kJson);
  auto search = search_here();
  JsonWriter w;
  std::string text;
  int code = 0;
  w.begin_array();
  for (std::size_t i = 1; i < parsed.words.size(); ++i) {
    auto name = parsed.words[i];
    auto loaded = load_profile_details(name, search);
    std::vector<std::string> said;
    if (loaded.ok()) {
      said = warnings(loaded.value().policy, loaded.value().origins);
      if (auto odd = unknown_language(loaded.value().policy, loaded.value().origins); !odd.empty()) said.push_back(std::move(odd));
      auto missing = check_plan(loaded.value().policy, loaded.value().origins);
      if (!missing.ok()) {
        loaded = std::move(missing).error();
        said.clear();  // of what would be risky if it could be
      } else if (!missing.value().empty()) {
        said.push_back(std::move(missing).value());
      }
    }
    if (!loaded.ok()) code = kExitRefused;
    else if (!said.empty() && code == 0) code = 1;
    w.begin_object();
    w.field("profile", name);
    w.field("valid", loaded.ok());
    w.field("error", loaded.ok() ? std::string() : loaded.error().message);
    w.key("warnings");
    w.begin_array();
    for (const auto& sentence : said) {
      w.value(sentence);
      text += cat(printable(name), ": warning: ", printable(sentence), "\n");
    }
    w.end_array();
    w.end_object();
    if (!loaded.ok()) say(loaded.error().message);
    else if (said.empty()) text += cat(printable(name), ": ok\n");
  }
  w.end_array();
  int printed = print(json ? w.take() + "\n" : text);
  return printed != 0 ? printed : code;
}

}  // namespace

int cmd_profile(Args args) {
  auto parsed = parse(Command::kProfile, args);
  if (!parsed.ok()) return refuse(parsed.error());
  const auto& p = parsed.value();
  if (p.has(Opt::kHelp)) return print(help_text(Command::kProfile, p.words));
  auto what = p.words.empty() ? std::string_view{} : p.words[0];
  if (what == "list") return list(p);
  if (what == "show") return show(p);
  if (what == "check") return check(p);
  return refuse(bad("profile: expected list, show NAME|FILE or check FILE..."));
}

}  // namespace hotcell
