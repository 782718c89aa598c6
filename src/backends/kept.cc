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

constexpr std::string_view kFormat = "hotcell suspended 1";
constexpr int kCopying = 300;  // seconds, for the largest workspace

std::string note_of(const Policy& policy, const std::string& tool) { return cat(kFormat, "\n", sha256_hex(to_yaml(policy)), "\n", sha256_hex(tool), "\n"); }

// Contents, modes, owners and links as they are; no link is followed.
Result<void> copy(const std::string& from, const std::string& to) {
  if (run_quietly({"/bin/cp", "-a", "--", cat(from, "/."), to}, kCopying)) return {};
  return make_error(ErrorCode::kIo, cat("the workspace could not be copied to ", printable(to)));
}

// An image is the memory of a kernel: whoever could write it would choose what that kernel does.
Result<void> must_be_ours(const std::string& folder) {
  struct stat st {};
  if (::lstat(folder.c_str(), &st) < 0) return errno_error(printable(folder), errno);
  if (!S_ISDIR(st.st_mode) || st.st_uid != ::geteuid() || (st.st_mode & 077) != 0)
    return make_error(ErrorCode::kDenied, cat(printable(folder), ": not a folder that only we can read and write"));
  return {};
}

}  // namespace

Result<void> make_kept_folder(const std::string& folder) {
  if (!folder.starts_with('/')) return make_error(ErrorCode::kInvalid, cat(printable(folder), ": expected a path from the root"));
  if (::mkdir(folder.c_str(), 0700) < 0) return errno_error(printable(folder), errno);
  return {};
}

Result<void> write_kept(const std::string& folder, const Kept& kept, const Policy& policy, const std::string& tool, const std::string& workspace) {
  std::string work = cat(folder, "/work"), part = cat(folder, "/note.part"), note = cat(folder, "/note");
  if (::mkdir(work.c_str(), 0700) < 0) return errno_error(work, errno);
  TRY(copy(workspace, work));
  TRY_SET(sys::Fd under, sys::open(cat(folder, "/policy.yaml").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  TRY(sys::write_all(under.get(), to_yaml(policy)));
  TRY_SET(sys::Fd file, sys::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  TRY(sys::write_all(file.get(), cat(note_of(policy, tool), kept.id, "\n", kept.platform, "\n")));
  if (::fsync(file.get()) < 0 || ::rename(part.c_str(), note.c_str()) < 0) return errno_error(note, errno);
  return {};
}

Result<Kept> read_kept(const std::string& folder, const Policy& policy, const std::string& tool) {
  TRY(must_be_ours(folder));
  TRY_SET(std::string text, sys::read_file(cat(folder, "/note").c_str(), 4096).context("nothing whole was kept there"));
  auto lines = split(text, '\n'), expected = split(note_of(policy, tool), '\n');
  if (lines.size() != 6 || lines[0] != kFormat) return make_error(ErrorCode::kInvalid, cat(printable(folder), ": not made by this version"));
  if (lines[1] != expected[1]) return make_error(ErrorCode::kInvalid, cat(printable(folder), ": was kept under another policy; it goes on under that one or not at all"));
  if (lines[2] != expected[2]) return make_error(ErrorCode::kUnsupported, cat(printable(folder), ": was kept by another gVisor than the one that is here"));
  auto id = parse_u64(lines[3]);
  if (!id) return make_error(ErrorCode::kInvalid, cat(printable(folder), ": not made by this version"));
  return Kept{static_cast<unsigned>(*id), std::string(lines[4])};
}

Result<Policy> kept_policy(const std::string& folder) {
  TRY(must_be_ours(folder));
  std::string path = cat(folder, "/policy.yaml");
  TRY_SET(std::string text, sys::read_file(path.c_str(), 1 << 20).context("nothing whole was kept there"));
  return parse_profile(text, path, {});
}

Result<void> restore_workspace(const std::string& folder, const std::string& workspace) { return copy(cat(folder, "/work"), workspace); }

}  // namespace hotcell::backends
