#include "backends/view.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>

#include "backends/tools.h"
#include "base/strings.h"
#include "core/kernel/etc_settings.h"
#include "core/kernel/grants.h"
#include "sys/file.h"

namespace hotcell::backends {
namespace {

using Kind = Shown::Kind;

bool is_folder(const std::string& path) {
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode);
}

}  // namespace

std::uint64_t tmpfs_names(Bytes size) { return size.n / 2048 + 1024; }
std::string tmpfs_room(Bytes size) { return cat("size=", size.n, ",nr_inodes=", tmpfs_names(size)); }

std::vector<Piece> made_etc(const ToolRequest& r) {
  std::string resolv;
  if (r.policy.network.mode == NetworkMode::kHost)
    if (auto text = sys::read_file("/etc/resolv.conf")) resolv = text.value();
  return {{"etc/passwd", made_passwd(r.inside != 0 ? r.inside : r.policy.uid, r.inside != 0 ? r.inside : r.policy.gid)},
          {"etc/group", made_group(r.inside != 0 ? r.inside : r.policy.gid)},
          {"etc/hosts", "127.0.0.1 localhost cell\n::1 localhost ip6-localhost ip6-loopback\n"},
          {"etc/hostname", "cell\n"},
          {"etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\n"},
          {"etc/resolv.conf", resolv}};
}

Result<std::vector<Shown>> view(const ToolRequest& r) {
  std::vector<Shown> out;
  struct stat st {};
  if (is_folder("/usr")) out.push_back({Kind::kBind, "/usr", "/usr"});
  for (std::string_view name : {"bin", "sbin", "lib", "lib32", "lib64", "libx32"}) {
    std::string path = cat("/", name);
    if (::lstat(path.c_str(), &st) != 0) continue;
    if (S_ISLNK(st.st_mode)) {
      if (auto target = sys::read_link(path.c_str())) out.push_back({Kind::kLink, target.value(), path});
    } else if (S_ISDIR(st.st_mode)) {
      out.push_back({Kind::kBind, path, path});
    }
  }
  for (const auto& e : etc_settings()) {
    if (!e.leads_to.empty()) out.push_back({Kind::kLink, e.leads_to, e.path});
    else out.push_back({Kind::kBind, e.path, e.path, true, S_ISDIR(e.st.st_mode)});
  }
  const std::string& made = r.etc.empty() ? r.scratch : r.etc;
  for (const auto& piece : made_etc(r)) out.push_back({Kind::kBind, cat(made, "/", piece.name), cat("/", piece.name), true, false});
  out.push_back({Kind::kProc, "", "/proc"});
  out.push_back({Kind::kDev, "", "/dev"});
  bool writable = r.policy.filesystem.writable_scratch;
  out.push_back({Kind::kTmpfs, "", "/tmp", !writable, true, r.policy.limits.disk});
  out.push_back({Kind::kLink, "/tmp", "/var/tmp"});
  out.push_back({Kind::kBind, r.workspace, "/work", !writable, true});
  auto grants = r.policy.filesystem.grants;
  std::stable_sort(grants.begin(), grants.end(), [](const FsGrant& a, const FsGrant& b) { return a.path.size() < b.path.size(); });
  for (const auto& g : grants) {
    // What a native cell refuses no tool can be asked for: some would make folders on the host to mount our parts on.
    const std::string shown = normal_path(g.path);
    TRY(check_place(g, shown));
    if (is_inside(shown, kSealTarget)) return make_error(ErrorCode::kInvalid, cat(g.origin.empty() ? "" : cat(g.origin, ": "), printable(shown), " cannot be granted: the cell has its own"));
    char real[PATH_MAX];
    // By the caller's eyes, once; tools open the name again, which a native cell does not.
    if (::realpath(g.path.c_str(), real) == nullptr) return errno_error(cat(g.origin.empty() ? "grant" : g.origin, ": ", printable(g.path)), errno);
    TRY(check_meaning(g, real));
    if (::stat(real, &st) != 0 || (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)))
      return make_error(ErrorCode::kInvalid, cat(printable(g.path), ": only files and folders can be shown"));
    // Nothing can be mounted on a link of ours: where one stands in the way there is a folder instead.
    std::erase_if(out, [&](const Shown& s) { return s.kind == Kind::kLink && s.target == "/var/tmp" && is_inside(shown, s.target); });
    out.push_back({Kind::kBind, real, shown, g.access == Access::kRead, S_ISDIR(st.st_mode) != 0});
  }
  return out;
}

Result<std::vector<Shown>> view_sealed(const ToolRequest& r) {
  TRY_SET(auto out, view(r));
  out.push_back({Kind::kBind, cat(r.etc.empty() ? r.scratch : r.etc, "/", kSealFolder), std::string(kSealTarget)});
  return out;
}

void show_own_seal(const ToolRequest& r, std::vector<Shown>& shown) {
  for (auto& s : shown)
    if (s.target == kSealTarget) s.source = cat(r.scratch, "/", kSealFolder);
}

std::vector<Piece> own_seal_pieces() { return {seal_piece(), told_piece()}; }

Result<std::vector<Piece>> sealed_pieces(const ToolRequest& r) {
  TRY_SET(auto out, seal_pieces(r.policy));
  for (auto& piece : made_etc(r)) out.push_back(std::move(piece));
  return out;
}

void grants_without_devices(const ToolRequest& r, ToolPlan& plan) {
  const auto& grants = r.policy.filesystem.grants;
  if (grants.empty() || plan.argv.empty()) return;
  std::vector<std::string> before = {cat(r.scratch, "/", kHarmless)};
  for (const auto& g : grants) {
    char real[PATH_MAX];
    before.push_back(::realpath(g.path.c_str(), real) == nullptr ? g.path : std::string(real));
  }
  before.emplace_back("--");
  plan.argv.insert(plan.argv.begin(), before.begin(), before.end());
  plan.pieces.push_back(harmless_piece());
}

std::vector<Shown> uncovered(std::vector<Shown> shown) {
  for (std::size_t i = shown.size(); i-- > 0;) {
    auto same = [&](const Shown& later) { return later.target == shown[i].target; };
    if (std::any_of(shown.begin() + static_cast<std::ptrdiff_t>(i) + 1, shown.end(), same)) shown.erase(shown.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return shown;
}

bool shows_host_at(const std::vector<Shown>& shown, std::string_view target) {
  return std::any_of(shown.begin(), shown.end(), [&](const Shown& s) { return s.kind == Shown::Kind::kBind && s.target == target; });
}

std::vector<Piece> skeleton(const std::vector<Shown>& shown, std::string_view prefix) {
  std::vector<Piece> out;
  // What is mounted later, over both, is no place for it.
  auto inside = [&](const Shown& one) {
    return std::any_of(shown.data(), &one, [&](const Shown& s) {
      // Below a link too: a name there would be made wherever the link leads, on the host.
      return ((s.kind == Kind::kBind && s.folder) || s.kind == Kind::kLink) && one.target != s.target && is_inside(one.target, s.target);
    });
  };
  for (const auto& s : shown) {
    if (inside(s)) continue;  // it is there already: the same tree
    std::string name = cat(prefix, s.target);
    if (s.kind == Kind::kLink) out.push_back({name, s.source, Piece::Kind::kLink});
    else if (s.kind == Kind::kBind && !s.folder) out.push_back({name, "", Piece::Kind::kFile});
    // Some runtimes give a tmpfs the mode of the folder below it, whatever they are told.
    else out.push_back({name, "", Piece::Kind::kFolder, s.kind == Kind::kTmpfs ? 01777u : 0755u});
  }
  return out;
}

}  // namespace hotcell::backends
