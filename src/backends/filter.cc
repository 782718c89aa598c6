// What is put between the walls of a tool and the program. Our system call filter: compiled without a listener, so denied calls
// answer EPERM by themselves. And what waits where the program is not known yet.
#include <deque>
#include <mutex>

#include "backends/tools.h"
#include "base/strings.h"
#include "core/kernel/seccomp.h"
#include "core/kernel/seccomp_export.h"
#include "sys/file.h"

extern "C" const char hotcell_seal_begin[], hotcell_seal_end[], hotcell_wait_begin[], hotcell_wait_end[], hotcell_harmless_begin[],
    hotcell_harmless_end[];

namespace hotcell::backends {

Result<SeccompRequest> filter_request(const Policy& p) {
  SeccompRequest request;
  request.base = p.syscalls.base;
  request.allow = p.syscalls.allow;
  request.deny = p.syscalls.deny;
  request.network_on = p.network.mode != NetworkMode::kNone;
  request.isolated_network = p.network.mode != NetworkMode::kHost;
  request.notify = false;
  if (!p.syscalls.oci_file.empty()) {
    TRY_SET(request.oci_json, sys::read_file(p.syscalls.oci_file.c_str(), 4 << 20).context("syscalls.file"));
  }
  return request;
}

Result<std::string> filter_bytes(const Policy& p) {
  TRY_SET(SeccompRequest request, filter_request(p));
  TRY_SET(SeccompProgram program, plan_seccomp(request));
  return std::string(reinterpret_cast<const char*>(program.insns.data()), program.insns.size() * sizeof program.insns[0]);
}

namespace {

// All that the text of a filter follows from.
std::string key_of(const SeccompRequest& r) {
  std::string key = cat(r.base, '\0', int{r.network_on}, int{r.isolated_network}, int{r.own_namespaces}, int{r.counted_memory}, int{r.notify}, int{r.observe_files});
  for (const auto* names : {&r.allow, &r.deny}) {
    key += cat('\0', names->size());
    for (const auto& name : *names) key += cat('\0', name);
  }
  return key;
}

}  // namespace

Result<std::string> filter_oci(const Policy& p) {
  TRY_SET(SeccompRequest request, filter_request(p));
  if (!request.oci_json.empty()) return export_seccomp(request, "oci");   // a file's, which may change
  // Most requests have the same, and writing it out costs each of them.
  struct Written {
    std::string key, text;
  };
  constexpr std::size_t kMost = 4;
  static std::mutex mutex;
  static std::deque<Written> written;
  std::string key = key_of(request);
  {
    std::lock_guard lock(mutex);
    for (const auto& w : written)
      if (w.key == key) return w.text;
  }
  TRY_SET(std::string text, export_seccomp(request, "oci"));
  std::lock_guard lock(mutex);
  if (written.size() >= kMost) written.pop_front();
  written.push_back({std::move(key), text});
  return text;
}

Result<std::vector<Piece>> seal_pieces(const Policy& policy) {
  TRY_SET(std::string filter, filter_bytes(policy));
  return std::vector<Piece>{seal_piece(), {cat("sealed", kSealed[1]), std::move(filter)}, told_piece()};
}

std::vector<std::string> seal_limits(const SealLimits& limits) {
  std::vector<std::string> out;
  if (limits.files) out.push_back(cat("--files=", *limits.files));
  if (limits.tasks) out.push_back(cat("--tasks=", *limits.tasks));
  return out;
}

SealLimits few_files(const Limits& limits) {
  SealLimits out;
  if (limits.open_files < kToolFiles) out.files = limits.open_files;
  return out;
}

std::vector<std::string> sealed_first() { return {std::begin(kSealedFirst), std::end(kSealedFirst)}; }

std::vector<std::string> watched_first(const SealLimits& limits) {
  std::vector<std::string> out(std::begin(kWatchedFirst), std::end(kWatchedFirst));
  auto more = seal_limits(limits);
  out.insert(out.begin() + 1, more.begin(), more.end());
  return out;
}

Piece seal_piece() {
  return {cat("sealed", kSealed[0]), std::string(hotcell_seal_begin, static_cast<std::size_t>(hotcell_seal_end - hotcell_seal_begin)), Piece::Kind::kFile, 0755};
}

// It is shown on read-only mounts, where a pipe can be written all the same and its mode cannot be changed; it holds nothing when the run is
// over. What a program writes there itself is a word about nobody but itself.
Piece told_piece() { return {std::string(kToldPiece), "", Piece::Kind::kFifo, 0622}; }

void knocks_for_pipes(std::vector<Piece>& pieces) {
  std::erase_if(pieces, [](const Piece& p) { return p.kind == Piece::Kind::kFifo; });
  for (auto name : kKnocks) pieces.push_back({cat("sealed", kSealTarget, "/", name), "\n"});
}

Piece wait_piece(std::string_view prefix) {
  return {cat(prefix, kWait), std::string(hotcell_wait_begin, static_cast<std::size_t>(hotcell_wait_end - hotcell_wait_begin)), Piece::Kind::kFile, 0755};
}

Piece harmless_piece() {
  return {std::string(kHarmless), std::string(hotcell_harmless_begin, static_cast<std::size_t>(hotcell_harmless_end - hotcell_harmless_begin)), Piece::Kind::kFile, 0755};
}

}  // namespace hotcell::backends
