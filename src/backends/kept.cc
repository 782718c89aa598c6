#include "backends/kept.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "backends/scratch.h"
#include "base/sha256.h"
#include "base/strings.h"
#include "core/policy/profile.h"
#include "sys/file.h"

namespace hotcell::backends {
namespace {

constexpr std::string_view kFormat = "hotcell suspended 2";
constexpr std::size_t kLongestPolicy = 1 << 20;
constexpr int kCopying = 300;  // seconds, for the largest workspace

std::string note_of(const KeptUnder& under) {
  return cat(kFormat, "\n", sha256_hex(to_yaml(under.policy)), "\n", sha256_hex(under.tool), "\n", under.settings, "\n");
}

// Contents, modes, owners and links as they are; no link is followed.
Result<void> copy(const std::string& from, const std::string& to) {
  if (run_quietly({"/bin/cp", "-a", "--", cat(from, "/."), to}, kCopying)) return {};
  return make_error(ErrorCode::kIo, cat("the workspace could not be copied to ", printable(to)));
}

// An image is the memory of a kernel: whoever could write it, or put another in its place, would choose what that kernel does.
Result<void> must_be_ours_alone(const std::string& folder) {
  struct stat st {};
  for (std::size_t end = 0; end != folder.npos;) {
    end = folder.find('/', end + 1);
    std::string part = folder.substr(0, end);
    if (::lstat(part.c_str(), &st) < 0) return errno_error(printable(part), errno);
    if (!S_ISDIR(st.st_mode)) return make_error(ErrorCode::kDenied, cat(printable(part), ": not a folder (a link on the way to it may lead elsewhere a moment later)"));
    const bool others_write = (st.st_mode & 022) != 0 && (st.st_mode & S_ISVTX) == 0;
    if ((st.st_uid != 0 && st.st_uid != ::geteuid()) || others_write)
      return make_error(ErrorCode::kDenied, end == folder.npos ? cat(printable(folder), ": not a folder that only we can read and write")
                                                               : cat(printable(folder), ": others can exchange it, since they can write ", printable(part)));
  }
  if (st.st_uid != ::geteuid() || (st.st_mode & 077) != 0) return make_error(ErrorCode::kDenied, cat(printable(folder), ": not a folder that only we can read and write"));
  return {};
}

}  // namespace

Result<void> make_kept_folder(const std::string& folder, const Policy& policy) {
  if (!folder.starts_with('/')) return make_error(ErrorCode::kInvalid, cat(printable(folder), ": expected a path from the root"));
  for (const auto& g : policy.filesystem.grants)
    if (g.access == Access::kWrite && folder.starts_with(g.path) && (folder.size() == g.path.size() || g.path.ends_with('/') || folder[g.path.size()] == '/'))
      return make_error(ErrorCode::kInvalid, cat(printable(folder), ": the program can write there (", printable(g.path), ")"));
  std::string yaml = to_yaml(policy);
  auto again = yaml.size() <= kLongestPolicy ? parse_profile(yaml, "policy.yaml", {}) : make_error(ErrorCode::kLimit, "it is too long");
  if (!again.ok() || to_yaml(again.value()) != yaml)
    return make_error(ErrorCode::kUnsupported, cat("its policy cannot be written down: ", again.ok() ? "it holds bytes that are no text" : again.error().message));
  if (::mkdir(folder.c_str(), 0700) < 0) return errno_error(printable(folder), errno);
  auto ours = must_be_ours_alone(folder);
  if (!ours.ok()) ::rmdir(folder.c_str());
  return ours;
}

Result<void> write_kept(const std::string& folder, const Kept& kept, const KeptUnder& under, const std::string& workspace) {
  TRY(must_be_ours_alone(folder));
  std::string work = cat(folder, "/work"), part = cat(folder, "/note.part"), note = cat(folder, "/note");
  if (::mkdir(work.c_str(), 0700) < 0) return errno_error(work, errno);
  TRY(copy(workspace, work));
  TRY_SET(sys::Fd policy, sys::open(cat(folder, "/policy.yaml").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  TRY(sys::write_all(policy.get(), to_yaml(under.policy)));
  TRY_SET(sys::Fd file, sys::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  TRY(sys::write_all(file.get(), cat(note_of(under), kept.id, "\n", kept.platform, "\n")));
  if (::fsync(file.get()) < 0 || ::rename(part.c_str(), note.c_str()) < 0) return errno_error(note, errno);
  return {};
}

Result<Kept> read_kept(const std::string& folder, const KeptUnder& under) {
  TRY(must_be_ours_alone(folder));
  TRY_SET(std::string text, sys::read_file(cat(folder, "/note").c_str(), 64 << 10).context("nothing whole was kept there"));
  auto lines = split(text, '\n'), expected = split(note_of(under), '\n');
  if (lines.size() != 7 || lines[0] != kFormat) return make_error(ErrorCode::kInvalid, cat(printable(folder), ": not made by this version"));
  if (lines[1] != expected[1]) return make_error(ErrorCode::kInvalid, cat(printable(folder), ": was kept under another policy; it goes on under that one or not at all"));
  if (lines[2] != expected[2]) return make_error(ErrorCode::kUnsupported, cat(printable(folder), ": was kept by another gVisor than the one that is here"));
  if (lines[3] != expected[3])
    return make_error(ErrorCode::kInvalid, cat(printable(folder), ": was kept ", lines[3].empty() ? "without --backend-option" : cat("with --backend-option ", printable(lines[3])),
                                               ", and goes on in the same way"));
  auto id = parse_u64(lines[4]);
  if (!id) return make_error(ErrorCode::kInvalid, cat(printable(folder), ": not made by this version"));
  return Kept{static_cast<unsigned>(*id), std::string(lines[5])};
}

Result<Policy> kept_policy(const std::string& folder) {
  TRY(must_be_ours_alone(folder));
  std::string path = cat(folder, "/policy.yaml");
  TRY_SET(std::string text, sys::read_file(path.c_str(), kLongestPolicy).context("nothing whole was kept there"));
  return parse_profile(text, path, {});
}

Result<void> restore_workspace(const std::string& folder, const std::string& workspace) { return copy(cat(folder, "/work"), workspace); }

}  // namespace hotcell::backends
