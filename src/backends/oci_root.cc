#include "backends/oci_root.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>

#include "backends/oci_unpack.h"
#include "backends/tools.h"
#include "base/sha256.h"
#include "base/strings.h"
#include "core/kernel/grants.h"
#include "sys/file.h"
#include "sys/uuid.h"

namespace hotcell::backends {
namespace {

// What the program gets from us, whatever an image has there.
constexpr std::string_view kOurs[] = {"proc", "dev", "sys", "run", "tmp", "work", ".hotcell", "lost+found", ".dockerenv"};

Result<std::string> real_path(const std::string& name, std::string_view setting) {
  char real[PATH_MAX];
  if (::realpath(name.c_str(), real) == nullptr) return errno_error(cat(setting, ": ", printable(name)), errno);
  return std::string(real);
}

Result<std::string> digest_of(int fd) {
  Sha256 sum;
  std::string buffer(1 << 20, '\0');
  for (ssize_t n; (n = ::read(fd, buffer.data(), buffer.size())) != 0;) {
    if (n < 0) return errno_error("the image", errno);
    sum.add({buffer.data(), static_cast<std::size_t>(n)});
  }
  return sum.finish_hex();
}

// Made beside and renamed: who looks there sees the whole image or none.
Result<std::string> once(const std::string& digest, const std::function<Result<void>(int)>& fill) {
  std::string place = cat(oci_cache(), "/", digest), root = cat(place, "/root");
  if (::access(root.c_str(), F_OK) == 0) return root;
  std::error_code failed;
  std::filesystem::create_directories(oci_cache(), failed);
  if (failed) return errno_error(oci_cache(), failed.value());
  std::string part = cat(oci_cache(), "/.part-", sys::random_uuid());
  auto made = [&]() -> Result<void> {
    // An image is read by the users that programs run as: folders of ours on the way can be passed, not listed.
    if (::mkdir(part.c_str(), 0711) < 0 || ::mkdir(cat(part, "/root").c_str(), 0755) < 0) return errno_error(part, errno);
    TRY_SET(sys::Fd into, sys::open(cat(part, "/root").c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
    TRY(fill(into.get()));
    if (::chmod(part.c_str(), 0711) < 0 || ::fchmod(into.get(), 0755) < 0) return errno_error(part, errno);
    if (::rename(part.c_str(), place.c_str()) < 0 && errno != EEXIST && errno != ENOTEMPTY) return errno_error(place, errno);
    return {};
  }();
  std::filesystem::remove_all(part, failed);  // of a failure, or when another was first
  if (!made.ok()) return std::move(made).error();
  return root;
}

// What a large file's digest was, while it is the same file: hashing it anew each time would cost more than the run.
Result<std::string> known_digest(int fd, const std::string& path) {
  TRY_SET(struct stat st, sys::stat_fd(fd, path));
  Sha256 sum;
  sum.add_field(path);
  for (auto n : {static_cast<std::uint64_t>(st.st_dev), static_cast<std::uint64_t>(st.st_ino), static_cast<std::uint64_t>(st.st_size),
                 static_cast<std::uint64_t>(st.st_mtim.tv_sec), static_cast<std::uint64_t>(st.st_mtim.tv_nsec),
                 static_cast<std::uint64_t>(st.st_ctim.tv_sec), static_cast<std::uint64_t>(st.st_ctim.tv_nsec)})
    sum.add_number(n);
  std::string note = cat(oci_cache(), "/seen-", sum.finish_hex());
  if (auto kept = sys::read_link(note.c_str()); kept.ok() && kept.value().size() == 64) return kept.value();
  TRY_SET(std::string digest, digest_of(fd));
  std::error_code ignored;
  std::filesystem::create_directories(oci_cache(), ignored);
  (void)!::symlink(digest.c_str(), note.c_str());  // only saves time
  return digest;
}

Result<std::string> from_tar(const std::string& path) {
  TRY_SET(sys::Fd file, sys::open(path.c_str(), O_RDONLY | O_NONBLOCK));
  TRY_SET(struct stat st, sys::stat_fd(file.get(), path));
  if (!S_ISREG(st.st_mode)) return make_error(ErrorCode::kInvalid, cat("oci.rootfs: ", printable(path), ": neither a folder nor a tar"));
  TRY_SET(std::string digest, known_digest(file.get(), path));
  return once(digest, [&](int into) {
    UnpackBudget budget;
    return unpack_layer(file.get(), into, budget);
  });
}

Result<std::string> from_layout(const std::string& said) {
  // A colon may be in a name: the folder that is there decides.
  std::string layout = said, tag;
  if (::access(cat(layout, "/index.json").c_str(), F_OK) != 0)
    if (auto colon = said.rfind(':'); colon != said.npos && said.find('/', colon) == said.npos) {
      layout = said.substr(0, colon);
      tag = said.substr(colon + 1);
    }
  TRY_SET(std::string real, real_path(layout, "oci.image"));
  std::string manifest;
  TRY_SET(std::string digest, layout_manifest(real, tag, manifest));
  return once(digest, [&](int into) { return unpack_layout(real, manifest, into); });
}

struct stat look(const std::string& path) {
  struct stat st {};
  return ::lstat(path.c_str(), &st) == 0 ? st : (struct stat){};
}

void show(std::vector<Shown>& out, const std::string& root, const std::string& target) {
  std::string source = cat(root, target);
  auto st = look(source);
  if (S_ISLNK(st.st_mode)) {
    if (auto text = sys::read_link(source.c_str())) out.push_back({Shown::Kind::kLink, text.value(), target});
  } else if (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)) {
    out.push_back({Shown::Kind::kBind, source, target, true, S_ISDIR(st.st_mode)});
  }
}

}  // namespace

std::string oci_cache() {
  const char* cache = ::getenv("XDG_CACHE_HOME");
  const char* home = ::getenv("HOME");
  std::string base = cache != nullptr && cache[0] == '/' ? cache : ::geteuid() == 0 ? "/var/cache" : home != nullptr && home[0] == '/' ? cat(home, "/.cache") : "/var/cache";
  return cat(base, "/hotcell-images");  // not below hotcell, which only its owner may enter: runtimes come as somebody else
}

Result<std::string> oci_root(const Settings& settings) {
  std::string folder = settings.get("oci.rootfs"), image = settings.get("oci.image");
  if (!folder.empty() && !image.empty()) return make_error(ErrorCode::kInvalid, "oci.rootfs and oci.image: one root file system, not two");
  if (!image.empty()) return from_layout(image);
  if (folder.empty()) return std::string();
  TRY_SET(std::string real, real_path(folder, "oci.rootfs"));
  if (real.size() == 1) return make_error(ErrorCode::kInvalid, "oci.rootfs: the host's own root is no image");
  return S_ISDIR(look(real).st_mode) ? Result<std::string>(real) : from_tar(real);
}

Result<std::vector<Shown>> view_of_root(const ToolRequest& r, const std::string& root) {
  std::vector<Shown> out;
  TRY_SET(auto names, sys::list_dir(root.c_str()));
  std::sort(names.begin(), names.end());
  for (const auto& name : names) {
    if (std::find(std::begin(kOurs), std::end(kOurs), name) != std::end(kOurs)) continue;
    // /etc piece by piece, with files of ours between: if it is a link in the image there is none of it.
    if (name != "etc") {
      show(out, root, cat("/", name));
      continue;
    }
    if (!S_ISDIR(look(cat(root, "/etc")).st_mode)) continue;
    TRY_SET(auto settings, sys::list_dir(cat(root, "/etc").c_str()));
    std::sort(settings.begin(), settings.end());
    for (const auto& s : settings) {
      auto made = made_etc(r);
      if (std::none_of(made.begin(), made.end(), [&](const Piece& p) { return p.name == cat("etc/", s); })) show(out, root, cat("/etc/", s));
    }
  }
  // Of the host's own view: what it is made of by us, and what the policy grants.
  TRY_SET(auto own, view_sealed(r));
  auto granted = [&](const Shown& s) { return std::any_of(r.policy.filesystem.grants.begin(), r.policy.filesystem.grants.end(), [&](const FsGrant& g) { return normal_path(g.path) == s.target; }); };
  for (auto& s : own) {
    const bool made = s.source.starts_with(cat(r.scratch, "/")) || (!r.etc.empty() && s.source.starts_with(cat(r.etc, "/")));
    bool ours = s.kind == Shown::Kind::kProc || s.kind == Shown::Kind::kDev || s.kind == Shown::Kind::kTmpfs ||
                (s.kind == Shown::Kind::kBind && made) || s.target == "/work";
    if (!ours && !granted(s)) continue;
    if (granted(s))
      for (const auto& shown : out)
        if (shown.kind != Shown::Kind::kBind || shown.folder)
          if (s.target.starts_with(cat(shown.target, "/")) && (shown.kind == Shown::Kind::kLink || look(cat(root, s.target)).st_mode == 0))
            return make_error(ErrorCode::kUnsupported, cat("the image has no ", printable(s.target), " to show what is granted at, and nothing is made in it"));
    out.push_back(std::move(s));
  }
  return out;
}

}  // namespace hotcell::backends
