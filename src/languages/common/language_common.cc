#include "languages/common/language_common.h"

#include <algorithm>

#include "base/strings.h"

namespace hotcell {

Result<std::string> need_tool(const BuildInput& in, const Language& language, std::string_view program) {
  if (auto found = in.tools.find(program); found != in.tools.end()) return found->second;
  std::string_view package;
  for (const auto& t : language.tools)
    if (t.program == program) package = t.package;
  auto how = package.starts_with("npm:") ? cat("the project's set-up fetches ", package.substr(4), " from npm")
                                         : cat("apt-get install ", package);
  auto what = program == language.name ? cat(program, " is") : cat(program, ", which ", language.name, " needs, is");
  return make_error(ErrorCode::kNotFound, cat(what, " not installed in /usr/bin; ", how));
}

std::string in_work(std::string_view name) { return cat("/work/", name); }

std::string artefact_name(const Sources& sources) {
  std::string_view name = sources.main;
  name = name.substr(name.rfind('/') + 1);
  std::string stem(name.substr(0, name.rfind('.')));
  if (sources.project || stem.empty() || stem == "." || stem == "..") stem = "main";
  auto taken = [&] {
    return std::any_of(sources.files.begin(), sources.files.end(), [&](const SourceFile& f) {
      return f.name == stem || (f.name.starts_with(stem) && f.name[stem.size()] == '/');
    });
  };
  while (taken()) stem += ".bin";
  return stem;
}

std::vector<std::string> sources_with(const Sources& sources, std::span<const std::string_view> extensions) {
  std::vector<std::string> out = {in_work(sources.main)};
  for (const auto& f : sources.files) {
    auto dot = f.name.rfind('.');
    if (f.name == sources.main || dot == std::string::npos) continue;
    auto extension = std::string_view(f.name).substr(dot);
    if (std::find(extensions.begin(), extensions.end(), extension) != extensions.end()) out.push_back(in_work(f.name));
  }
  return out;
}

Result<RunStep> run_artefact(const BuildInput& in) {
  RunStep step;
  step.argv = {in_work(artefact_name(in.sources))};
  return step;
}

std::vector<std::string> libraries_of_headers(const Sources& sources) {
  // A header, or the folder of many; the libraries in the order the linker wants them.
  static constexpr std::pair<std::string_view, std::string_view> kTable[] = {
      {"openssl/", "-lssl -lcrypto"},
      {"zlib.h", "-lz"},
      {"gmpxx.h", "-lgmpxx -lgmp"},
      {"gmp.h", "-lgmp"},
      {"mpfr.h", "-lmpfr -lgmp"},
      {"ncurses.h", "-lncurses -ltinfo"},
      {"curses.h", "-lncurses -ltinfo"},
      {"readline/", "-lreadline"},
      {"sqlite3.h", "-lsqlite3"},
      {"bzlib.h", "-lbz2"},
      {"lzma.h", "-llzma"},
      {"zstd.h", "-lzstd"},
      {"uuid/uuid.h", "-luuid"},
      {"crypt.h", "-lcrypt"},
      {"boost/filesystem", "-lboost_filesystem -lboost_system"},
      {"boost/thread", "-lboost_thread -lboost_system"},
      {"boost/program_options", "-lboost_program_options"},
  };
  std::vector<std::string> out;
  for (const SourceFile& file : sources.files) {
    std::string_view text = file.text;
    for (std::size_t at = text.find("include"); at != text.npos; at = text.find("include", at + 7)) {
      std::size_t open = text.find_first_not_of(" \t", at + 7);
      if (open == text.npos || text[open] != '<') continue;
      std::string_view header = text.substr(open + 1, 128);
      header = header.substr(0, header.find_first_of(">\n"));
      header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
      for (const auto& [name, libraries] : kTable) {
        if (!header.starts_with(name)) continue;
        for (std::string_view library : split(libraries, ' '))
          if (std::find(out.begin(), out.end(), library) == out.end()) out.emplace_back(library);
      }
    }
  }
  return out;
}

Result<RunStep> run_script(const BuildInput& in, const Language& language, std::string_view interpreter) {
  RunStep step;
  TRY_SET(std::string path, need_tool(in, language, interpreter));
  step.argv = {std::move(path), in_work(in.sources.main)};
  return step;
}

Limits compile_limits() {
  Limits limits;
  limits.memory = 1_GiB;  // rustc, go and javac need some 300 MiB for small programs, g++ with templates more
  limits.disk = 256_MiB;  // also the ceiling of the artefact
  limits.output = 256_KiB;
  limits.wall = std::chrono::seconds(30);
  limits.cpu_time = std::chrono::seconds(30);
  limits.processes = 128;  // go and javac start a thread for everything
  limits.open_files = 1024;
  return limits;
}

Limits project_limits() {
  Limits limits = compile_limits();
  limits.memory = 2_GiB;
  limits.disk = 1_GiB;
  limits.wall = std::chrono::seconds(180);
  limits.cpu_time = std::chrono::seconds(360);
  limits.processes = 256;
  return limits;
}

std::string_view without_work(std::string_view path) {
  for (std::string_view folder : {"/work/", "./"})
    if (path.starts_with(folder)) return path.substr(folder.size());
  return path;
}

namespace {

std::optional<int> number_before(std::string_view& rest, char end) {
  auto at = rest.find(end);
  if (at == std::string_view::npos || at == 0 || at > 9) return std::nullopt;
  auto n = parse_u64(rest.substr(0, at));
  if (!n) return std::nullopt;
  rest.remove_prefix(at + 1);
  return static_cast<int>(*n);
}

std::optional<Diagnostic> colon_line(std::string_view line) {
  // The first ":NUMBER:" ends the file's name, which may have colons of its own.
  for (auto colon = line.find(':'); colon != std::string_view::npos; colon = line.find(':', colon + 1)) {
    auto rest = line.substr(colon + 1);
    auto number = number_before(rest, ':');
    if (colon == 0 || !number) continue;
    Diagnostic d;
    d.file = std::string(without_work(line.substr(0, colon)));
    d.line = *number;
    if (auto column = number_before(rest, ':')) d.column = *column;
    rest = trim(rest);
    if (rest.empty()) return std::nullopt;  // "In file included from a.c:1:"
    d.severity = "error";
    for (std::string_view word : {"fatal error", "error", "warning", "note", "sorry, unimplemented"}) {
      if (!rest.starts_with(word) || !rest.substr(word.size()).starts_with(":")) continue;
      d.severity = word == "warning" || word == "note" ? word : "error";
      rest = trim(rest.substr(word.size() + 1));
      break;
    }
    d.message = std::string(rest);
    return d;
  }
  return std::nullopt;
}

}  // namespace

std::vector<Diagnostic> colon_diagnostics(std::string_view text) {
  constexpr std::size_t kMost = 200;  // nobody reads more, and the text itself is there too
  std::vector<Diagnostic> out;
  for (auto line : split(text, '\n')) {
    if (out.size() == kMost) break;
    if (line.empty() || line[0] == ' ' || line[0] == '\t') continue;
    if (auto d = colon_line(line)) out.push_back(*std::move(d));
  }
  return out;
}

}  // namespace hotcell
