#include "cells/keeper/file_answers.h"

#include <time.h>

#include <algorithm>
#include <cstdio>

#include "base/json_write.h"
#include "base/strings.h"
#include "cells/files/seen.h"

namespace hotcell::cells {
namespace {

std::string plural(std::uint64_t n, std::string_view one) { return cat(n, " ", one, n == 1 ? "" : "s"); }

std::string label_of(const SnapshotInfo& info) {
  std::string name = info.file.substr(info.file.rfind('/') + 1);
  if (name.ends_with(kSnapshotSuffix)) name.resize(name.size() - kSnapshotSuffix.size());
  return name;
}

void put_snapshot(JsonWriter& w, const SnapshotInfo& info) {
  w.begin_object();
  w.field("label", label_of(info));
  w.field("file", std::string_view(info.file));
  w.field("size", info.size.n);
  w.field("content", info.content.n);
  w.field("entries", info.entries);
  w.field("created_at", rfc3339(info.created));
  w.key("left_out");
  w.begin_array();
  for (const auto& what : info.left_out) w.value(std::string_view(what));
  w.end_array();
  w.end_object();
}

std::string what_of(const Change& c) {
  switch (c.kind) {
    case ChangeKind::kType: return cat(to_string(c.old_type), " became ", to_string(c.type));
    case ChangeKind::kMode: {
      if (c.mode == c.old_mode) return c.owner_changed ? "another owner" : "other attributes";
      char text[32];
      std::snprintf(text, sizeof text, "mode %04o became %04o", c.old_mode, c.mode);
      return text;
    }
    default: break;
  }
  if (c.type == FileType::kSymlink) return cat("-> ", printable(c.target));
  if (c.binary) return cat("binary ", c.old_type == FileType::kFile ? c.old_size : 0, " -> ", c.type == FileType::kFile ? c.size : 0, " bytes");
  if (!c.patch_left_out.empty()) return c.patch_left_out;
  return {};
}

}  // namespace

std::string diff_stat(const Diff& diff) {
  constexpr std::size_t kWidest = 60, kMarks = 40;
  static constexpr char kLetters[] = {'A', 'M', 'D', 'T', 'm'};
  if (diff.changes.empty()) return "no changes\n";
  std::vector<std::string> names;
  std::size_t width = 0;
  std::uint64_t most = 1;
  for (const auto& c : diff.changes) {
    const bool folder = c.type == FileType::kFolder || (c.type == FileType::kNone && c.old_type == FileType::kFolder);
    names.push_back(cat(printable(c.path), folder ? "/" : ""));
    width = std::max(width, std::min(names.back().size(), kWidest));
    most = std::max(most, c.lines_added + c.lines_removed);
  }
  std::string out;
  for (std::size_t i = 0; i < diff.changes.size(); ++i) {
    const Change& c = diff.changes[i];
    std::string line = cat(" ", kLetters[static_cast<std::size_t>(c.kind)], " ", names[i]);
    const std::uint64_t lines = c.lines_added + c.lines_removed;
    const std::string what = what_of(c);
    if (lines > 0 || !what.empty()) line += cat(std::string(names[i].size() < width ? width - names[i].size() : 0, ' '), " | ");
    if (!what.empty()) {
      line += what;
    } else if (lines > 0) {
      // As many marks as lines where they all fit, else in proportion; one at least for each kind.
      auto marks = [&](std::uint64_t n) { return n == 0 ? 0 : most <= kMarks ? n : std::max<std::uint64_t>(1, n * kMarks / most); };
      line += cat(lines, " ", std::string(marks(c.lines_added), '+'), std::string(marks(c.lines_removed), '-'));
    }
    out += line + "\n";
  }
  out += cat(" ", plural(diff.changes.size(), "path"), " changed, ", diff.added, " added, ", diff.modified, " modified, ", diff.deleted, " deleted");
  if (diff.type + diff.mode > 0) out += cat(", ", diff.type + diff.mode, " with another type or mode");
  return out + cat(", ", plural(diff.lines_added, "line"), " added(+), ", plural(diff.lines_removed, "line"), " removed(-)\n");
}

std::string apply_words(const ApplyReport& report, const ApplyOptions& options, bool refused) {
  std::string out;
  auto notes = [&](std::string_view head, const std::vector<ApplyNote>& list) {
    for (const auto& n : list) out += cat(head, printable(n.path), ": ", n.why, "\n");
  };
  notes(options.force && !refused ? "overwritten: " : "conflict: ", report.conflicts);
  notes("refused: ", report.refused);
  notes("left out: ", report.skipped);
  notes("without: ", report.stripped);
  for (const auto& path : report.written) out += cat("written: ", printable(path), "\n");
  for (const auto& path : report.removed) out += cat("removed: ", printable(path), "\n");
  if (refused) {
    out += "nothing was applied: ";
    if (!report.conflicts.empty()) out += cat(plural(report.conflicts.size(), "conflict"), options.force ? "" : " (--force overwrites)");
    if (!report.conflicts.empty() && !report.refused.empty()) out += ", ";
    const bool may_be_let = std::any_of(report.refused.begin(), report.refused.end(), [](const ApplyNote& n) { return n.why != kChangedSince; });
    if (!report.refused.empty())
      out += cat(report.refused.size(), " refused", options.on_protected == OnRefusal::kAllow || !may_be_let ? "" : " (--allow-protected lets them)");
    return out + "\n";
  }
  if (options.dry_run) return out + "nothing stands in the way of applying this\n";
  return out + cat(report.written.size(), " written, ", report.removed.size(), " removed\n");
}

std::string snapshot_meta(const CellRecord& record, const std::string& label) {
  JsonWriter w;
  w.begin_object();
  w.field("cell", std::string_view(record.id));
  w.field("name", std::string_view(record.name));
  w.field("label", std::string_view(label));
  w.field("project", std::string_view(record.project));
  w.field("base_ns", static_cast<std::int64_t>(record.base.time_since_epoch().count()));
  w.end_object();
  return w.take();
}

std::optional<RecordTime> base_of_meta(std::string_view meta) {
  // The only thing that is ever read of it: a number after a key that no text in JSON can hold unescaped.
  constexpr std::string_view kKey = "\"base_ns\":";
  auto at = meta.find(kKey);
  if (at == meta.npos) return std::nullopt;
  auto digits = meta.substr(at + kKey.size());
  while (!digits.empty() && digits[0] == ' ') digits.remove_prefix(1);
  auto n = parse_u64(digits.substr(0, std::min(digits.find_first_not_of("0123456789"), digits.size())));
  if (!n || *n > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
  return RecordTime(std::chrono::nanoseconds(static_cast<std::int64_t>(*n)));
}

std::string label_of_now() {
  std::time_t seconds = std::chrono::duration_cast<std::chrono::seconds>(now().time_since_epoch()).count();
  std::tm parts{};
  char text[40];
  ::gmtime_r(&seconds, &parts);
  return std::string(text, std::strftime(text, sizeof text, "%Y%m%d-%H%M%S", &parts));
}

std::string snapshot_json(const SnapshotInfo& info) {
  JsonWriter w;
  put_snapshot(w, info);
  return w.take();
}

std::string snapshots_json(const std::vector<SnapshotInfo>& all) {
  JsonWriter w;
  w.begin_array();
  for (const auto& info : all) put_snapshot(w, info);
  w.end_array();
  return w.take();
}

std::string restarted_json(bool restarted) {
  JsonWriter w;
  w.begin_object();
  w.field("restarted", restarted);
  w.end_object();
  return w.take();
}

std::string restored_json(const SnapshotInfo& info, bool restarted) {
  JsonWriter w;
  w.begin_object();
  w.field("restarted", restarted);
  w.field("owners_kept", info.owners_kept);
  w.key("snapshot");
  put_snapshot(w, info);
  w.end_object();
  return w.take();
}

Fields restored_fields(const SnapshotInfo& info) {
  return {{"entries", cat(info.entries)}, {"bytes", cat(info.content.n)}, {"owners_kept", info.owners_kept ? "1" : "0"}};
}

}  // namespace hotcell::cells
