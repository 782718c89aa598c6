#include "backends/engine/dockerfile.h"

#include <algorithm>

#include "backends/engine/tar_write.h"
#include "base/sha256.h"
#include "base/strings.h"

namespace hotcell::backends {
namespace {

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz0123456789";

bool is_name(std::string_view text, std::string_view more) {
  if (text.empty() || text.size() > 200 || kLower.find(text[0]) == kLower.npos) return false;
  return std::all_of(text.begin(), text.end(), [&](char c) { return kLower.find(c) != kLower.npos || more.find(c) != more.npos; });
}

}  // namespace

Result<std::string> dockerfile_for(const ImageRecipe& recipe) {
  if (!is_name(recipe.base, "./:-_@")) return make_error(ErrorCode::kInvalid, cat(printable(recipe.base), " is no name of an image"));
  if (!is_name(recipe.user, "-_") || recipe.user == "root" || recipe.uid == 0) return make_error(ErrorCode::kInvalid, cat(printable(recipe.user), " is no ordinary user"));
  auto packages = recipe.packages;
  std::sort(packages.begin(), packages.end());  // the same list is the same image
  packages.erase(std::unique(packages.begin(), packages.end()), packages.end());
  std::string words;
  for (const auto& p : packages) {
    if (!is_name(p, "+.-")) return make_error(ErrorCode::kInvalid, cat(printable(p), " is no name of a package"));
    words += cat(" ", p);
  }
  std::string text = cat("FROM ", recipe.base, "\n");
  if (!words.empty())
    text += cat("RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends", words, " && rm -rf /var/lib/apt/lists/*\n");
  // Without useradd, which small bases have not.
  text += cat("RUN echo '", recipe.user, ":x:", recipe.uid, ":", recipe.uid, "::/tmp:/bin/sh' >> /etc/passwd && echo '", recipe.user, ":x:", recipe.uid, ":' >> /etc/group\n");
  return cat(text, "USER ", recipe.uid, ":", recipe.uid, "\nENV HOME=/tmp\nCMD [\"/bin/sh\"]\n");
}

std::string image_tag(std::string_view name, std::string_view dockerfile) { return cat(name, ":", sha256_hex(dockerfile).substr(0, 12)); }

std::string build_context(std::string_view dockerfile) {
  std::string out = tar_header("Dockerfile", '0', "", dockerfile.size());
  out.append(dockerfile);
  out.append((512 - dockerfile.size() % 512) % 512, '\0');
  return out + std::string(1024, '\0');
}

}  // namespace hotcell::backends
