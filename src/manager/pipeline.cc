#include "manager/pipeline.h"

#include <algorithm>
#include <thread>

#include "base/sha256.h"
#include "base/strings.h"
#include "core/policy/stages.h"
#include "core/policy/units.h"
#include "languages/common/notes.h"
#include "manager/compile_step.h"
#include "manager/compiler_findings.h"
#include "manager/elf_findings.h"
#include "manager/notes.h"
#include "manager/verdict_record.h"
#include "sys/thread.h"
#include "verify/rules.h"

namespace hotcell {

namespace {

std::string_view stopped_by(ExitReason reason) {
  switch (reason) {
    case ExitReason::kTimeoutWall: return "it took longer than ";
    case ExitReason::kTimeoutCpu: return "it used more CPU time than ";
    case ExitReason::kMemory: return "it used more memory than ";
    case ExitReason::kDisk: return "it filled ";
    default: return {};
  }
}

std::string limit_words(ExitReason reason, const Limits& limits) {
  switch (reason) {
    case ExitReason::kTimeoutWall: return format_duration(limits.wall);
    case ExitReason::kTimeoutCpu: return format_duration(limits.cpu_time);
    case ExitReason::kMemory: return format_bytes(limits.memory);
    case ExitReason::kDisk: return cat(format_bytes(limits.disk), " of disk");
    default: return {};
  }
}

// "main.c:3: expected ';'", the message alone where it is of no line (of the linker), or what ended the compiler.
std::string compile_words(const CompileReport& report, const Limits& limits) {
  if (report.reason == ExitReason::kCancelled) return "cancelled";
  if (auto words = stopped_by(report.reason); !words.empty())
    return cat("the compiler was stopped: ", words, limit_words(report.reason, limits));
  for (const auto& d : report.diagnostics)
    if (d.severity == "error" && !d.message.empty())
      return d.file.empty() ? d.message : cat(d.file, d.line > 0 ? cat(":", d.line) : "", ": ", d.message);
  if (report.reason == ExitReason::kProcesses)
    return cat("the compiler reached ", limits.processes, " processes and threads");
  if (report.reason == ExitReason::kSignal) return "the compiler was ended by a signal";
  return "the compiler reported an error";
}

// By the mode of the stage that found it. What could not be read was looked at by none of them.
bool refuses(const Policy& policy, const Finding& f) {
  if (f.severity != "error") return false;
  if (f.rule == "unverifiable") return verification_enforced(policy);
  return stage_refuses(policy, f.rule == "blocklist" ? kBlocklistAudit : kAstScan);
}

bool any_refuses(const Policy& policy, const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return refuses(policy, f); });
}

Report stopped_report(ExitReason reason, std::string error, const Request& request) {
  Report report;
  report.id = request.id;
  report.verdict.reason = reason;
  if (reason == ExitReason::kCompileError) report.verdict.exit_code = 1;
  report.error = std::move(error);
  report.start_time = report.end_time = std::chrono::system_clock::now();
  return report;
}

bool is_native_c(const Language& language) { return language.name == "c" || language.name == "cpp"; }

// The compiler's warnings are kept beside the artefact, so that the second run says what the first one said.
std::string warnings_key(const std::string& artefact) { return artefact + "-warnings"; }

std::vector<Diagnostic> kept_warnings(const ArtefactCache& cache, const std::string& artefact) {
  std::vector<Diagnostic> out;
  auto known = cache.get(warnings_key(artefact));
  auto findings = known ? read_verdict(*known) : std::nullopt;
  if (!findings) return out;
  for (auto& f : *findings) out.push_back({std::move(f.file), f.line, f.column, "warning", std::move(f.message)});
  return out;
}

