// An image layout on disk: index.json, blobs by their digests. https://github.com/opencontainers/image-spec (image-layout.md)
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "backends/engine/json.h"
#include "backends/oci_root.h"
#include "backends/oci_unpack.h"
#include "base/sha256.h"
#include "base/strings.h"
#include "sys/file.h"

namespace hotcell::backends {
namespace {

constexpr std::size_t kMostText = 4 << 20;
constexpr std::size_t kMostLayers = 256;
#if defined(__aarch64__)
constexpr std::string_view kMachine = "arm64";
#else
constexpr std::string_view kMachine = "amd64";
#endif

Error wrong(std::string_view layout, std::string_view why) { return make_error(ErrorCode::kInvalid, cat("image ", printable(layout), ": ", why)); }

// Open at its beginning, its digest being what its name says.
Result<sys::Fd> open_blob(const std::string& layout, const std::string& digest) {
  std::string_view hex = std::string_view(digest).substr(std::min<std::size_t>(7, digest.size()));
  if (!digest.starts_with("sha256:") || hex.size() != 64 || hex.find_first_not_of("0123456789abcdef") != hex.npos)
    return wrong(layout, cat(printable(digest.substr(0, 100)), " is no digest that is known here (sha256)"));
  TRY_SET(sys::Fd file, sys::open(cat(layout, "/blobs/sha256/", hex).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  Sha256 sum;
  std::string buffer(1 << 20, '\0');
  for (ssize_t n; (n = ::read(file.get(), buffer.data(), buffer.size())) != 0;) {
    if (n < 0) return errno_error(cat("image ", layout), errno);
    sum.add({buffer.data(), static_cast<std::size_t>(n)});
  }
  if (sum.finish_hex() != hex) return wrong(layout, cat("the blob ", hex, " has another content: its digest is not its name"));
  if (::lseek(file.get(), 0, SEEK_SET) < 0) return errno_error(cat("image ", layout), errno);
  return file;
}

Result<std::string> read_blob(const std::string& layout, const std::string& digest) {
  TRY_SET(sys::Fd file, open_blob(layout, digest));
  return sys::read_fd(file.get(), kMostText);
}

}  // namespace

Result<std::string> layout_manifest(const std::string& layout, const std::string& tag, std::string& manifest) {
  TRY_SET(std::string index, sys::read_file(cat(layout, "/index.json").c_str(), kMostText).context("no image layout"));
  for (int depth = 0; depth < 4; ++depth) {
    auto list = json_descriptors(index, "manifests");
    std::vector<Descriptor> fit;
    std::string tags;
    for (auto& d : list) {
      bool here = d.architecture.empty() || d.architecture == kMachine;
      if (depth == 0 && !d.tag.empty()) tags += cat(tags.empty() ? "" : ", ", printable(d.tag));
      if (here && (tag.empty() || depth > 0 || d.tag == tag)) fit.push_back(std::move(d));
    }
    if (fit.empty() && depth == 0 && !tag.empty()) return wrong(layout, cat("no tag ", printable(tag), tags.empty() ? "" : cat(" (there is ", tags, ")")));
    if (fit.empty()) return wrong(layout, cat("nothing in it is for ", kMachine));
    if (fit.size() > 1 && tag.empty()) return wrong(layout, cat("more than one image: say which, oci.image=", printable(layout), ":TAG", tags.empty() ? "" : cat(" (", tags, ")")));
    TRY_SET(std::string text, read_blob(layout, fit[0].digest));
    // An index may point to another one, for several machines.
    if (!json_has(text, {"manifests"})) {
      manifest = std::move(text);
      return fit[0].digest.substr(7);
    }
    index = std::move(text);
  }
  return wrong(layout, "an index of indexes without end");
}

Result<void> unpack_layout(const std::string& layout, const std::string& manifest, int into) {
  auto layers = json_descriptors(manifest, "layers");
  if (layers.empty()) return wrong(layout, "a manifest without layers");
  if (layers.size() > kMostLayers) return wrong(layout, "more layers than an image may have");
  UnpackBudget budget;
  for (const auto& layer : layers) {
    if (layer.type.find("encrypted") != layer.type.npos) return wrong(layout, "a layer is encrypted");
    TRY_SET(sys::Fd file, open_blob(layout, layer.digest));
    TRY(unpack_layer(file.get(), into, budget));
  }
  return {};
}

}  // namespace hotcell::backends
