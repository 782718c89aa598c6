#include "manager/elf_findings.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "manager/elf_reader.h"

namespace hotcell {

namespace {

constexpr std::array<std::string_view, 24> kProcess = {
    "system",  "popen",  "fork",    "vfork",  "_Fork",        "clone",         "execl",    "execle", "execlp", "execv",
    "execve",  "execvp", "execvpe", "fexecve", "execveat",    "posix_spawn",   "posix_spawnp", "daemon", "wordexp",
    "pidfd_open", "forkpty", "login_tty", "__libc_system", "__libc_fork"};
constexpr std::array<std::string_view, 7> kRaw = {"syscall", "ptrace", "process_vm_readv", "process_vm_writev",
                                                  "mount", "unshare", "setns"};
constexpr std::array<std::string_view, 3> kLoading = {"dlopen", "dlmopen", "__libc_dlopen_mode"};
constexpr std::array<std::string_view, 5> kLoaders = {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1",
                                                      "/lib/ld-musl-x86_64.so.1", "/lib/ld-musl-aarch64.so.1",
                                                      "/lib/ld-linux-riscv64-lp64d.so.1"};

template <std::size_t N>
bool among(std::string_view name, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

Finding finding(std::string rule, std::string type, bool error, std::string_view file, std::string message,
                std::string fix) {
  Finding f;
  f.rule = std::move(rule);
  f.type = std::move(type);
  f.severity = error ? "error" : "warning";
  f.file = std::string(file);
  f.message = std::move(message);
  f.fix = std::move(fix);
  return f;
}

}  // namespace

std::vector<Finding> elf_findings(std::string_view program, std::string_view file, ElfLevel level) {
  std::vector<Finding> out;
  auto facts = read_elf(program);
  if (!facts) {
    out.push_back(finding("elf-unverifiable", "dangerous_pattern", true, file,
                          "the compiled program is not an ELF file that can be read", ""));
    return out;
  }
  const bool strict = level == ElfLevel::kStrict;
  for (const auto& name : facts->undefined) {
    if (among(name, kProcess)) {
      out.push_back(finding("elf-process", "system_call", strict, file,
                            cat("the compiled program calls ", name, ", which starts a process"),
                            "do the work in the program itself"));
    } else if (among(name, kRaw)) {
      out.push_back(finding("elf-raw-call", "system_call", strict, file, cat("the compiled program calls ", name),
                            "use the C library's own function for it"));
    } else if (among(name, kLoading)) {
      out.push_back(finding("elf-load", "blocked_function", strict, file,
                            cat("the compiled program calls ", name, ", which loads code that was not read"),
                            "link what is needed"));
    }
  }
  if (!facts->rpath.empty())
    out.push_back(finding("elf-rpath", "dangerous_pattern", true, file,
                          cat("the compiled program looks for libraries in ", printable(facts->rpath)),
                          "link without -rpath; the system's libraries are found without"));
  if (facts->executable_stack)
    out.push_back(finding("elf-executable-stack", "dangerous_pattern", strict, file,
                          "the compiled program wants an executable stack",
                          "avoid nested functions whose address is taken, and assembler without .note.GNU-stack"));
  if (facts->writable_code)
    out.push_back(finding("elf-writable-code", "dangerous_pattern", true, file,
                          "the compiled program has memory that is both writable and executable",
                          "leave the sections to the compiler and the linker"));
  if (facts->dynamic && !facts->interpreter.empty() && !among(facts->interpreter, kLoaders))
    out.push_back(finding("elf-interpreter", "dangerous_pattern", true, file,
                          cat("the compiled program is to be loaded by ", printable(facts->interpreter)),
                          "link without --dynamic-linker"));
  return out;
}

}  // namespace hotcell
