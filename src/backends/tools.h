// The tools that are known. One more: its file, a line here, one in backend.cc.
#pragma once
#include <cstdint>
#include <optional>

#include "backends/backend.h"
#include "core/kernel/seccomp.h"

namespace hotcell::backends {

const Backend* bwrap();
const Backend* nsjail();
const Backend* firejail();
const Backend* nspawn();
const Backend* lxc();
const Backend* codex();
const Backend* docker();
const Backend* podman();
const Backend* crun();
const Backend* runc();
const Backend* runsc();
const Backend* oci();
const Backend* vm();
const Backend* basic();
const Backend* none();

Result<SeccompRequest> filter_request(const Policy& policy);
Result<std::string> filter_bytes(const Policy& policy);
Result<std::string> filter_oci(const Policy& policy);   // as the specification of runtimes writes it
// A small program of ours that stands before the program (seal/seal_main.cc), and the filter it puts on, as pieces below
// scratch/sealed. view_sealed (view.h) shows them as /.hotcell.
Result<std::vector<Piece>> seal_pieces(const Policy& policy);
inline constexpr std::string_view kSealFolder = "sealed/.hotcell";
inline constexpr std::string_view kSealTarget = "/.hotcell";
Piece seal_piece();
// A pipe in there by which the seal says that it has come so far, and how the program ended (told.h).
inline constexpr std::string_view kToldPiece = "sealed/.hotcell/told";
Piece told_piece();
// For gVisor, which opens no pipe of the host's: files that the seal reads instead, and we watch.
inline constexpr std::string_view kKnocks[] = {"begun", "exited", "killed"};
void knocks_for_pipes(std::vector<Piece>& pieces);   // takes the pipes out and puts these in
// Where this pipe is there too, the seal waits until it is open at our end.
inline constexpr std::string_view kGoPiece = "sealed/.hotcell/go";
// For what is started ahead: the program that waits for its orders, below `prefix`, and its name in the root it sees.
Piece wait_piece(std::string_view prefix);
inline constexpr std::string_view kWait = "/.hotcell/wait";
// And what stands before a tool that would show devices and set-id files as they are (seal/harmless_main.cc), below scratch.
inline constexpr std::string_view kHarmless = "harmless";
Piece harmless_piece();
inline constexpr std::string_view kSealed[] = {"/.hotcell/seal", "/.hotcell/filter"};
// The words that come before the program's own. As pid 1 a program cannot be ended by its own signals: the seal is pid 1, says
// 128 + the number, and shows nothing of itself in /proc/1.
inline constexpr std::string_view kSealedFirst[] = {"/.hotcell/seal", "--watch", "/.hotcell/filter"};
inline constexpr std::string_view kWatchedFirst[] = {"/.hotcell/seal", "--watch", "-"};  // the tool has put the filter on
// The same with limits that the seal sets: the tool could not do its own work under them.
struct SealLimits {
  std::optional<std::uint64_t> files, tasks;
};
std::vector<std::string> seal_limits(const SealLimits& limits);
// Tools set what they are told before they have done their own work, for which a few files are not enough.
SealLimits few_files(const Limits& limits);
std::vector<std::string> sealed_first();
std::vector<std::string> watched_first(const SealLimits& limits);
inline constexpr std::uint32_t kToolFiles = 64;  // open files that any of them gets along with

}  // namespace hotcell::backends
