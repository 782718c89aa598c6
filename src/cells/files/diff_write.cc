#include "base/json_write.h"
#include "base/strings.h"
#include "cells/files/diff.h"

namespace hotcell::cells {
namespace {

std::string octal(mode_t mode) {
  std::string out(4, '0');
  for (std::size_t i = 4; i-- > 0; mode >>= 3) out[i] = static_cast<char>('0' + (mode & 7));
  return out;
}

void write_side(JsonWriter& json, std::string_view prefix, FileType type, mode_t mode, std::uint64_t size, const std::string& target) {
  if (type == FileType::kNone) return;
  json.field(cat(prefix, "type"), to_string(type));
  json.field(cat(prefix, "mode"), octal(mode));
  if (type == FileType::kFile) json.field(cat(prefix, "size"), size);
  if (type == FileType::kSymlink) json.field(cat(prefix, "target"), target);
}

void write_change(JsonWriter& json, const Change& c) {
  json.begin_object();
  json.field("path", c.path);
  if (!is_valid_utf8(c.path)) json.field("path_base64", base64(c.path));  // JSON cannot say it otherwise
  json.field("kind", to_string(c.kind));
  write_side(json, "", c.type, c.mode, c.size, c.target);
  write_side(json, "old_", c.old_type, c.old_mode, c.old_size, c.old_target);
  if (c.owner_changed) json.field("owner_changed", true);
  if (c.xattrs_changed) json.field("xattrs_changed", true);
  if (c.type == FileType::kFile || c.old_type == FileType::kFile) json.field("binary", c.binary);
  json.field("lines_added", c.lines_added);
  json.field("lines_removed", c.lines_removed);
  if (!c.patch.empty()) json.field("patch", c.patch);
  if (!c.patch_left_out.empty()) json.field("patch_left_out", c.patch_left_out);
  json.end_object();
}

// What a reader of the patch must know that the patch does not say.
std::string not_in_patch(const Change& c) {
  if (!c.patch_left_out.empty()) return c.patch_left_out;
  if (!c.patch.empty()) return {};
  if (c.type == FileType::kFolder || c.old_type == FileType::kFolder) return {};  // git knows no folders
  if (c.kind != ChangeKind::kMode) return std::string(to_string(c.type));
  if (c.mode != c.old_mode) return cat("mode ", octal(c.old_mode), " became ", octal(c.mode));
  return c.owner_changed ? "another owner" : "other attributes";
}

}  // namespace

std::string_view to_string(FileType type) {
  static constexpr std::string_view kNames[] = {"none", "file", "folder", "symlink", "fifo", "socket", "character device", "block device"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string_view to_string(ChangeKind kind) {
  static constexpr std::string_view kNames[] = {"added", "modified", "deleted", "type", "mode"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string diff_json(const Diff& diff, bool pretty) {
  JsonWriter json(pretty ? JsonStyle::kPretty : JsonStyle::kOneLine);
  json.begin_object();
  json.field("added", diff.added);
  json.field("modified", diff.modified);
  json.field("deleted", diff.deleted);
  json.field("type_changed", diff.type);
  json.field("mode_changed", diff.mode);
  json.field("lines_added", diff.lines_added);
  json.field("lines_removed", diff.lines_removed);
  json.key("changes");
  json.begin_array();
  for (const auto& c : diff.changes) write_change(json, c);
  json.end_array();
  json.end_object();
  return json.take();
}

std::string diff_text(const Diff& diff) {
  static constexpr char kLetters[] = {'A', 'M', 'D', 'T', 'm'};
  std::string out;
  for (const auto& c : diff.changes) {
    const bool folder = c.type == FileType::kFolder || (c.type == FileType::kNone && c.old_type == FileType::kFolder);
    out += cat(kLetters[static_cast<std::size_t>(c.kind)], "  ", printable(c.path), folder ? "/" : "");
    if (c.kind == ChangeKind::kType) out += cat("  ", to_string(c.old_type), " became ", to_string(c.type));
    if (c.kind == ChangeKind::kMode && c.mode != c.old_mode) out += cat("  ", octal(c.old_mode), " became ", octal(c.mode));
    if (c.kind == ChangeKind::kMode && c.mode == c.old_mode) out += c.owner_changed ? "  another owner" : "  other attributes";
    if (c.type == FileType::kSymlink) out += cat("  to ", printable(c.target));
    if (c.binary) out += cat("  binary, ", c.type == FileType::kFile ? c.size : c.old_size, " bytes");
    if (c.lines_added + c.lines_removed > 0) out += cat("  +", c.lines_added, " -", c.lines_removed);
    out += '\n';
  }
  out += cat(diff.added, " added, ", diff.modified, " modified, ", diff.deleted, " deleted, ", diff.type + diff.mode,
             " with another type or mode, +", diff.lines_added, " -", diff.lines_removed, " lines\n");
  return out;
}

std::string diff_patch(const Diff& diff) {
  std::string out;
  for (const auto& c : diff.changes)
    if (auto why = not_in_patch(c); !why.empty()) out += cat("# not in this patch: ", printable(c.path), " (", to_string(c.kind), ", ", why, ")\n");
  // Removals first: a folder that became a file must be empty when the file comes.
  for (const auto& c : diff.changes)
    if (c.kind == ChangeKind::kDeleted) out += c.patch;
  for (const auto& c : diff.changes)
    if (c.kind != ChangeKind::kDeleted) out += c.patch;
  return out;
}

}  // namespace hotcell::cells
