// Names and numbers of system calls, from our own tables: the launcher names a denial without any library.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hotcell {

enum class Arch : std::uint8_t { kX86_64, kAarch64 };
#if defined(__aarch64__)
inline constexpr Arch kNativeArch = Arch::kAarch64;
#else
inline constexpr Arch kNativeArch = Arch::kX86_64;
#endif
constexpr std::uint32_t audit_arch(Arch arch) { return arch == Arch::kX86_64 ? 0xc000003e : 0xc00000b7; }

std::optional<std::uint32_t> syscall_number(std::string_view name, Arch arch);
bool is_syscall_name(std::string_view name);                // on any architecture we know
std::string_view syscall_name(int nr, std::uint32_t arch);  // arch as in seccomp_data; empty when unknown

// The profile line that would allow this call; empty when none may.
std::string denial_fix(std::string_view name);

// The fix of what only the strict base refuses.
inline constexpr std::string_view kUseDefaultBase = "syscalls: {base: default}";

// What a notification says, from its registers alone: memory behind a pointer may change while we look.
struct DeniedCall {
  std::string name;  // "socket", or "syscall 1234"
  std::string what;  // "socket(AF_VSOCK) was refused"
  std::string fix;
};
DeniedCall describe_denial(int nr, std::uint32_t arch, const std::uint64_t (&args)[6]);

}  // namespace hotcell
