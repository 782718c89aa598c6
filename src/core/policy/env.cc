#include "core/policy/env.h"

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace hotcell {
namespace {

constexpr std::array<std::string_view, 31> kDangerous = {"PATH",
                                                         "PYTHONPATH",
                                                         "PYTHONHOME",
                                                         "PYTHONSTARTUP",
                                                         "PYTHONUSERBASE",
                                                         "NODE_OPTIONS",
                                                         "NODE_PATH",
                                                         "GOROOT",
                                                         "GOPATH",
                                                         "GOFLAGS",
                                                         "RUSTFLAGS",
                                                         "RUSTC_WRAPPER",
                                                         "CARGO_HOME",
                                                         "RUBYLIB",
                                                         "RUBYOPT",
                                                         "PERL5LIB",
                                                         "PERL5OPT",
                                                         "JAVA_TOOL_OPTIONS",
                                                         "_JAVA_OPTIONS",
                                                         "JDK_JAVA_OPTIONS",
                                                         "CLASSPATH",
                                                         "BASH_ENV",
                                                         "ENV",
                                                         "IFS",
                                                         "PROMPT_COMMAND",
                                                         "SHELLOPTS",
                                                         "BASHOPTS",
                                                         "GCONV_PATH",
                                                         "GIT_SSH_COMMAND",
                                                         "GIT_EXTERNAL_DIFF",
                                                         "LOCPATH"};
// The dynamic loaders' families are open-ended: LD_PRELOAD, LD_AUDIT, LD_LIBRARY_PATH, DYLD_INSERT_LIBRARIES, …
constexpr std::array<std::string_view, 4> kDangerousPrefixes = {"LD_", "DYLD_", "GLIBC_TUNABLES", "GIT_CONFIG"};

}  // namespace

bool is_env_name(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool is_dangerous_env(std::string_view name) {
  if (std::find(kDangerous.begin(), kDangerous.end(), name) != kDangerous.end()) return true;
  return std::any_of(kDangerousPrefixes.begin(), kDangerousPrefixes.end(),
                     [&](auto prefix) { return name.starts_with(prefix); });
}

std::vector<std::string> env_warnings(const Policy& policy) {
  std::vector<std::string> out;
  for (const auto& name : policy.env.pass)
    if (is_dangerous_env(name))
      out.push_back(cat("env.pass: ", printable(name), " of the caller decides which code the program loads"));
  for (const auto& [name, value] : policy.env.set)
    if (is_dangerous_env(name))
      out.push_back(cat("env.set: ", printable(name), " decides which code the program loads"));
  return out;
}

}  // namespace hotcell
