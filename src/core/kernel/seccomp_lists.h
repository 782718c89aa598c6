// The seccomp rules as data: who may call what, and why. Nothing here compiles or applies a filter.
// A reason stands in the data rather than in a comment, so that `profile show --seccomp text` prints it.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace hotcell {

// What happens to a call. kNotify is "named-denied": the launcher records it and answers EPERM; without a listener it
// is a plain EPERM. Everything that stands in no list answers ENOSYS, so that libc falls back to an older call.
enum class Ruling : std::uint8_t { kAllow, kNotify, kErrno, kKill };
struct Answer {
  Ruling ruling = Ruling::kErrno;
  int err = 0;
  bool operator==(const Answer&) const = default;
};
inline constexpr Answer kAllow{Ruling::kAllow, 0};
inline constexpr Answer kNotify{Ruling::kNotify, 0};
inline constexpr Answer kKill{Ruling::kKill, 0};
constexpr Answer refuse(int err) { return {Ruling::kErrno, err}; }

// One comparison of one argument. Our own rules use the first two, always on the low 32 bits: the kernel cuts ioctl,
// prctl, socket and mode arguments to 32 bits or fewer, so a 64-bit comparison is passed by setting a high bit
// (CVE-2019-7303). The others exist for imported OCI profiles, which compare all 64 bits.
enum class Compare : std::uint8_t {
  kNone,
  kMaskedEqual,
  kAnyBit,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual
};
struct Condition {
  std::uint8_t arg = 0;
  Compare op = Compare::kNone;
  std::uint64_t mask = 0;
  std::uint64_t value = 0;
  bool operator==(const Condition&) const = default;
};

enum Bases : std::uint8_t { kDefaultBase = 1, kStrictBase = 2, kBothBases = 3 };
// Which internet a socket would reach: none may be made, the cell's own empty one, or a real one (host, proxy); and
// whether other processes and files are out of reach. kNoInet and kFlatInet are for programs without namespaces.
enum Nets : std::uint8_t { kNoInet = 1, kOwnInet = 2, kRealInet = 4, kFlatInet = 8, kAnyNet = 15 };
inline constexpr std::uint8_t kFlat = kNoInet | kFlatInet, kNamespaces = kOwnInet | kRealInet, kReal = kRealInet | kFlatInet;

struct CallGroup {
  Answer answer;
  std::uint8_t bases;
  std::string_view names;  // separated by blanks; a name that this architecture lacks is skipped
  std::string_view reason;
  std::uint8_t nets = kAnyNet;
};

// Tried in order before the group's answer. `values` non-empty: once per value, as `arg == value` beside `when`.
struct ArgumentRule {
  std::string_view names;
  Condition when[3];
  std::uint8_t values_arg;
  std::span<const std::uint32_t> values;
  Answer answer;
  std::uint8_t bases;
  std::uint8_t nets;
  std::string_view reason;
};

std::span<const CallGroup> call_groups();
std::span<const ArgumentRule> argument_rules();
// Refused where no cgroup counts memory: the pages are nobody's until somebody maps them, so sampling does not see them.
std::string_view uncounted_calls();
// No profile may allow these: each is a way around the other layers or the richest seam of kernel bugs.
std::string_view never_allowed();
// No profile may deny these: between the filter and the program's first instruction the cell itself needs them.
std::string_view needed_to_start();
// Those that name a file: shown to the launcher, and let go on, under `--explain-denials`.
std::string_view observed_calls();
// Modes and times of files, which Landlock does not look at: without mounts of its own a cell could change those of every file that is
// the caller's. There they are shown to the launcher, who changes them for it in its writable folders (launch/file_marks.cc).
std::string_view file_marks();

bool contains_name(std::string_view names, std::string_view name);

}  // namespace hotcell
