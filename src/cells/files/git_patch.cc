#include "cells/files/git_patch.h"

#include <algorithm>

#include "base/strings.h"
#include "cells/files/text_diff.h"

namespace hotcell::cells {
namespace {

std::string_view git_mode(FileType type, mode_t mode) {
  if (type == FileType::kSymlink) return "120000";
  return (mode & 0100) != 0 ? "100755" : "100644";
}

// After a name with a space a tab says where it ends; patch would take the rest for a date.
std::string file_line(std::string_view start, const std::string& name) {
  return cat(start, name, name.find(' ') != std::string::npos && name[0] != '"' ? "\t" : "", "\n");
}

std::string header(const Change& c) { return cat("diff --git ", git_name("a/", c.path), " ", git_name("b/", c.path), "\n"); }

void count(Change& c, const Hunks& hunks) {
  c.lines_added += hunks.added;
  c.lines_removed += hunks.removed;
}

std::string removal(Change& c, std::string_view before, unsigned context) {
  Hunks hunks = unified_hunks(before, {}, context);
  count(c, hunks);
  std::string out = cat(header(c), "deleted file mode ", git_mode(c.old_type, c.old_mode), "\n");
  if (!hunks.text.empty()) out += cat(file_line("--- ", git_name("a/", c.path)), "+++ /dev/null\n", hunks.text);
  return out;
}

std::string creation(Change& c, std::string_view now, unsigned context) {
  Hunks hunks = unified_hunks({}, now, context);
  count(c, hunks);
  std::string out = cat(header(c), "new file mode ", git_mode(c.type, c.mode), "\n");
  if (!hunks.text.empty()) out += cat("--- /dev/null\n", file_line("+++ ", git_name("b/", c.path)), hunks.text);
  return out;
}

bool shows(FileType type) { return type == FileType::kFile || type == FileType::kSymlink; }

}  // namespace

std::string git_name(std::string_view prefix, std::string_view path) {
  const bool plain = std::none_of(path.begin(), path.end(), [](char c) {
    auto u = static_cast<unsigned char>(c);
    return u < 0x20 || u >= 0x7f || c == '"' || c == '\\';
  });
  if (plain) return cat(prefix, path);
  std::string out = cat("\"", prefix);
  for (char c : path) {
    auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += cat('\\', c);
    } else if (u < 0x20 || u >= 0x7f) {
      const char digits[] = {'\\', static_cast<char>('0' + (u >> 6)), static_cast<char>('0' + ((u >> 3) & 7)),
                             static_cast<char>('0' + (u & 7))};
      out.append(digits, sizeof digits);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string patch_of_mode(const Change& c) {
  if (c.type != FileType::kFile || ((c.mode ^ c.old_mode) & 0100) == 0) return {};
  return cat(header(c), "old mode ", git_mode(c.type, c.old_mode), "\nnew mode ", git_mode(c.type, c.mode), "\n");
}

std::string patch_of(Change& c, std::string_view before, std::string_view now, unsigned context) {
  const bool had = shows(c.old_type), has = shows(c.type);
  if (!had || !has || c.type != c.old_type) {  // another type: git removes and creates
    std::string out;
    if (had) out += removal(c, before, context);
    if (has) out += creation(c, now, context);
    return out;
  }
  if (c.type == FileType::kSymlink) return cat(removal(c, before, context), creation(c, now, context));
  Hunks hunks = unified_hunks(before, now, context);
  count(c, hunks);
  if (hunks.text.empty()) return patch_of_mode(c);
  std::string out = patch_of_mode(c);
  if (out.empty()) out = header(c);
  return cat(out, file_line("--- ", git_name("a/", c.path)), file_line("+++ ", git_name("b/", c.path)), hunks.text);
}

}  // namespace hotcell::cells
