// `hotcell verify`: what a source does, without running it.
#include "hotcell/verify.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/strings.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/policy_flags.h"
#include "cli/say.h"
#include "core/policy/profile.h"
#include "manager/shell_findings.h"
#include "sys/file.h"

namespace hotcell {

namespace {

constexpr int kErrorFindings = 1, kUnverifiable = 2;
constexpr std::size_t kMost = (64u << 20) + 1;  // one byte more than is read: the verifier says what is too large

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

Result<Policy> policy_for(const Parsed& parsed) {
  auto name = parsed.last(Opt::kProfile);
  if (!name) return default_policy();
  auto loaded = load_profile(*name, search_here());
  if (loaded.ok()) return loaded;
  return bad(cat("--profile: ", loaded.error().message));
}

Result<std::string> read_all(int fd) {
  std::string out;
  for (;;) {
    std::size_t have = out.size();
    if (have >= kMost) return out;
    out.resize(std::min(kMost, have + std::max<std::size_t>(have, 64u << 10)));
    ssize_t n = ::read(fd, out.data() + have, out.size() - have);
    out.resize(have + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    if (n == 0) return out;
    if (n < 0 && errno != EINTR) return errno_error("read", errno);
  }
}

Result<std::string> read_source(std::string_view name) {
  if (name == "-") return read_all(STDIN_FILENO).context("standard input");
  std::string path(name);
  TRY_SET(sys::Fd fd, sys::open(path.c_str(), O_RDONLY));
  TRY_SET(struct stat st, sys::stat_fd(fd.get(), path));
  if (S_ISDIR(st.st_mode)) return bad(cat(printable(path), ": is a folder; name the files"));
  return read_all(fd.get()).context(path);
}

// What shellcheck adds to a shell script. Where cells cannot be made there is nothing to add.
class ShellAdvice {
 public:
  void add(std::string_view source, std::string_view file, const Policy& policy, Verification& to) {
    if (to.language != "bash" || !shellcheck_is_there()) return;
    if (!launcher_) {
      auto made = Launcher::create();
      if (!made.ok()) return;
      launcher_ = std::move(made).value();
    }
    auto more = shellcheck_findings(*launcher_, source, file, policy);
    to.findings.insert(to.findings.end(), more.begin(), more.end());
    std::stable_sort(to.findings.begin(), to.findings.end(), [](const Finding& a, const Finding& b) {
      return std::pair(a.line, a.column) < std::pair(b.line, b.column);
    });
  }

 private:
  std::unique_ptr<Launcher> launcher_;
};

struct Seen {
  std::vector<Verification> all;
  std::string text;
};

Result<Seen> verify_files(const Parsed& parsed, const Policy& policy) {
  Seen seen;
  Verifier verifier;
  ShellAdvice advice;
  auto language = parsed.last(Opt::kLanguage).value_or("");
  for (auto name : parsed.words) {
    TRY_SET(std::string source, read_source(name));
    seen.all.push_back(verifier.verify(source, language, name, policy));
    advice.add(source, name, policy, seen.all.back());
    if (parsed.words.size() > 1) seen.text += cat(seen.text.empty() ? "" : "\n", printable(name), "\n");
    seen.text += verification_text(seen.all.back(), source);
  }
  return seen;
}

}  // namespace

int cmd_verify(Args args) {
  auto parsed = parse(Command::kVerify, args);
  if (!parsed.ok()) return refuse(parsed.error());
  const Parsed& p = parsed.value();
  if (p.has(Opt::kHelp)) return print(help_text(Command::kVerify));
  auto format = p.last(Opt::kFormat).value_or(p.has(Opt::kJson) ? "json" : "text");
  if (p.has(Opt::kJson) && format != "json") return refuse(bad("verify: --json and --format do not agree"));
  if (p.words.empty()) return refuse(bad("verify: expected FILE... or - for standard input"));
  if (std::count(p.words.begin(), p.words.end(), "-") > 1) return refuse(bad("verify: - can be given once"));
  auto policy = policy_for(p);
  if (!policy.ok()) return refuse(policy.error());
  auto seen = verify_files(p, policy.value());
  if (!seen.ok()) {
    Error error = std::move(seen).error();
    error.code = ErrorCode::kInvalid;  // 127 says "no such program"; a source that is not there is bad usage
    return refuse(error);
  }
  const auto& all = seen.value().all;
  int printed = print(format == "json"    ? verification_json(all)
                      : format == "sarif" ? verification_sarif(all)
                                          : seen.value().text);
  if (printed != 0) return printed;
  int code = 0;
  for (const auto& v : all) code = std::max(code, v.unverifiable ? kUnverifiable : v.safe ? 0 : kErrorFindings);
  return code;
}

}  // namespace hotcell
