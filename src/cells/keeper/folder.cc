#include "cells/keeper/folder.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "base/strings.h"
#include "cells/files/apply_journal.h"
#include "cells/files/steps.h"
#include "core/policy/profile.h"
#include "sys/file.h"
#include "sys/uuid.h"

namespace hotcell::cells {
namespace {

constexpr std::string_view kNew = ".new-", kGone = ".gone-";

Result<void> make_folder(const std::string& path, mode_t mode) {
  about_to_change();
  if (::mkdir(path.c_str(), mode) < 0) return errno_error(cat("mkdir ", printable(path)), errno);
  return {};
}

Result<void> sync_folder(const std::string& path) {
  TRY_SET(sys::Fd fd, sys::open(path.c_str(), O_RDONLY | O_DIRECTORY));
  if (::fsync(fd.get()) < 0) return errno_error(cat("fsync ", printable(path)), errno);
  return {};
}

// Ours alone, and what overlayfs has made in `work` has mode 000: an ordinary user must open it first.
void remove_all(const std::string& path) {
  std::error_code ignored;
  ::chmod(cat(path, "/work/work").c_str(), 0700);
  std::filesystem::remove_all(path, ignored);
  if (!std::filesystem::exists(path, ignored)) return;
  for (auto it = std::filesystem::recursive_directory_iterator(path, std::filesystem::directory_options::skip_permission_denied, ignored);
       it != std::filesystem::recursive_directory_iterator(); it.increment(ignored)) {
    if (ignored) break;
    if (it->is_directory(ignored) && !it->is_symlink(ignored)) ::chmod(it->path().c_str(), 0700);
  }
  std::filesystem::remove_all(path, ignored);
}

// The cell's user is the project's owner (core/launch/idmap.cc), so the workspace's top is theirs.
Result<void> give_to_owner(const std::string& path, const std::string& project) {
  struct stat st {};
  if (project.empty()) return {};
  if (::stat(project.c_str(), &st) < 0) return errno_error(printable(project), errno);
  if (::geteuid() == 0 && ::chown(path.c_str(), st.st_uid, st.st_gid) < 0) return errno_error(cat("chown ", printable(path)), errno);
  if (::chmod(path.c_str(), st.st_mode & 0777) < 0) return errno_error(cat("chmod ", printable(path)), errno);
  return {};
}

}  // namespace

Result<std::string> make_cells_folder(const std::string& state) {
  std::string cells = cat(state, "/cells");
  std::error_code failed;
  std::filesystem::create_directories(std::filesystem::path(state).parent_path(), failed);
  // What else is kept there (the audit log, keys) wants a folder that is closed to everybody else.
  if (!failed && ::mkdir(state.c_str(), 0700) < 0 && errno != EEXIST) failed = std::error_code(errno, std::generic_category());
  if (failed) return Error{ErrorCode::kIo, failed.value(), cat("state folder ", printable(state), ": ", failed.message())};
  if (::mkdir(cells.c_str(), 0700) < 0 && errno != EEXIST) return errno_error(cat("mkdir ", printable(cells)), errno);
  struct stat st {};
  if (::lstat(cells.c_str(), &st) < 0) return errno_error(printable(cells), errno);
  if (!S_ISDIR(st.st_mode) || st.st_uid != ::geteuid()) return make_error(ErrorCode::kDenied, cat(printable(cells), " is not a folder of ours"));
  if ((st.st_mode & 077) != 0 && ::chmod(cells.c_str(), 0700) < 0) return errno_error(cat("chmod ", printable(cells)), errno);
  return cells;
}

bool is_cell_name(std::string_view name) {
  auto word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= 64 && word(name[0]) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return word(c) || c == '-' || c == '_' || c == '.'; });
}

std::string new_cell_id() {
  std::string hex = sys::random_hex();
  return hex.empty() ? hex : cat("c-", hex);
}

