#include "manager/compile_step.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/sha256.h"
#include "base/strings.h"

namespace hotcell {

namespace {

void add_file_facts(Sha256& hash, const std::string& path) {
  char real[PATH_MAX];
  struct stat s {};
  std::string place = ::realpath(path.c_str(), real) == nullptr ? path : std::string(real);
  hash.add_field(place);
  if (::stat(place.c_str(), &s) != 0) return;
  hash.add_number(static_cast<std::uint64_t>(s.st_size));
  hash.add_number(static_cast<std::uint64_t>(s.st_ino));
  hash.add_number(static_cast<std::uint64_t>(s.st_mtim.tv_sec));
  hash.add_number(static_cast<std::uint64_t>(s.st_mtim.tv_nsec));
}

// What the cache keeps beside a header (its list of sizes) must not be found where headers are looked for.
constexpr std::string_view kInside = "include";
std::string inside(std::string_view folder) { return cat(folder, "/", kInside); }

}  // namespace

Policy compile_policy(const CompileStep& step, const Policy& run) {
  Policy p = default_policy();
  p.name = "compile";
  p.description = "The compile step: the toolchain and the sources, nothing else.";
  p.limits = step.limits;
  p.on_output = OnOutput::kTruncate;  // a flood of messages is cut, and the verdict is still the compiler's
  p.required = run.required;
  for (const auto& path : step.read) p.filesystem.grants.push_back({path, Access::kRead, "compiler"});
  return p;
}

std::string artefact_key(const Language& language, const CompileStep& step, const Sources& sources) {
  Sha256 hash;
  hash.add_field("artefact 1 " HOTCELL_VERSION);
  hash.add_field(language.name);
  hash.add_number(step.argv.size());
  for (const auto& word : step.argv) hash.add_field(word);
  for (const auto& [name, value] : step.env) {
    hash.add_field(name);
    hash.add_field(value);
  }
  hash.add_field(step.workdir);
  for (const auto& name : step.outputs) hash.add_field(name);
  add_file_facts(hash, step.argv.front());
  for (const auto& path : step.read) add_file_facts(hash, path);
  add_file_facts(hash, "/var/lib/dpkg/status");  // headers, linkers and libraries come and go with packages
  for (const auto* list : {&sources.files, &step.extra}) {
    hash.add_number(list->size());
    for (const auto& f : *list) {
      hash.add_field(f.name);
      hash.add_field(f.text);
    }
  }
  return hash.finish_hex();
}

std::optional<std::string> ready_header(Launcher& launcher, const Language& language, const CompileStep& step, const ArtefactCache& cache,
                                        const Policy& run, const std::function<bool()>& cancelled) {
  CompileStep make;
  make.argv = step.header->argv;
  make.extra = {{"header.h", step.header->text}};
  make.outputs = {step.header->output};
  make.limits = step.limits;
  make.read = step.read;
  const Sources none;
  const std::string key = artefact_key(language, make, none);
  if (auto known = cache.folder_of(key)) return inside(*known);
  auto made = run_compile_step(launcher, language, make, none, run, cancelled);
  if (!made.ok() || made.value().artefact.size() != 1) return std::nullopt;
  made.value().artefact[0].name = cat(kInside, "/", step.header->name);
  auto kept = cache.put_folder(key, made.value().artefact);
  return kept.ok() ? std::optional(inside(kept.value())) : std::nullopt;
}

Result<Compiled> run_compile_step(Launcher& launcher, const Language& language, const CompileStep& step,
                                  const Sources& sources, const Policy& run, const std::function<bool()>& cancelled) {
  Request request;
  request.argv = step.argv;
  request.env = step.env;
  request.workdir = step.workdir;
  request.outputs = step.outputs;
  for (const auto* list : {&sources.files, &step.extra})
    for (const auto& f : *list) request.files.push_back({f.name, f.text, 0644});
  std::optional<Result<Report>> result;
  TRY_SET(RunId id, launcher.start(compile_policy(step, run), std::move(request),
                                   [&](RunId, Result<Report> report) { result.emplace(std::move(report)); }));
  bool stopped = false;
  while (!result) {
    if (!stopped && cancelled && cancelled()) {
      launcher.cancel(id);
      stopped = true;
    }
    TRY(launcher.step(std::chrono::milliseconds(100)));
  }
  if (!result->ok()) return std::move(*result).error().context("compile");
  Report report = std::move(*result).value();
  Compiled out;
  out.report.command = step.argv;
  out.report.reason = report.verdict.reason;
  out.report.exit_code = report.verdict.exit_code;
  out.report.duration = report.duration;
  out.report.err = !report.err.empty() || report.verdict.exit_code == 0 ? std::move(report.err) : std::move(report.out);
  if (language.diagnostics != nullptr) out.report.diagnostics = language.diagnostics(out.report.err);
  out.artefact = std::move(report.files);
  return out;
}

}  // namespace hotcell
