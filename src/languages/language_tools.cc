// Where the tools of a language are. By looking at names only: what is on this path runs before every program, and
// starting a compiler to ask its version would cost more than running what it made.
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "base/strings.h"
#include "hotcell/language.h"
#include "languages/language_tools.h"
#include "sys/file.h"

namespace hotcell {

namespace {

// /usr/bin first: shims of version managers in /usr/local/bin or ~ point to places the cell does not have.
constexpr std::array<std::string_view, 3> kFolders = {"/usr/bin", "/usr/local/bin", "/bin"};
constexpr std::array<std::string_view, 7> kSystem = {"/usr/", "/bin/", "/sbin/", "/lib/", "/lib32/", "/lib64/", "/libx32/"};

bool is_program(const std::string& path) {
  struct stat s {};
  return ::stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode) && ::access(path.c_str(), X_OK) == 0;
}

std::string resolved(const std::string& path) {
  char real[PATH_MAX];
  return ::realpath(path.c_str(), real) == nullptr ? std::string() : std::string(real);
}

bool seen_in_cell(std::string_view path, const Policy& policy) {
  for (auto folder : kSystem)
    if (path.starts_with(folder)) return true;
  for (const auto& g : policy.filesystem.grants)
    if (path == g.path || (path.starts_with(g.path) && path.substr(g.path.size()).starts_with('/'))) return true;
  return false;
}

// The platform part of npm's binary packages: @esbuild/linux-x64, @deno/linux-arm64-glibc.
#if defined(__x86_64__)
constexpr std::string_view kPlatform = "linux-x64";
#elif defined(__aarch64__)
constexpr std::string_view kPlatform = "linux-arm64";
#else
constexpr std::string_view kPlatform = "linux-unknown";
#endif

std::string npm_tool(std::string_view program) {
  for (const auto& folder : npm_folders()) {
    std::string path = program == "deno" ? cat(folder, "/node_modules/@deno/", kPlatform, "-glibc/deno")
                                         : cat(folder, "/node_modules/@esbuild/", kPlatform, "/bin/esbuild");
    if (is_program(path)) return path;
  }
  return {};
}

}  // namespace

std::vector<std::string> npm_folders() {
  std::vector<std::string> out;
  // Installed: PREFIX/bin/hotcell has PREFIX/libexec/hotcell/npm beside it.
  if (auto self = sys::read_link("/proc/self/exe"); self.ok()) {
    std::string_view path = self.value();
    auto bin = path.rfind("/bin/");
    if (bin != std::string_view::npos) out.push_back(cat(path.substr(0, bin), "/libexec/hotcell/npm"));
  }
#ifdef HOTCELL_NPM_DIR
  out.emplace_back(HOTCELL_NPM_DIR);
#endif
  return out;
}

std::string find_tool(const Tool& tool, const Policy& policy) {
  for (auto folder : kFolders) {
    std::string path = cat(folder, "/", tool.program);
    if (is_program(path) && seen_in_cell(resolved(path), policy)) return path;
  }
  return tool.package.starts_with("npm:") ? npm_tool(tool.program) : std::string();
}

ToolPaths find_tools(const Language& language, const Policy& policy) {
  ToolPaths out;
  for (const auto& tool : language.tools)
    if (auto path = find_tool(tool, policy); !path.empty()) out.emplace(tool.program, std::move(path));
  return out;
}

}  // namespace hotcell