void keep_warnings(const ArtefactCache& cache, const std::string& artefact, const CompileReport& report,
                   const Sources& sources) {
  auto warnings = compiler_findings(report.diagnostics, sources, {}, {});
  if (!warnings.empty()) cache.put(warnings_key(artefact), write_verdict(warnings)).ignore("advice only");
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

struct Pipeline::Reading {
  std::vector<Finding> findings;
  std::thread thread;
};

bool verification_enforced(const Policy& policy) {
  return std::any_of(kPreStages.begin(), kPreStages.end(), [&](auto stage) { return stage_refuses(policy, stage); });
}

std::string profile_for(std::string_view configured, const Language* language) {
  return std::string(configured == "default" && language != nullptr ? language->default_profile : configured);
}

MayRaise may_raise(const Policy& policy, const Origins& origins) {
  static const Limits usual = default_policy().limits;
  return {policy.limits.processes == usual.processes && origin_of(origins, "limits.processes").empty(),
          policy.limits.memory == usual.memory && origin_of(origins, "limits.memory").empty()};
}

Result<void> plan_run(const ProgramSource& source, Policy& policy, MayRaise raise, Request& request) {
  const Language& language = *source.language;
  auto tools = find_tools(language, policy);
  if (raise.processes) policy.limits.processes = std::max(policy.limits.processes, language.needs.processes);
  if (raise.memory) policy.limits.memory = std::max(policy.limits.memory, language.needs.memory);
  // One task is the runtime's first thread: it would not come as far as the program.
  if (policy.limits.processes < 2 && language.needs.processes > 0)
    return make_error(ErrorCode::kInvalid, cat(language.name, " programs cannot start with ", policy.limits.processes,
                                               " process: their runtime has threads of its own; profile ", language.name,
                                               "-strict has room for them"));
  BuildInput input{source.sources, policy, tools, policy.fast, &request.env};
  TRY_SET(RunStep step, language.run(input));
  if (request.rich) {
    if (language.rich == nullptr)
      return make_error(ErrorCode::kUnsupported,
                        cat("rich results: ", language.name, " programs have text only; python has more"));
    if (!policy.filesystem.writable_scratch)
      return make_error(ErrorCode::kInvalid, cat("rich results come through /work, where profile ",
                                                 printable(policy.name), " lets nothing be written"));
    TRY(language.rich(input, step));
  }
  if (step.notes) request.outputs_if_there.emplace_back(kNotesFile);
  std::vector<std::string> args = std::move(request.argv);
  request.argv = std::move(step.argv);
  request.argv.insert(request.argv.end(), args.begin(), args.end());
  for (auto& [name, value] : step.env)
    if (!policy.env.set.contains(name)) request.env[name] = std::move(value);
  auto add = [&](SourceFile file, unsigned mode) -> Result<void> {
    for (const auto& other : request.files)
      if (other.name == file.name)
        return make_error(ErrorCode::kInvalid, cat("two files would both be /work/", printable(file.name)));
    request.files.push_back({std::move(file.name), std::move(file.text), mode});
    return {};
  };
  if (language.compile == nullptr)
    for (const auto& f : source.sources.files) TRY(add(f, 0644));
  for (auto& f : step.extra) TRY(add(std::move(f), 0755));
  for (auto& path : step.read)
    policy.filesystem.grants.push_back({std::move(path), Access::kRead, std::string(language.name)});
  return {};
}

Pipeline::Pipeline(Launcher& launcher, PipelineOptions options) : launcher_(launcher), options_(std::move(options)) {}

Pipeline::~Pipeline() {
  if (reading_ && reading_->thread.joinable()) reading_->thread.join();
}

const ArtefactCache* Pipeline::cache() {
  if (!cache_tried_ && options_.cache) {
    auto opened =
        ArtefactCache::open(options_.cache_folder.empty() ? ArtefactCache::standard_folder() : options_.cache_folder);
    if (opened.ok()) cache_.emplace(std::move(opened).value());
  }
  cache_tried_ = true;
  return cache_ ? &*cache_ : nullptr;
}

std::vector<Finding> Pipeline::verified(const ProgramSource& source, const Policy& policy) {
  const auto* language = source.language;
  std::string_view name = language->verify_as.empty() ? language->name : language->verify_as;
  const bool remember = language->compile != nullptr && source.beside.empty() && cache() != nullptr;
  std::string key = remember ? verdict_key(name, source.sources, policy) : std::string();
  if (remember)
    if (auto known = cache()->get(key))
      if (auto findings = read_verdict(*known)) return *std::move(findings);
  std::optional<Verifier> own;
  Verifier& verifier = options_.verifier != nullptr ? *options_.verifier : own.emplace();
  Policy others = policy;  // a profile's list of modules is one of its own language
  others.imports_allowed.clear(), others.blocklist.clear();
  std::vector<Finding> out;
  std::vector<std::string_view> unread;
  auto read = [&](const SourceFile& f, std::string_view as, const FileReading& how) {
    if (as.empty() && how.opaque.empty()) return unread.push_back(f.name);
    if (as.empty()) {
      out.push_back(unverifiable_finding(how.opaque));
      out.back().file = f.name;
      return;
    }
    const bool same = policy.language.empty() || verify_language_name(policy.language) == as;
    auto verification = verifier.verify(f.text, as, f.name, same ? policy : others);
    out.insert(out.end(), verification.findings.begin(), verification.findings.end());
  };
  FileReader reader(*language, source.sources);
  for (const auto& f : source.sources.files) {
    if (f.name == source.sources.main && !source.sources.project) {
      read(f, name, {});
      continue;
    }
    auto how = reader.how(f.name, f.text);
    read(f, how.language, how);
  }
  for (const auto& b : source.beside) read(b.file, b.reading.language, b.reading);
  if (!unread.empty()) out.push_back(unread_finding(unread));
  const bool lists = !policy.imports_allowed.empty() || !policy.blocklist.empty();
  if (lists && !policy.language.empty() && verify_language_name(policy.language) != name)
    out.push_back(other_language_finding(policy, language->name, source.sources.main));
  if (remember) cache()->put(key, write_verdict(out)).ignore("the next run verifies again");
  return out;
}

Result<CompileReport> Pipeline::compile(const ProgramSource& source, const Policy& policy,
                                        std::vector<OutputFile>& artefact, Limits& limits) {
  const Language& language = *source.language;
  auto tools = find_tools(language, policy);
  TRY_SET(CompileStep step, language.compile({source.sources, policy, tools, policy.fast}));
  limits = step.limits;
  std::string key = cache() != nullptr ? artefact_key(language, step, source.sources) : std::string();
  if (cache() != nullptr) {
    if (auto known = cache()->get(key)) {
      artefact = *std::move(known);
      CompileReport report;
      report.command = std::move(step.argv);
      report.exit_code = 0;
      report.cached = true;
      report.diagnostics = kept_warnings(*cache(), key);
      return report;
    }
  }
  if (step.header && cache() != nullptr) {
    if (auto folder = ready_header(launcher_, language, step, *cache(), policy, options_.cancelled)) {
      step.argv.insert(step.argv.begin() + 1, cat(step.header->option, *folder));
      step.read.push_back(std::move(*folder));
    }
  }
  TRY_SET(Compiled compiled, run_compile_step(launcher_, language, step, source.sources, policy, options_.cancelled));
  artefact = std::move(compiled.artefact);
  if (artefact.size() == 1 && artefact[0].name == step.outputs[0])
    artefact[0].name = std::string(base_name(artefact[0].name));
  const bool made = compiled.report.reason == ExitReason::kExited && compiled.report.exit_code == 0;
  if (made && artefact.empty()) return make_error(ErrorCode::kInternal, "the compiler made nothing");
  if (made && cache() != nullptr) {
    keep_warnings(*cache(), key, compiled.report, source.sources);
    cache()->put(key, artefact).ignore("the next run compiles again");
  }
  return std::move(compiled.report);
}

Result<std::vector<OutputFile>> Pipeline::compiled(const ProgramSource& source, const Policy& policy) {
  std::vector<OutputFile> artefact;
  Limits limits;
  TRY_SET(CompileReport report, compile(source, policy, artefact, limits));
  if (artefact.empty())
    return make_error(ErrorCode::kInternal, cat(source.sources.main, ": ", compile_words(report, limits)));
  return artefact;
}

Result<Prepared> Pipeline::prepare(const ProgramSource& source, const Policy& policy, Request& request) {
  const Language& language = *source.language;
  profile_ = policy.name;
  Prepared out;
  const bool enforced = verification_enforced(policy);
  if (options_.verify && (enforced || language.compile != nullptr)) {
    const auto begun = std::chrono::steady_clock::now();
    out.findings = verified(source, policy);
    out.verified_in = std::chrono::steady_clock::now() - begun;
  } else if (options_.verify) {
    // Advice does not keep the program waiting.
    reading_ = std::make_unique<Reading>();
    auto read = [this, &source, &policy] { reading_->findings = verified(source, policy); };
    if (auto thread = sys::quiet_thread(read); thread.ok()) reading_->thread = std::move(thread).value();
    else read();   // the program waits
  }
  auto refuse = [&] {
    std::size_t errors = 0;
    std::string where;
    for (const auto& f : out.findings) {
      if (!refuses(policy, f)) continue;
      ++errors;
      const std::string& file = f.file.empty() ? source.sources.main : f.file;
      where = where.empty() || where == file ? file : std::string("several files");
    }
    out.stopped = stopped_report(
        ExitReason::kVerification,
        cat(errors, errors == 1 ? " error" : " errors", " in ", printable(where)), request);
  };
  if (options_.verify && any_refuses(policy, out.findings)) {
    refuse();
    return out;
  }
  if (language.compile == nullptr) return out;
  std::vector<OutputFile> artefact;
  Limits limits;
  TRY_SET(out.compile, compile(source, policy, artefact, limits));
  const Language* last = &language;
  while (!artefact.empty() && last->becomes != nullptr) {
    last = last->becomes;
    ProgramSource next{last, {{{artefact[0].name, std::move(artefact[0].bytes)}}, artefact[0].name}};
    artefact.clear();
    auto first = std::exchange(out.compile, std::nullopt);
    TRY_SET(out.compile, compile(next, policy, artefact, limits));
    if (artefact.empty()) break;
    // What was said of the text is what people can act on.
    out.compile->duration += first->duration;
    out.compile->diagnostics = std::move(first->diagnostics);
    out.compile->err = std::move(first->err);
    out.compile->cached = out.compile->cached && first->cached;
  }
  out.module = last->name == "wasm";
  if (artefact.empty()) {
    auto reason = out.compile->reason == ExitReason::kCancelled ? ExitReason::kCancelled : ExitReason::kCompileError;
    out.stopped = stopped_report(reason, compile_words(*out.compile, limits), request);
    out.stopped->duration = out.compile->duration;  // all the time there was went there
    out.stopped->start_time -= std::chrono::duration_cast<std::chrono::system_clock::duration>(out.compile->duration);
    return out;
  }
  if (options_.verify && is_native_c(language) && artefact.size() == 1 && stage_runs(policy, kAstScan)) {
    const bool strict = policy.rules.level == VerifyLevel::kStrict;
    auto more = elf_findings(artefact[0].bytes, source.sources.main, strict ? ElfLevel::kStrict : ElfLevel::kDefault);
    out.findings.insert(out.findings.end(), more.begin(), more.end());
    if (any_refuses(policy, more)) {
      refuse();
      return out;
    }
  }
  if (options_.verify) {
    auto more = compiler_findings(out.compile->diagnostics, source.sources, out.findings, policy.rules.off);
    out.findings.insert(out.findings.end(), more.begin(), more.end());
  }
  for (auto& f : artefact) {
    for (const auto& other : request.files)
      if (other.name == f.name)
        return make_error(ErrorCode::kInvalid, cat("two files would both be /work/", printable(f.name)));
    request.files.push_back({std::move(f.name), std::move(f.bytes), f.executable ? 0755U : 0644U});
  }
  return out;
}

void Pipeline::complete(Prepared prepared, Report& report) {
  if (reading_) {
    if (reading_->thread.joinable()) reading_->thread.join();
    prepared.findings = std::move(reading_->findings);
    reading_.reset();
  }
  report.findings.insert(report.findings.end(), prepared.findings.begin(), prepared.findings.end());
  report.compile = std::move(prepared.compile);
  if (prepared.module && report.enforcement.backend == "native") report.enforcement.backend = "wasm";
  auto notes =
      std::find_if(report.files.begin(), report.files.end(), [](const OutputFile& f) { return f.name == kNotesFile; });
  if (notes == report.files.end()) return;
  read_notes(notes->bytes, profile_, report);
  report.files.erase(notes);
}

}  // namespace hotcell
