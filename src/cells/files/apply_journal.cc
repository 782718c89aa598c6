#include "cells/files/apply_journal.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "cells/files/beside.h"
#include "cells/files/codec.h"
#include "cells/files/tree.h"
#include "sys/fault.h"
#include "sys/file.h"

namespace hotcell::cells {
namespace {

constexpr std::string_view kHead = "hotcell-apply 1";
constexpr std::size_t kLargest = 1 << 30;

Error damaged(const std::string& folder, std::size_t line) {
  return make_error(ErrorCode::kInvalid, cat(printable(folder), "/", kJournalFile, ":", line, ": not understood"));
}

std::optional<OnRefusal> refusal(std::string_view word) {
  if (word.size() != 1 || word[0] < '0' || word[0] > '2') return std::nullopt;
  return static_cast<OnRefusal>(word[0] - '0');
}

bool read_option(ApplyOptions& o, std::string_view key, std::string_view word) {
  auto text = decode_word(word);
  if (!text) return false;
  if (key == "path") return o.paths.push_back(*text), true;
  if (key == "protect") return o.protected_paths.push_back(*text), true;
  if (key == "force") return o.force = word == "1", true;
  if (key == "like_project") return o.owners = word == "1" ? Owners::kLikeProject : Owners::kKeep, true;
  if (key == "base") {
    auto time = decode_time(word);
    if (time) o.base = *time;
    return time.has_value();
  }
  if (key != "on_protected" && key != "on_outward_link") return false;
  auto value = refusal(word);
  if (value) (key == "on_protected" ? o.on_protected : o.on_outward_link) = *value;
  return value.has_value();
}

}  // namespace

Result<void> write_state_file(const std::string& folder, const char* name, std::string_view text) {
  TRY_SET(sys::Fd at, sys::open(folder.c_str(), O_RDONLY | O_DIRECTORY));
  const std::string temporary = temporary_name(name, "new");
  {
    TRY_SET(sys::Fd out, sys::open_at(at.get(), temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
    auto written = sys::write_all(out.get(), text);
    if (written.ok() && ::fsync(out.get()) < 0) written = errno_error("sync", errno);
    if (!written.ok()) {
      ::unlinkat(at.get(), temporary.c_str(), 0);
      return written;
    }
  }
  if (::renameat(at.get(), temporary.c_str(), at.get(), name) < 0) return errno_error(cat("rename ", name), errno);
  if (::fsync(at.get()) < 0) return errno_error("sync", errno);
  return {};
}

Result<void> write_journal(const std::string& folder, const Journal& journal) {
  const ApplyOptions& o = journal.options;
  std::string text = cat(kHead, "\nstarted ", encode_time(journal.started), "\nbase ", encode_time(o.base), "\nforce ", o.force ? 1 : 0,
                         "\nlike_project ", o.owners == Owners::kLikeProject ? 1 : 0, "\non_protected ", static_cast<int>(o.on_protected),
                         "\non_outward_link ", static_cast<int>(o.on_outward_link), "\n");
  for (const auto& path : o.paths) text += cat("path ", encode_word(path), "\n");
  for (const auto& pattern : o.protected_paths) text += cat("protect ", encode_word(pattern), "\n");
  if (o.approved)
    for (const auto& [path, digest] : *o.approved) text += cat("approved ", encode_word(path), " ", encode_word(digest), "\n");
  for (const auto& s : journal.steps) text += cat("step ", encode_word(s.target), " ", encode_word(s.temporary), "\n");
  text += "end\n";
  return write_state_file(folder, kJournalFile, text);
}

Result<std::optional<Journal>> read_journal(const std::string& folder) {
  auto text = sys::read_file(cat(folder, "/", kJournalFile).c_str(), kLargest);
  if (!text.ok()) {
    if (text.error().err == ENOENT) return std::optional<Journal>();
    return std::move(text).error();
  }
  Journal out;
  out.options.protected_paths.clear();
  bool ended = false;
  std::size_t number = 0;
  for (auto line : split(text.value(), '\n')) {
    ++number;
    if (number == 1 ? line != kHead : ended && !line.empty()) return damaged(folder, number);
    if (number == 1 || line.empty()) continue;
    if (line == "end") {
      ended = true;
      continue;
    }
    auto words = split(line, ' ');
    if (words[0] == "approved" && words.size() == 3) {
      auto path = decode_word(words[1]), digest = decode_word(words[2]);
      if (!path || !digest) return damaged(folder, number);
      if (!out.options.approved) out.options.approved.emplace();
      out.options.approved->emplace(*path, *digest);
    } else if (words[0] == "step" && words.size() == 3) {
      auto target = decode_word(words[1]), temporary = decode_word(words[2]);
      if (!target || !temporary || !is_clean_path(*target) || (!temporary->empty() && !is_clean_path(*temporary)))
        return damaged(folder, number);
      out.steps.push_back({*target, *temporary});
    } else if (words[0] == "started" && words.size() == 2 && decode_time(words[1])) {
      out.started = *decode_time(words[1]);
    } else if (words.size() != 2 || !read_option(out.options, words[0], words[1])) {
      return damaged(folder, number);
    }
  }
  if (!ended) return damaged(folder, number);
  return std::optional(std::move(out));
}

Result<void> remove_journal(const std::string& folder) {
  TRY_SET(sys::Fd at, sys::open(folder.c_str(), O_RDONLY | O_DIRECTORY));
  if (::unlinkat(at.get(), kJournalFile, 0) < 0 && errno != ENOENT) return errno_error(cat("remove ", kJournalFile), errno);
  if (::fsync(at.get()) < 0) return errno_error("sync", errno);
  return {};
}

Result<Applied> read_applied(const std::string& folder) {
  Applied out;
  auto text = sys::read_file(cat(folder, "/", kAppliedFile).c_str(), kLargest);
  if (!text.ok() && text.error().err == ENOENT) return out;
  if (!text.ok()) return std::move(text).error();
  for (auto line : split(text.value(), '\n')) {
    auto words = split(line, ' ');
    if (words.size() != 2) continue;
    auto time = decode_time(words[0]);
    auto path = decode_word(words[1]);
    // A line that is lost makes a conflict of a file that has none: asked about, never overwritten.
    if (time && path) out[*path] = *time;
  }
  return out;
}

Result<void> write_applied(const std::string& folder, const Applied& applied) {
  std::string text;
  for (const auto& [path, time] : applied) text += cat(encode_time(time), " ", encode_word(path), "\n");
  return write_state_file(folder, kAppliedFile, text);
}

}  // namespace hotcell::cells
