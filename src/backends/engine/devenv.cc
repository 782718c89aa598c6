#include "backends/engine/devenv.h"

#include <filesystem>

#include "backends/engine/dockerfile.h"
#include "backends/engine/json.h"
#include "base/sha256.h"
#include "base/strings.h"
#include "sys/file.h"

namespace hotcell::backends {
namespace {

Result<std::string> tag_of(const std::string& dockerfile, const std::string& key) {
  TRY_SET(std::string text, sys::read_file(dockerfile.c_str()).context(dockerfile));
  return image_tag(cat("hotcell-devenv-", key), text);
}

}  // namespace

std::string DevEnvManager::key_of(const std::string& dockerfile) {
  auto end = dockerfile.rfind('/');
  std::string folder = end == dockerfile.npos ? "" : dockerfile.substr(0, end), key;
  for (char c : folder.substr(folder.rfind('/') == folder.npos ? 0 : folder.rfind('/') + 1)) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) key += c;
    else if (!key.empty() && key.back() != '-') key += '-';  // names of images know no other characters
  }
  while (key.ends_with('-')) key.pop_back();
  // Folders of the same name are many; the path is one.
  std::error_code ignored;
  auto path = std::filesystem::weakly_canonical(std::filesystem::absolute(dockerfile, ignored), ignored);
  return cat(key.empty() ? "project" : key, "-", sha256_hex(ignored ? dockerfile : path.string()).substr(0, 8));
}

Result<std::string> DevEnvManager::get_or_build(const std::string& dockerfile, const BuildOutput& on_output) {
  std::string key = key_of(dockerfile);
  TRY_SET(std::string text, sys::read_file(dockerfile.c_str()).context(dockerfile));
  std::string tag = image_tag(cat("hotcell-devenv-", key), text);
  TRY(build_image(client_, tag, text, on_output, network_));
  tags_[key] = tag;
  return tag;
}

Result<bool> DevEnvManager::is_stale(const std::string& dockerfile) const {
  std::string key = key_of(dockerfile);
  TRY_SET(std::string tag, tag_of(dockerfile, key));
  auto it = tags_.find(key);
  if (it == tags_.end() || it->second != tag) return true;
  TRY_SET(bool there, has_image(client_, tag));
  return !there;
}

Result<void> DevEnvManager::invalidate(const std::string& dockerfile) {
  auto it = tags_.find(key_of(dockerfile));
  if (it == tags_.end()) return {};
  std::string tag = it->second;
  tags_.erase(it);
  TRY_SET(EngineAnswer answer, client_.ask("DELETE", cat("/images/", url_escape(tag), "?force=1")));
  if (answer.ok() || answer.status == 404) return {};
  return make_error(ErrorCode::kIo, cat("the image could not be removed: ", answer.status, ": ", printable(json_message(answer.body))));
}

Result<std::string> DevEnvManager::rebuild_and_force_swap(const std::string& dockerfile, ContainerSandbox& sandbox, const BuildOutput& on_output) {
  std::string key = key_of(dockerfile);
  TRY_SET(SandboxState before, sandbox.inspect());
  // What runs keeps its image until the new one is there: the old tag is taken from it, not the image.
  TRY_SET(std::string tag, tag_of(dockerfile, key));
  TRY(client_.ask("DELETE", cat("/images/", url_escape(tag), "?force=1&noprune=1")));
  TRY_SET(tag, get_or_build(dockerfile, on_output));
  TRY(sandbox.hot_swap(tag));
  if (on_swap_) on_swap_({key, before.image, tag});
  return tag;
}

}  // namespace hotcell::backends
