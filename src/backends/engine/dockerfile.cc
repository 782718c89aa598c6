#include "backends/engine/dockerfile.h"

#include <algorithm>
#include <utility>

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

Result<void> check_recipe(std::string_view dockerfile) {
  std::string line, until;  // the line with those it goes on in; the word that ends a text inside of the recipe
  std::size_t number = 0, began = 0;
  for (auto text : split(dockerfile, '\n')) {
    ++number;
    auto bare = trim(text);
    if (!until.empty()) {
      if (bare == until) until.clear();
      continue;
    }
    if (bare.empty() || bare[0] == '#') continue;  // also between the parts of one line
    if (line.empty()) began = number;
    bool more = bare.ends_with('\\');
    line += cat(line.empty() ? "" : " ", more ? trim(bare.substr(0, bare.size() - 1)) : bare);
    if (more) continue;
    std::vector<std::string> words;
    const std::string whole = std::exchange(line, {});
    for (auto w : split(whole, ' '))
      for (auto part : split(w, '\t'))
        if (!part.empty()) words.emplace_back(part);
    if (words.empty()) continue;
    for (const auto& w : words)
      if (w.starts_with("<<")) {
        std::string_view word = std::string_view(w).substr(2);
        if (word.starts_with('-')) word.remove_prefix(1);
        until.clear();
        for (char c : word)
          if (c != '"' && c != '\'') until += c;
      }
    std::string what = words[0];
    for (char& c : what) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
    if ((what != "COPY" && what != "ADD") || !until.empty()) continue;
    words.erase(words.begin());
    bool elsewhere = false;
    while (!words.empty() && words[0].starts_with("--")) elsewhere |= words[0].starts_with("--from="), words.erase(words.begin());
    if (!words.empty()) words.pop_back();  // where to
    if (what == "ADD") elsewhere |= !words.empty() && std::all_of(words.begin(), words.end(), [](const std::string& w) { return w.starts_with("http://") || w.starts_with("https://"); });
    if (!elsewhere)
      return make_error(ErrorCode::kInvalid, cat("line ", began, " of the recipe: ", what, " has nothing to take from: only the recipe itself is sent to the engine, not the folder it lies in"));
  }
  return {};
}

std::string image_tag(std::string_view name, std::string_view dockerfile) { return cat(name, ":", sha256_hex(dockerfile).substr(0, 12)); }

std::string build_context(std::string_view dockerfile) {
  std::string out = tar_header("Dockerfile", '0', "", dockerfile.size());
  out.append(dockerfile);
  out.append((512 - dockerfile.size() % 512) % 512, '\0');
  return out + std::string(1024, '\0');
}

}  // namespace hotcell::backends
