// Reading the audit log: is it whole, and what does it say.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/strings.h"
#include "store/audit_chain.h"
#include "store/schema.h"
#include "sys/file.h"

namespace hotcell {

namespace {

constexpr std::size_t kMostBytes = 1 << 30;  // of one file; ours are a few MiB

struct OpenFile {
  std::string name;
  std::uint64_t first = 0;  // 0: the one that is being written
  sys::Fd fd;
};

// Oldest first. The current file is opened before the folder is listed: when it becomes a full one meanwhile, we have it
// twice and take it once; the other way round we would have missed it.
Result<std::vector<OpenFile>> open_files(const std::string& folder) {
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  TRY_SET(sys::Fd opened, open_state_folder(folder));
  std::vector<OpenFile> files;
  auto current = sys::open_at(opened.get(), kAuditFile, kFlags);
  if (!current.ok() && current.error().err != ENOENT) return std::move(current).error();
  sys::Fd last = std::move(current).value_or(sys::Fd());
  struct stat now {};
  if (last.valid()) {
    TRY_SET(now, sys::stat_fd(last.get(), kAuditFile));
  }
  TRY_SET(auto full, full_audit_files(folder));
  for (auto& file : full) {
    auto fd = sys::open_at(opened.get(), file.name.c_str(), kFlags);
    if (!fd.ok()) {
      if (fd.error().err == ENOENT) continue;  // the oldest was just removed; else its lines will be missed
      return std::move(fd).error();
    }
    TRY_SET(struct stat s, sys::stat_fd(fd.value().get(), file.name));
    if (last.valid() && s.st_ino == now.st_ino && s.st_dev == now.st_dev) last.reset();
    files.push_back({std::move(file.name), file.first, std::move(fd).value()});
  }
  if (last.valid()) files.push_back({kAuditFile, 0, std::move(last)});
  return files;
}

AuditVerdict bad(AuditVerdict verdict, std::string_view file, std::uint64_t line, std::string why) {
  verdict.ok = false;
  verdict.file = file;
  verdict.line = line;
  verdict.why = std::move(why);
  return verdict;
}

Result<AuditVerdict> verify_once(const std::string& folder, const ChainPoint& start, const ChainPoint& head) {
  TRY_SET(auto files, open_files(folder));
  AuditVerdict verdict;
  ChainPoint point = start;
  std::string why;
  std::uint64_t line = 0;
  for (const auto& file : files) {
    if (file.first != 0 && file.first <= start.count) continue;  // about to be removed
    TRY_SET(std::string text, sys::read_fd(file.fd.get(), kMostBytes).context(file.name));
    line = 0;
    std::string_view rest = text;
    while (!rest.empty()) {
      auto end = rest.find('\n');
      ++line;
      if (end == std::string_view::npos) {
        if (file.first == 0 && point.count >= head.count) break;  // being written, or a crash's: never counted
        return bad(verdict, file.name, line, "the line is cut short");
      }
      auto next = follow(point, rest.substr(0, end), why);
      if (!next) return bad(verdict, file.name, line, why);
      point = std::move(*next);
      ++verdict.entries;
      if (point.count == head.count && point.hash != head.hash) {
        return bad(verdict, file.name, line, "this is not the line that was counted here: the end was replaced");
      }
      rest.remove_prefix(end + 1);
    }
  }
  if (point.count < head.count) {
    return bad(verdict, kAuditFile, line + 1, cat("lines ", point.count + 1, " to ", head.count, " are missing at the end"));
  }
  return verdict;
}

}  // namespace

Result<AuditVerdict> verify_audit(const std::string& folder) {
  TRY_SET(Settings settings, Settings::open(store_file(folder)));
  for (int attempt = 0;; ++attempt) {
    // The count first: a daemon that writes meanwhile can only have more in its files.
    TRY_SET(ChainPoint start, read_start(settings));
    TRY_SET(ChainPoint head, read_head(settings));
    TRY_SET(AuditVerdict verdict, verify_once(folder, start, head));
    if (verdict.ok || attempt == 2) return verdict;
    TRY_SET(ChainPoint later, read_start(settings));
    if (later.count == start.count) return verdict;  // else files were removed while we read them
  }
}

Result<std::vector<AuditLine>> read_audit(const std::string& folder, std::uint64_t before, std::size_t limit) {
  TRY_SET(auto files, open_files(folder));
  std::vector<AuditLine> out;
  for (auto file = files.rbegin(); file != files.rend() && out.size() < limit; ++file) {
    if (before != 0 && file->first >= before) continue;
    TRY_SET(std::string text, sys::read_fd(file->fd.get(), kMostBytes).context(file->name));
    std::string_view rest(text.data(), text.rfind('\n') + 1);
    while (!rest.empty() && out.size() < limit) {
      rest.remove_suffix(1);
      auto from = rest.rfind('\n') + 1;  // 0 when it is the first
      auto line = rest.substr(from);
      auto place = place_of(line);
      if (place && (before == 0 || place->number < before)) out.push_back({place->number, std::string(line)});
      rest = rest.substr(0, from);
    }
  }
  return out;
}

}  // namespace hotcell
