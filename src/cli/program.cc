#include "cli/program.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>

#include "base/strings.h"
#include "cli/paths.h"
#include "core/policy/suggest.h"
#include "core/policy/units.h"
#include "manager/sources.h"
#include "sys/file.h"

namespace hotcell {

namespace {

// The PATH that every cell gets; looked along here too, so that what is not found can be told with its reason.
constexpr std::string_view kCellPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

Error not_found(std::string message) { return make_error(ErrorCode::kNotFound, std::move(message)); }
Error not_executable(std::string message) { return make_error(ErrorCode::kNotExecutable, std::move(message)); }

std::string search_path(const Policy& policy) {
  auto set = policy.env.set.find("PATH");
  return set == policy.env.set.end() ? std::string(kCellPath) : set->second;
}

// What to do about a program that is on this host and that the cell will not find.
std::string hidden_hint(const Policy& policy, std::string_view name, const std::string& path) {
  Policy open = policy;
  open.filesystem.deny.clear();
  if (is_visible(policy, path, path)) return cat(name, ": not found along the PATH of the cell; it is at ", path);
  if (is_visible(open, path, path)) return cat(name, ": ", path, " is denied by the policy");
  auto folder = path.substr(0, std::max<std::size_t>(path.rfind('/'), 1));
  return cat(name, ": it is at ", path, " on this host, which the cell does not see; add --read ", folder);
}

enum class Kind { kMissing, kFolder, kNotExecutable, kProgram };

Kind kind_of(const std::string& path) {
  struct stat s {};
  if (::stat(path.c_str(), &s) != 0) return Kind::kMissing;
  if (S_ISDIR(s.st_mode)) return Kind::kFolder;
  if (!S_ISREG(s.st_mode) || ::access(path.c_str(), X_OK) != 0) return Kind::kNotExecutable;
  return Kind::kProgram;
}

// The caller's own PATH is looked at only to tell where the program is, never to run from there.
std::string find_on_host(std::string_view name) {
  const char* path = ::getenv("PATH");
  for (auto folder : split(path == nullptr ? "" : path, ':')) {
    if (!folder.starts_with('/')) continue;
    if (std::string full = cat(folder, "/", name); kind_of(full) == Kind::kProgram) return full;
  }
  return {};
}

bool is_copied(const CliJob& job, std::string_view path) {
  return std::any_of(job.request.files.begin(), job.request.files.end(),
                     [&](const auto& file) { return path == cat("/work/", file.name); });
}

void set_argv(CliJob& job, std::string_view first, std::span<const std::string_view> rest) {
  job.request.argv.emplace_back(first);
  for (auto arg : rest) job.request.argv.emplace_back(arg);
}

Result<const Language*> named_language(std::string_view name) {
  if (const auto* found = find_language(name)) return found;
  std::string list;
  for (const auto* l : languages()) list += cat(list.empty() ? "" : ", ", l->name);
  return make_error(ErrorCode::kInvalid, cat("--language: ", quoted(name), " is not in this version; one of ", list));
}

Result<std::string> read_source(int fd, std::string_view name) {
  auto text = sys::read_fd(fd, kLargestSource.n);
  if (text.ok()) return text;
  if (text.error().code == ErrorCode::kLimit)
    return make_error(ErrorCode::kLimit, cat(name, ": a source may have at most ", format_bytes(kLargestSource)));
  return std::move(text).error().context(name);
}

// What --file brings is there when the program is compiled, too: headers, further sources, embedded data.
Result<void> add_files_to_sources(CliJob& job, Sources& sources) {
  for (const auto& file : job.request.files) {
    const int* fd = std::get_if<int>(&file.content);
    struct stat s {};
    if (fd == nullptr || ::fstat(*fd, &s) != 0 || static_cast<std::uint64_t>(s.st_size) > kLargestSource.n) continue;
    std::string text(static_cast<std::size_t>(s.st_size), '\0');
    ssize_t got = ::pread(*fd, text.data(), text.size(), 0);
    if (got < 0) return errno_error(cat("--file: ", file.name), errno);
    text.resize(static_cast<std::size_t>(got));
    sources.files.push_back({file.name, std::move(text)});
  }
  return {};
}

Result<void> place_source(const Language& known, std::string name, std::string text, std::span<const std::string_view> args,
                          CliJob& job) {
  for (const auto& file : job.request.files)
    if (file.name == name) return make_error(ErrorCode::kInvalid, cat("--file: ", name, " is where the program's own text goes"));
  const Language* as_module = job.wasm ? as_wasm(known) : nullptr;
  const Language& language = as_module == nullptr ? known : *as_module;
  job.source.emplace();
  job.source->language = &language;
  job.source->sources.main = name;
  job.source->sources.files.push_back({std::move(name), std::move(text)});
  if (language.compile != nullptr) TRY(add_files_to_sources(job, job.source->sources));
  TRY_SET(job.source->beside, files_beside(language, job.source->sources, job.request.files));
  for (auto arg : args) job.request.argv.emplace_back(arg);
  return plan_run(*job.source, job.policy, may_raise(job.policy, job.origins), job.request);
}

// A folder with a manifest, or nothing when it is none.
Result<bool> place_project(std::string_view folder, std::string_view language, std::span<const std::string_view> args, CliJob& job) {
  struct stat s {};
  std::string path(folder);
  if (::stat(path.c_str(), &s) != 0 || !S_ISDIR(s.st_mode)) return false;
  TRY_SET(auto names, sys::list_dir(path.c_str()));
  const Language* known = language_of_project(names);
  if (!language.empty()) {
    TRY_SET(const Language* named, named_language(language));
    if (named != known) return false;
  }
  if (known == nullptr) return false;
  TRY_SET(Sources sources, read_project(path, *known));
  job.source = ProgramSource{known, std::move(sources)};
  TRY_SET(job.source->beside, files_beside(*known, job.source->sources, job.request.files));
  for (auto arg : args) job.request.argv.emplace_back(arg);
  TRY(plan_run(*job.source, job.policy, may_raise(job.policy, job.origins), job.request));
  return true;
}

// "#!/usr/bin/env -S python3 -u" → what the kernel would start, checked here so that the error can name it.
Result<void> check_shebang(std::string_view line, std::string_view file, const Policy& policy) {
  line = trim(line.substr(2, line.find('\n') - 2));
  auto interpreter = line.substr(0, line.find_first_of(" \t"));
  if (!interpreter.starts_with('/')) return not_executable(cat(file, ": its #! line names no absolute path"));
  auto found = real_path(interpreter, file);
  if (!found.ok()) return not_found(cat(file, ": its interpreter ", interpreter, " is not there"));
  if (!is_visible(policy, interpreter, found.value()))
    return not_found(cat(file, ": ", hidden_hint(policy, interpreter, std::string(interpreter))));
  auto rest = trim(line.substr(interpreter.size()));
  if (!interpreter.ends_with("/env") || rest.empty() || rest.starts_with('-')) return {};
  auto program = find_program(rest.substr(0, rest.find_first_of(" \t")), policy);
  if (!program.ok()) return std::move(program).error().context(file);
  return {};
}

}  // namespace

Result<std::string> find_program(std::string_view name, const Policy& policy) {
  std::string hidden, other;
  const std::string path = search_path(policy);  // the pieces below are views into it
  for (auto folder : split(path, ':')) {
    if (!folder.starts_with('/')) continue;
    std::string full = cat(folder, "/", name);
    auto kind = kind_of(full);
    if (kind == Kind::kMissing || kind == Kind::kFolder) continue;
    TRY_SET(std::string real, real_path(full, name));
    if (kind == Kind::kNotExecutable) other = full;
    else if (is_visible(policy, full, real)) return full;
    else hidden = real;
  }
  if (!other.empty()) return not_executable(cat(other, ": not executable"));
  if (hidden.empty()) hidden = find_on_host(name);
  if (!hidden.empty()) {
    std::string hint = hidden_hint(policy, name, hidden);
    return not_found(cat(hint, hint.find("; add --read ") == hint.npos ? "" : ", or name the program by its path to show that one file"));
  }
  return not_found(cat(name, ": program not found"));
}

Result<void> place_program(std::span<const std::string_view> argv, CliJob& job) {
  auto name = argv[0];
  if (name.empty()) return not_found("the name of the program is empty");
  if (name.find('/') == std::string_view::npos) {
    TRY(find_program(name, job.policy));
    set_argv(job, name, argv.subspan(1));
    return {};
  }
  if (is_copied(job, name)) {
    set_argv(job, name, argv.subspan(1));
    return {};
  }
  auto shown = shown_path(name, "program");
  if (!shown.ok()) {
    if (shown.error().err == EACCES) return not_executable(cat(name, ": permission denied"));
    return not_found(cat(name, ": program not found"));
  }
  auto kind = kind_of(shown.value());
  if (kind == Kind::kFolder) return not_executable(cat(name, ": is a folder"));
  if (kind != Kind::kProgram) return not_executable(cat(name, ": not executable"));
  TRY_SET(std::string real, real_path(name, "program"));
  auto& grants = job.policy.filesystem.grants;
  const bool there = is_visible(job.policy, shown.value(), real);
  const bool there_by_real_name = is_visible(job.policy, real, real);
  if (!there && !there_by_real_name) grants.push_back({shown.value(), Access::kRead, "PROGRAM"});
  set_argv(job, !there && there_by_real_name ? real : shown.value(), argv.subspan(1));
  return {};
}

Result<void> place_file(std::string_view file, std::string_view language, std::span<const std::string_view> args,
                        CliJob& job) {
  TRY_SET(bool project, place_project(file, language, args, job));
  if (project) return {};
  TRY_SET(OpenedFile opened, open_for_copy(file, "run"));
  const Language* known = nullptr;
  if (!language.empty()) {
    TRY_SET(known, named_language(language));
  } else {
    known = language_by_extension(opened.name);
  }
  if (known != nullptr) {
    TRY_SET(std::string text, read_source(opened.fd.get(), file));
    TRY_SET(std::string name, source_name(*known, opened.name, text));
    return place_source(*known, std::move(name), std::move(text), args, job);
  }
  char head[256];
  ssize_t got = ::pread(opened.fd.get(), head, sizeof head, 0);
  std::string_view start(head, got > 0 ? static_cast<std::size_t>(got) : 0);
  if (start.starts_with("#!")) {
    TRY(check_shebang(start, file, job.policy));
    // The kernel starts its interpreter, with the options of its line; it is verified like any other.
    if (const auto* script = language_by_shebang(start); script != nullptr && script->compile == nullptr) {
      TRY_SET(std::string text, read_source(opened.fd.get(), file));
      job.source.emplace();
      job.source->language = script;
      job.source->sources.main = opened.name;
      job.source->sources.files.push_back({opened.name, std::move(text)});
      TRY_SET(job.source->beside, files_beside(*script, job.source->sources, job.request.files));
    }
  } else if (!start.starts_with("\x7f" "ELF") && !opened.executable) {
    return not_executable(cat(file, ": its language is not known by extension or #! line, and it is not executable; "
                                    "name one with --language"));
  }
  std::string name = opened.name;
  TRY(copy_in(job, std::move(opened), 0755, "run"));
  set_argv(job, cat("/work/", name), args);
  return {};
}

Result<void> place_code(std::string_view code, std::string_view language, std::span<const std::string_view> args,
                        CliJob& job) {
  if (language.empty()) return make_error(ErrorCode::kInvalid, "-c needs --language");
  TRY_SET(const Language* known, named_language(language));
  auto name = known->code_name == nullptr ? std::string_view() : known->code_name(code);
  TRY_SET(std::string file, source_name(*known, name.empty() ? known->main_file : name, code));
  return place_source(*known, std::move(file), std::string(code), args, job);
}

}  // namespace hotcell
