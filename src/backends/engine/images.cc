// Images by the content of their recipes: built when they are not there, listed with their age.
#include <algorithm>
#include <chrono>

#include "backends/engine/dockerfile.h"
#include "backends/engine/json.h"
#include "backends/engine/sandbox.h"
#include "base/strings.h"
#include "sys/file.h"

namespace hotcell::backends {

Result<bool> has_image(const EngineClient& client, const std::string& tag) {
  TRY_SET(EngineAnswer answer, client.ask("GET", cat("/images/", url_escape(tag), "/json")));
  if (answer.ok() || answer.status == 404) return answer.ok();
  return make_error(ErrorCode::kIo, cat("the engine does not tell of its images: ", answer.status));
}

Result<void> build_image(const EngineClient& client, const std::string& tag, std::string_view dockerfile, const BuildOutput& on_output,
                         BuildNetwork network) {
  TRY(check_recipe(dockerfile));
  TRY_SET(bool there, has_image(client, tag));
  if (there) return {};
  std::string failed, refused, line;
  // One JSON object on each line: what is said, or why it failed. A step may be silent for long.
  auto on_bytes = [&](std::string_view bytes) -> Result<void> {
    line += bytes;
    for (std::size_t at; (at = line.find('\n')) != line.npos; line.erase(0, at + 1)) {
      std::string one = line.substr(0, at);
      if (auto said = json_text(one, {"stream"}); said && on_output) on_output(*said);
      if (auto error = json_text(one, {"error"})) failed = *error;
      else if (auto message = json_text(one, {"message"})) refused = *message;  // it was not begun: all that is said is why
      else if (!one.empty() && one[0] != '{') refused = one.substr(0, 300);
    }
    if (line.size() > (1u << 20)) return make_error(ErrorCode::kIo, "a line of a build without an end");
    return {};
  };
  TRY_SET(int status, client.follow("POST", cat("/build?t=", url_escape(tag), "&dockerfile=Dockerfile&rm=1&forcerm=1", network == BuildNetwork::kNone ? "&networkmode=none" : ""), build_context(dockerfile),
                                    "application/x-tar", on_bytes, std::chrono::minutes(10)));
  if (!line.empty()) TRY(on_bytes("\n"));  // the last one may have no end
  if (failed.empty() && status != 200) failed = cat(status, ": ", refused.empty() ? "the engine says no more" : refused);
  TRY_SET(there, has_image(client, tag));
  if (status == 200 && failed.empty() && there) return {};
  return make_error(ErrorCode::kUnsupported, cat("build of ", tag, ": ", failed.empty() ? "the engine says nothing, and there is no image" : printable(failed)));
}

Result<std::string> build_from_dockerfile(const EngineClient& client, const std::string& path, const BuildOutput& on_output, BuildNetwork network) {
  TRY_SET(std::string text, sys::read_file(path.c_str()).context(path));
  std::string tag = image_tag("hotcell-sandbox", text);
  TRY(build_image(client, tag, text, on_output, network));
  return tag;
}

Result<std::vector<CachedImage>> cached_images(const EngineClient& client) {
  TRY_SET(std::string text, client.demand("GET", "/images/json"));
  std::vector<CachedImage> out;
  auto now = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch());
  for (const auto& [tag, made] : json_images(text)) {
    // Podman puts where it believes it to be from before the name.
    auto name = tag.substr(tag.rfind('/') == tag.npos ? 0 : tag.rfind('/') + 1);
    auto colon = name.find(':');
    if (name.starts_with("hotcell-") && colon != name.npos) out.push_back({name, name.substr(colon + 1), now - std::chrono::seconds(made)});
  }
  std::sort(out.begin(), out.end(), [](const CachedImage& a, const CachedImage& b) { return a.tag < b.tag; });
  return out;
}

}  // namespace hotcell::backends