Result<std::vector<StoredCell>> list_cells(const std::string& cells, std::vector<std::string>* broken) {
  TRY_SET(auto names, sys::list_dir(cells.c_str()));
  std::vector<StoredCell> out;
  for (const auto& name : names) {
    if (!name.starts_with("c-")) continue;
    std::string folder = cat(cells, "/", name);
    auto record = load_record(folder);
    if (record.ok() && record.value().id == name) out.push_back({std::move(record).value(), folder});
    else if (broken != nullptr) broken->push_back(record.ok() ? cat(folder, ": the record is another cell's") : record.error().message);
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.record.created > b.record.created; });
  return out;
}

Result<std::string> make_cell(const std::string& cells, const CellRecord& record, const Policy& policy, const std::string& upper_from) {
  std::string making = cat(cells, "/", kNew, record.id), final_path = cat(cells, "/", record.id);
  auto make = [&]() -> Result<void> {
    TRY(make_folder(making, 0700));
    if (upper_from.empty()) {
      TRY(make_folder(cat(making, "/upper"), 0755));
    } else if (::rename(upper_from.c_str(), cat(making, "/upper").c_str()) < 0) {
      return errno_error(cat("rename ", printable(upper_from)), errno);
    }
    for (const char* name : {"/work", "/empty", "/snapshots"}) TRY(make_folder(cat(making, std::string_view(name)), name == std::string_view("/snapshots") ? 0700 : 0755));
    for (const char* name : {"/upper", "/work"}) TRY(give_to_owner(cat(making, std::string_view(name)), record.project));
    TRY(replace_file(cat(making, "/policy.yaml"), to_yaml(policy)));
    TRY(save_record(making, record));
    about_to_change();
    if (::rename(making.c_str(), final_path.c_str()) < 0) return errno_error(cat("rename ", printable(making)), errno);
    about_to_change();
    return sync_folder(cells);
  };
  auto made = make();
  if (made.ok()) return final_path;
  remove_all(making);
  return std::move(made).error();
}

Result<Policy> load_policy(const std::string& folder) {
  std::string path = cat(folder, "/policy.yaml");
  TRY_SET(std::string text, sys::read_file(path.c_str(), 4 << 20));
  ProfileSearch nothing;
  nothing.read_files = false;
  return parse_profile(text, path, nothing);
}

Result<void> fresh_work_folder(const std::string& folder) {
  std::string work = cat(folder, "/work"), away = cat(folder, "/", kGone, sys::random_uuid());
  struct stat st {};
  if (::stat(cat(folder, "/upper").c_str(), &st) < 0) return errno_error(cat(printable(folder), "/upper"), errno);
  if (::rename(work.c_str(), away.c_str()) < 0 && errno != ENOENT) return errno_error(cat("rename ", printable(work)), errno);
  TRY(make_folder(work, 0755));
  if (::geteuid() == 0 && ::chown(work.c_str(), st.st_uid, st.st_gid) < 0) return errno_error(cat("chown ", printable(work)), errno);
  ::chmod(cat(away, "/work").c_str(), 0700);
  remove_all(away);
  return {};
}

Result<void> remove_cell(const std::string& cells, const std::string& id) {
  std::string away = cat(cells, "/", kGone, id);
  about_to_change();
  if (::rename(cat(cells, "/", id).c_str(), away.c_str()) < 0) return errno_error(cat("rename ", printable(id)), errno);
  TRY(sync_folder(cells));
  about_to_change();
  remove_all(away);
  return {};
}

void sweep(const std::string& cells) {
  auto names = sys::list_dir(cells.c_str());
  if (!names.ok()) return;
  for (const auto& name : names.value())
    if (name.starts_with(kNew) || name.starts_with(kGone)) remove_all(cat(cells, "/", name));
}

bool left_unfinished(const std::string& state) {
  const std::string cells = cat(state, "/cells");
  auto names = sys::list_dir(cells.c_str());
  return names.ok() && std::any_of(names.value().begin(), names.value().end(),
                                   [&](const auto& name) { return ::access(cat(cells, "/", name, "/", kJournalFile).c_str(), F_OK) == 0; });
}

}  // namespace hotcell::cells
