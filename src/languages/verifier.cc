// The Verifier of hotcell/verify.h: one parked child, one source at a time.
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "hotcell/verify.h"
#include "languages/policy_options.h"
#include "languages/verify_program.h"
#include "languages/verify_wire.h"
#include "sys/framed_child.h"

namespace hotcell {
namespace {

Verification refused(std::string language, std::string_view file, std::string_view why) {
  Verification v;
  v.language = std::move(language);
  v.unverifiable = true;
  v.findings.push_back(unverifiable_finding(why));
  v.findings.back().file = file;
  return v;
}

std::string seconds(Nanoseconds time) {
  auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
  return ms % 1000 == 0 ? cat(ms / 1000, " s") : cat(ms, " ms");
}

std::string cause_of_death(int status, Bytes memory) {
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  // The parser's allocator aborts when there is no more; abort() itself makes calls that the filter does not allow.
  if (signal == SIGABRT || signal == SIGSYS)
    return cat("the parser was stopped: it needed more than its ", memory.n >> 20,
               " MiB, or did what a parser has no reason to do");
  if (signal == SIGXCPU) return "reading it takes too much processor time";
  if (signal != 0) return cat("the parser crashed on it (signal ", signal, ")");
  return "the parser ended without an answer";
}

}  // namespace

struct Verifier::Impl {
  VerifierOptions options;
  sys::FramedChild child;
  bool used = false;   // and may not be asked again
  bool asked = false;

  // Not when the answer is there: to end one and to start one is work, which whoever waits for a program's end should not wait for.
  void end_used() {
    if (std::exchange(used, false)) child.stop();
  }

  Result<void> start() {
    if (!options.spawn) {
      if (options.program.empty()) {
        TRY_SET(options.program, find_verify_program());
      }
      options.spawn = spawn_here(options.program);
    }
    TRY_SET(SpawnedVerifier spawned, options.spawn(options.memory));
    child.start(sys::Fd(spawned.socket), std::move(spawned.end));
    return {};
  }

  Verification ask(const WireRequest& request) {
    asked = true;
    end_used();
    std::string bytes = sys::frame(pack(request));
    for (int attempt = 0;; ++attempt) {
      const bool parked = child.running();
      if (!parked)
        if (auto started = start(); !started.ok())
          return refused(request.language, request.file,
                         cat("the verifier cannot be started: ", started.error().message));
      sys::FramedChild::Answer answer = child.ask(bytes, options.wall, kMaxReply);
      switch (answer.how) {
        case sys::FramedChild::How::kAnswered: return read(request, answer.payload);
        case sys::FramedChild::How::kTimeout:
          return refused(request.language, request.file, cat("reading it takes longer than ", seconds(options.wall)));
        case sys::FramedChild::How::kNonsense:
          return refused(request.language, request.file, "the verifier's answer makes no sense");
        case sys::FramedChild::How::kDied: break;
      }
      // A child that was parked may have been killed before this source came; one that was started for it was not.
      if (parked && attempt == 0) continue;
      return refused(request.language, request.file, cause_of_death(answer.status, options.memory));
    }
  }

  Verification read(const WireRequest& request, std::string_view payload) {
    auto reply = unpack_reply(payload);
    if (!reply) {
      child.stop();
      return refused(request.language, request.file, "the verifier's answer makes no sense");
    }
    if (reply->last) child.stop();
    else used = options.fresh_child;
    Verification v;
    v.language = request.language;
    v.findings = std::move(reply->findings);
    bool error = false;
    for (Finding& f : v.findings) {
      f.file = request.file;
      error |= f.severity == "error";
      v.unverifiable |= f.rule == "unverifiable";
    }
    if (reply->unverifiable && !v.unverifiable) {
      v.unverifiable = true;
      v.findings.push_back(unverifiable_finding("the verifier could not read all of it"));
      v.findings.back().file = request.file;
    }
    v.safe = !error && !v.unverifiable;
    return v;
  }
};

Verifier::Verifier(VerifierOptions options) : impl_(std::make_unique<Impl>()) { impl_->options = std::move(options); }
Verifier::~Verifier() = default;
Verifier::Verifier(Verifier&&) noexcept = default;
Verifier& Verifier::operator=(Verifier&&) noexcept = default;

bool Verifier::asked() const { return impl_->asked; }

Result<void> Verifier::park() {
  impl_->asked = false;
  impl_->end_used();
  if (impl_->child.running()) return {};
  return impl_->start();
}

Verification Verifier::verify(std::string_view source, std::string_view language, std::string_view file,
                              const Policy& policy) {
  WireRequest request;
  request.language = language.empty() ? detect_verify_language(file, source) : verify_language_name(language);
  if (request.language.empty()) request.language = verify_language_name(policy.language);
  if (request.language.empty()) request.language = "unknown";
  request.language = printable(request.language);
  request.file = file.substr(0, 4096);
  if (source.size() > kMaxSource)
    return refused(request.language, request.file, cat("it is larger than ", kMaxSource >> 20, " MiB"));
  request.source = source;
  request.options = verify_options(policy);
  return impl_->ask(request);
}

}  // namespace hotcell
