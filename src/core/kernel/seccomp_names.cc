#include "core/kernel/seccomp_names.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "core/kernel/seccomp_lists.h"

namespace hotcell {
namespace {

struct Row {
  std::string_view name;
  std::uint32_t number;
};
#define X(name, number) Row{#name, number},
constexpr auto kX86ByNumber = std::to_array<Row>({
#include "sys/uapi/syscalls_x86_64.h"
});
constexpr auto kArmByNumber = std::to_array<Row>({
#include "sys/uapi/syscalls_aarch64.h"
});
#undef X

template <std::size_t N>
constexpr std::array<Row, N> by_name(std::array<Row, N> rows) {
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.name < b.name; });
  return rows;
}
constexpr auto kX86ByName = by_name(kX86ByNumber);
constexpr auto kArmByName = by_name(kArmByNumber);

template <std::size_t N>
std::optional<std::uint32_t> number_in(const std::array<Row, N>& rows, std::string_view name) {
  auto it =
      std::lower_bound(rows.begin(), rows.end(), name, [](const Row& r, std::string_view n) { return r.name < n; });
  if (it == rows.end() || it->name != name) return std::nullopt;
  return it->number;
}

template <std::size_t N>
std::string_view name_in(const std::array<Row, N>& rows, std::uint32_t nr) {
  auto it = std::lower_bound(rows.begin(), rows.end(), nr, [](const Row& r, std::uint32_t n) { return r.number < n; });
  return it == rows.end() || it->number != nr ? std::string_view() : it->name;
}

struct Label {
  std::uint32_t value;
  std::string_view name;
};
constexpr Label kFamilies[] = {{2, "AF_INET"},    {10, "AF_INET6"}, {15, "AF_KEY"},  {16, "AF_NETLINK"},
                               {17, "AF_PACKET"}, {29, "AF_CAN"},   {30, "AF_TIPC"}, {31, "AF_BLUETOOTH"},
                               {38, "AF_ALG"},    {40, "AF_VSOCK"}, {43, "AF_SMC"},  {44, "AF_XDP"}};
constexpr Label kIoctls[] = {{0x5412, "TIOCSTI"}, {0x541c, "TIOCLINUX"}, {0x541d, "TIOCCONS"}, {0x5423, "TIOCSETD"}};
constexpr Label kFcntls[] = {{1024, "F_SETLEASE"}, {1026, "F_NOTIFY"}};
constexpr Label kCloneFlags[] = {{0x00020000, "CLONE_NEWNS"},   {0x02000000, "CLONE_NEWCGROUP"},
                                 {0x04000000, "CLONE_NEWUTS"},  {0x08000000, "CLONE_NEWIPC"},
                                 {0x10000000, "CLONE_NEWUSER"}, {0x20000000, "CLONE_NEWPID"},
                                 {0x40000000, "CLONE_NEWNET"}};

template <std::size_t N>
std::string label(const Label (&labels)[N], std::uint64_t argument) {
  const auto value = static_cast<std::uint32_t>(argument);
  for (const Label& l : labels)
    if (l.value == value) return std::string(l.name);
  return cat(value);
}

std::string octal(std::uint64_t mode) {
  const auto m = static_cast<unsigned>(mode & 07777);
  std::string out = "0";
  for (int shift = 9; shift >= 0; shift -= 3) out += static_cast<char>('0' + ((m >> shift) & 7));
  return out;
}

// The words between the brackets, and the fix where it depends on the arguments. True when the call is one that is
// allowed in general and was refused for these arguments.
bool describe_arguments(std::string_view name, const std::uint64_t (&a)[6], std::string& words, std::string& fix) {
  fix.clear();
  if (name == "socket" || name == "socketpair") {
    words = label(kFamilies, a[0]);
    const auto type = a[1] & 0xf;
    const auto family = static_cast<std::uint32_t>(a[0]);
    const bool inet = name == "socket" && (family == 2 || family == 10);
    if (inet && type == 3)
      words += ", SOCK_RAW";
    else if (inet)
      words += cat(", type ", type, ", protocol ", static_cast<std::uint32_t>(a[2]));
    // Plain TCP and UDP are refused only where there is no network for them.
    const auto protocol = static_cast<std::uint32_t>(a[2]);
    if (inet && ((type == 1 && (protocol == 0 || protocol == 6)) || (type == 2 && (protocol == 0 || protocol == 17))))
      fix = kUseDefaultBase;
    return true;
  }
  if (name == "clone") {
    for (const Label& l : kCloneFlags)
      if (a[0] & l.value) words += cat(words.empty() ? "" : "|", l.name);
    return true;
  }
  if (name == "ioctl") return words = label(kIoctls, a[1]), true;
  if (name == "fcntl") return words = label(kFcntls, a[1]), true;
  if (name == "mmap" || name == "mprotect" || name == "pkey_mprotect")
    return words = "PROT_WRITE|PROT_EXEC", fix = kUseDefaultBase, true;
  if (name == "prlimit64" || name.starts_with("sched_set"))
    return words = cat("pid ", static_cast<std::uint32_t>(a[0])), true;
  int mode = -1;
  if (name == "chmod" || name == "fchmod" || name == "creat" || name == "mkdir" || name == "mknod") mode = 1;
  if (name == "open" || name == "fchmodat" || name == "fchmodat2" || name == "mkdirat" || name == "mknodat") mode = 2;
  if (name == "openat") mode = 3;
  if (mode >= 0) return words = cat("mode ", octal(a[mode])), true;
  if (name == "personality" || name == "seccomp") return words = cat(static_cast<std::uint32_t>(a[0])), true;
  return false;
}

}  // namespace

std::optional<std::uint32_t> syscall_number(std::string_view name, Arch arch) {
  return arch == Arch::kX86_64 ? number_in(kX86ByName, name) : number_in(kArmByName, name);
}

bool is_syscall_name(std::string_view name) { return number_in(kX86ByName, name) || number_in(kArmByName, name); }

std::string_view syscall_name(int nr, std::uint32_t arch) {
  if (nr < 0) return {};
  if (arch == audit_arch(Arch::kX86_64)) return name_in(kX86ByNumber, static_cast<std::uint32_t>(nr));
  if (arch == audit_arch(Arch::kAarch64)) return name_in(kArmByNumber, static_cast<std::uint32_t>(nr));
  return {};
}

std::string denial_fix(std::string_view name) {
  if (!is_syscall_name(name) || contains_name(never_allowed(), name)) return {};
  bool by_strict_alone = false;
  for (const CallGroup& group : call_groups())
    by_strict_alone |= group.answer == kNotify && group.bases == kStrictBase && contains_name(group.names, name);
  // Other calls with argument rules are allowed already; naming them would change nothing.
  for (const ArgumentRule& rule : argument_rules())
    if (!by_strict_alone && contains_name(rule.names, name)) return {};
  return cat("syscalls: {allow: [", name, "]}");
}

DeniedCall describe_denial(int nr, std::uint32_t arch, const std::uint64_t (&args)[6]) {
  DeniedCall out;
  const std::string_view name = syscall_name(nr, arch);
  if (name.empty()) {
    out.name = cat("syscall ", nr);
    out.what = out.name + " was refused";
    return out;
  }
  out.name = name;
  std::string words, fix;
  if (describe_arguments(name, args, words, fix)) {
    out.what = cat(name, "(", words, ") was refused");
    out.fix = fix;
  } else {
    out.what = cat(name, "() was refused");
    out.fix = denial_fix(name);
  }
  return out;
}

}  // namespace hotcell
