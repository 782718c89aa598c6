#include "cli/job.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "backends/backend.h"
#include "backends/command_policy.h"
#include "base/strings.h"
#include "cli/paths.h"
#include "cli/program.h"
#include "core/policy/env.h"
#include "core/policy/validate.h"
#include "sys/file.h"

namespace hotcell {

namespace {

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

std::string_view last_part(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return path.substr(path.rfind('/') + 1);
}

Result<void> set_workdir(std::string_view value, CliJob& job) {
  auto granted = [&](std::string_view path) {
    const auto& grants = job.policy.filesystem.grants;
    return std::any_of(grants.begin(), grants.end(), [&](const auto& g) { return is_under(path, g.path); });
  };
  // The cell's own folders, which say nothing about the host's of the same name.
  if ((is_under(value, "/work") || is_under(value, "/tmp")) && !granted(value)) {
    job.request.workdir = std::string(value);
    return {};
  }
  TRY_SET(std::string shown, shown_path(value, "--workdir"));
  TRY_SET(std::string real, real_path(value, "--workdir"));
  struct stat s {};
  if (::stat(shown.c_str(), &s) != 0 || !S_ISDIR(s.st_mode)) return bad(cat("--workdir: ", value, " is not a folder"));
  if (!is_visible(job.policy, shown, real)) {
    return bad(cat("--workdir: the cell does not see ", shown, "; add --read ", shown, " or --write ", shown));
  }
  job.request.workdir = std::move(shown);
  return {};
}

Result<void> set_stdin(std::optional<std::string_view> file, CliJob& job) {
  if (file) {
    auto opened = sys::open(std::string(*file).c_str(), O_RDONLY | O_NOCTTY);
    if (!opened.ok()) return bad(cat("--stdin: ", *file, ": ", ::strerror(opened.error().err)));
    TRY_SET(struct stat s, sys::stat_fd(opened.value().get(), *file));
    if (S_ISDIR(s.st_mode)) return bad(cat("--stdin: ", *file, " is a folder"));
    job.held.push_back(std::move(opened).value());
    job.request.stdin_source = StdinFd{job.held.back().get()};
    return {};
  }
  struct stat s {};
  if (::fstat(STDIN_FILENO, &s) != 0) return {};
  const bool null_device = S_ISCHR(s.st_mode) && s.st_rdev == makedev(1, 3);
  // A terminal is never shared: whoever reads from it could also push keys into it.
  if (!null_device && ::isatty(STDIN_FILENO) == 0) job.request.stdin_source = StdinFd{STDIN_FILENO};
  return {};
}

Result<void> set_program(const Parsed& parsed, JobFor purpose, CliJob& job) {
  auto code = parsed.last(Opt::kCode);
  std::string language(parsed.last(Opt::kLanguage).value_or(std::string_view{}));
  std::span<const std::string_view> words = parsed.words;
  if (code) return place_code(*code, language.empty() ? job.policy.language : language, words, job);
  if (words.empty()) {
    if (purpose == JobFor::kRunning) return bad("nothing to run: give a FILE, --language LANG -c CODE, or -- PROGRAM");
    job.request.argv = {"/bin/true"};
    return {};
  }
  if (!parsed.dashes) return place_file(words[0], language, words.subspan(1), job);
  if (!language.empty()) return bad("--language goes with FILE or -c CODE, not with -- PROGRAM");
  return place_program(words, job);
}

// What was said of another tool would be ignored, and with it perhaps the root that the program was to have.
Result<void> check_settings(const Parsed& parsed, const CliJob& job) {
  // A level or a tier has looked at what is binding, and a setting for one of its candidates may stand beside the other.
  const bool chosen = parsed.has(Opt::kLevel) || parsed.last(Opt::kTier).value_or("light") == "strong";
  const std::string backend = parsed.has(Opt::kResume) ? "runsc" : job.wasm ? "wasm" : job.launcher.backend.empty() ? "native" : job.launcher.backend;
  auto why = backends::not_for(backend, job.settings, chosen ? backends::SettingsOf::kCandidate : backends::SettingsOf::kNamed);
  return why.empty() ? Result<void>() : make_error(ErrorCode::kUnsupported, cat("backend ", backend, ": ", why));
}

std::vector<std::string> about_walls(const CliJob& job, std::string reason) {
  const auto* tool = backends::find(job.launcher.backend);
  if (reason.empty() && tool != nullptr && !tool->walls()) reason = cat("no wall: asked for by --backend ", tool->name());
  std::vector<std::string> out;
  if (!reason.empty()) out.push_back(std::move(reason));
  if (tool == nullptr || tool->name() != "basic") return out;
  // Refused it is by the launcher; what was let pass unread is said here.
  if (auto verdict = backends::judge_request(job.request, job.settings); verdict.ok())
    for (const auto& what : verdict.value().unread) out.push_back(cat("basic cannot read this before it runs: ", printable(what)));
  return out;
}

}  // namespace

Result<OpenedFile> open_for_copy(std::string_view path, std::string_view what) {
  // Non-blocking only so that a FIFO cannot hold us here.
  auto opened = sys::open(std::string(path).c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
  const bool program = what == "run";
  auto prefix = program ? std::string() : cat(what, ": ");
  if (!opened.ok()) {
    int err = opened.error().err;
    auto hint =
        program && path.find('/') == std::string_view::npos ? cat(" (a program: hotcell run -- ", path, ")") : "";
    if (program && (err == ENOENT || err == ENOTDIR)) {
      return make_error(ErrorCode::kNotFound, cat(path, ": no such file", hint));
    }
    return bad(cat(prefix, path, ": ", ::strerror(err)));
  }
  TRY_SET(struct stat s, sys::stat_fd(opened.value().get(), path));
  if (!S_ISREG(s.st_mode)) {
    auto kind = S_ISDIR(s.st_mode) ? "is a folder" : "is not a regular file";
    auto hint = S_ISDIR(s.st_mode) && !program ? cat("; show it with --read ", path) : "";
    return make_error(program ? ErrorCode::kNotExecutable : ErrorCode::kInvalid, cat(prefix, path, " ", kind, hint));
  }
  return OpenedFile{std::move(opened).value(), std::string(last_part(path)), (s.st_mode & 0111) != 0};
}

Result<void> copy_in(CliJob& job, OpenedFile file, unsigned mode, std::string_view what) {
  for (const auto& other : job.request.files) {
    if (other.name == file.name) return bad(cat(what, ": two files would both be /work/", file.name));
  }
  job.request.files.push_back({std::move(file.name), file.fd.get(), mode});
  job.held.push_back(std::move(file.fd));
  return {};
}

Result<void> check_workspace(const CliJob& job) {
  if (job.request.files.empty() && !job.source) return {};
  for (const auto& g : job.policy.filesystem.grants)
    if (g.path == "/work")
      return bad(cat(g.origin.empty() ? "" : cat(g.origin, ": "), "the host's /work would cover the cell's own, where the files of this run go; grant folders inside it"));
  return {};
}

Result<CliJob> make_job(const Parsed& parsed, JobFor purpose) {
  TRY_SET(ChosenPolicy chosen, choose_policy(parsed));
  CliJob job;
  job.policy = std::move(chosen.policy);
  job.origins = std::move(chosen.origins);
  job.launcher = std::move(chosen.launcher);
  job.waived = std::move(chosen.waived);
  job.wasm = chosen.wasm;
  job.settings = std::move(chosen.settings);
  TRY(check_settings(parsed, job));
  for (const auto& [option, value] : parsed.values()) {
    if (option != Opt::kFile) continue;
    TRY_SET(OpenedFile file, open_for_copy(value, "--file"));
    unsigned mode = file.executable ? 0755 : 0644;
    TRY(copy_in(job, std::move(file), mode, "--file"));
  }
  if (auto folder = parsed.last(Opt::kWorkdir)) TRY(set_workdir(*folder, job));
  TRY(set_stdin(parsed.last(Opt::kStdin), job));
  job.request.rich = parsed.has(Opt::kRich);
  TRY(set_program(parsed, purpose, job));
  TRY(check_workspace(job));
  const bool named = purpose == JobFor::kRunning || !parsed.words.empty() || parsed.has(Opt::kCode);
  if (job.wasm && named && (!job.source || as_wasm(*job.source->language) == nullptr))
    return bad("backend wasm runs WASI modules (x.wasm) and C or C++ sources; this is none of them");
  if (job.request.rich && job.request.outputs_if_there.empty())
    return bad("--rich goes with a Python FILE or --language python -c CODE");
  auto valid = validate(job.policy, job.origins);
  if (!valid.ok()) return std::move(valid).error();
  job.notes = env_warnings(job.policy);
  job.about = about_walls(job, std::move(chosen.reason));
  job.notes.insert(job.notes.end(), job.about.begin(), job.about.end());
  for (const auto& w : job.waived) job.notes.push_back(cat("waived: ", w, " need not be held"));
  return job;
}

}  // namespace hotcell
