#include "cells/files/snapshot_manifest.h"

#include <charconv>
#include <unordered_map>

#include "base/strings.h"
#include "cells/files/codec.h"
#include "cells/files/tree.h"

namespace hotcell::cells {
namespace {

constexpr std::string_view kFirstLine = "hotcell-snapshot 1";
constexpr std::size_t kLargestXattr = 65536;  // XATTR_SIZE_MAX

using Kind = SavedEntry::Kind;

Error wrong(std::size_t line, std::string_view what) { return make_error(ErrorCode::kInvalid, cat("manifest, line ", line, ": ", what)); }

template <typename T>
bool number(std::string_view word, T& out, int base = 10) {
  auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out, base);
  return !word.empty() && word[0] != '-' && error == std::errc() && end == word.data() + word.size();
}

std::string octal(mode_t mode) {
  char text[16];
  auto end = std::to_chars(text, text + sizeof text, mode & 07777, 8).ptr;
  return std::string(text, end);
}

// Line by line; a text that is cut off is told by its missing last line.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}
  bool next(std::string_view& line) {
    auto end = text_.find('\n', at_);
    if (end == std::string_view::npos) return false;
    line = text_.substr(at_, end - at_);
    at_ = end + 1;
    ++number_;
    return true;
  }
  std::size_t number() const { return number_; }
  bool at_end() const { return at_ == text_.size(); }

 private:
  std::string_view text_;
  std::size_t at_ = 0, number_ = 0;
};

Result<void> read_head(Lines& lines, ManifestHead& head) {
  std::string_view line;
  if (!lines.next(line) || line != kFirstLine) return make_error(ErrorCode::kInvalid, "no manifest of a snapshot that this version can read");
  bool created = false, meta = false, content = false, entries = false;
  while (lines.next(line)) {
    if (line.empty()) {
      if (created && meta && content && entries) return {};
      return wrong(lines.number(), "something is missing before it");
    }
    auto words = split(line, ' ');
    if (words.size() != 2) return wrong(lines.number(), "not understood");
    bool good = false;
    if (words[0] == "created" && !created) {
      auto time = decode_time(words[1]);
      if (time) head.created = *time;
      good = created = time.has_value();
    } else if (words[0] == "meta" && !meta) {
      auto text = decode_word(words[1]);
      if (text) head.meta = std::move(*text);
      good = meta = text.has_value() && head.meta.size() <= kMostMeta;
    } else if (words[0] == "content" && !content) {
      good = content = number(words[1], head.content);
    } else if (words[0] == "entries" && !entries) {
      good = entries = number(words[1], head.entries);
    } else if (words[0] == "left_out") {
      auto text = decode_word(words[1]);
      if (text) head.left_out.push_back(std::move(*text));
      good = text.has_value();
    }
    if (!good) return wrong(lines.number(), "not understood");
  }
  return make_error(ErrorCode::kInvalid, "the manifest is cut off");
}

class Reader {
 public:
  Reader(std::string_view text, const SnapshotLimits& limits) : lines_(text), limits_(limits) {}

  Result<Manifest> run() {
    ManifestHead head;
    TRY(read_head(lines_, head));
    if (head.entries > limits_.entries) return make_error(ErrorCode::kLimit, cat("more than ", limits_.entries, " entries"));
    out_.created = head.created;
    out_.meta = std::move(head.meta);
    out_.left_out = std::move(head.left_out);
    std::string_view line;
    bool ended = false;
    while (!ended && lines_.next(line)) {
      auto words = split(line, ' ');
      if (line == "end") {
        ended = true;
      } else if (words[0] == "x" || words[0] == "s") {
        TRY(detail(words));
      } else {
        TRY(finish_entry());
        TRY(entry(words));
      }
    }
    if (!ended || !lines_.at_end()) return make_error(ErrorCode::kInvalid, "the manifest is cut off or has something behind its end");
    TRY(finish_entry());
    if (out_.entries.empty()) return make_error(ErrorCode::kInvalid, "the manifest has no root");
    if (out_.entries.size() != head.entries || out_.content != head.content)
      return make_error(ErrorCode::kInvalid, "the manifest's sums are not those of its entries");
    return std::move(out_);
  }

 private:
  Result<void> entry(const std::vector<std::string_view>& words) {
    constexpr std::string_view kKinds = "rdflphw";
    const std::size_t n = words.size();
    if (words[0].size() != 1 || kKinds.find(words[0][0]) == kKinds.npos || n < 3) return bad("not understood");
    if (out_.entries.size() == limits_.entries) return make_error(ErrorCode::kLimit, cat("more than ", limits_.entries, " entries"));
    SavedEntry e;
    e.kind = static_cast<Kind>(words[0][0]);
    if (!flags(words[1], e)) return bad("not understood");
    TRY(path(words[2], e));
    const bool attributes = e.kind != Kind::kHardLink && e.kind != Kind::kDeleted;
    const std::size_t expected = e.kind == Kind::kFile ? 9 : e.kind == Kind::kSymlink ? 8 : attributes ? 7 : e.kind == Kind::kHardLink ? 4 : 3;
    if (n != expected) return bad("not understood");
    if (attributes) {
      auto time = decode_time(words[6]);
      if (!number(words[3], e.mode, 8) || e.mode > 07777 || !number(words[4], e.uid) || !number(words[5], e.gid) || !time ||
          e.uid == static_cast<uid_t>(-1) || e.gid == static_cast<gid_t>(-1))
        return bad("no attributes that a file can have");
      e.mtime = *time;
    }
    if (e.kind == Kind::kFile) {
      if (!number(words[7], e.size) || e.size > static_cast<std::uint64_t>(INT64_MAX)) return bad("no size that a file can have");
      e.sha256 = words[8];
      if (e.sha256.size() != 64 || e.sha256.find_first_not_of("0123456789abcdef") != std::string::npos) return bad("no digest");
    }
    if (e.kind == Kind::kSymlink || e.kind == Kind::kHardLink) {
      auto target = decode_word(words.back());
      if (!target || target->empty() || target->size() >= 4096 || target->find('\0') != std::string::npos) return bad("no target that a link can have");
      e.target = std::move(*target);
    }
    if (e.kind == Kind::kHardLink) {
      auto it = known_.find(e.target);
      if (it == known_.end() || (it->second != Kind::kFile && it->second != Kind::kSymlink && it->second != Kind::kFifo))
        return bad("a second name of nothing that came before");
    }
    out_.entries.push_back(std::move(e));
    open_ = true;
    return {};
  }

  static bool flags(std::string_view word, SavedEntry& e) {
    if (word == "-") return true;
    for (char c : word) {
      if (c == 'o' && e.kind == Kind::kFolder && !e.opaque) e.opaque = true;
      else if (c == 'c' && e.kind != Kind::kHardLink && e.kind != Kind::kDeleted && !e.copied_up) e.copied_up = true;
      else if (c == 's' && e.kind == Kind::kFile && !e.sparse) e.sparse = true;
      else return false;
    }
    return !word.empty();
  }

  Result<void> path(std::string_view word, SavedEntry& e) {
    auto path = decode_word(word);
    if (!path) return bad("not understood");
    if ((e.kind == Kind::kRoot) != out_.entries.empty()) return bad("the root comes first, and once");
    if (e.kind == Kind::kRoot) return path->empty() ? Result<void>() : bad("the root has no name");
    // Here "..", absolute names and names below a link or a file end.
    if (!is_clean_path(*path) || path->size() > limits_.path) return bad(cat(printable(*path), " is no path of a workspace"));
    std::string parent(parent_of(*path));
    if (!parent.empty()) {
      auto it = known_.find(parent);
      if (it == known_.end() || it->second != Kind::kFolder) return bad(cat(printable(*path), " is in no folder of this snapshot"));
    }
    if (!known_.emplace(*path, e.kind).second) return bad(cat(printable(*path), " is there twice"));
    e.path = std::move(*path);
    return {};
  }

  Result<void> detail(const std::vector<std::string_view>& words) {
    if (!open_ || words.size() != 3) return bad("not understood");
    SavedEntry& e = out_.entries.back();
    if (words[0] == "x") {
      auto name = decode_word(words[1]), value = decode_word(words[2]);
      if (e.kind == Kind::kHardLink || e.kind == Kind::kDeleted || !name || !value || name->find('\0') != std::string::npos ||
          name->size() > 255 || value->size() > kLargestXattr || !is_portable_xattr(*name))
        return bad("no attribute that is kept");
      if (!e.xattrs.empty() && e.xattrs.back().first >= *name) return bad("attributes out of order");
      e.xattrs.emplace_back(std::move(*name), std::move(*value));
      return {};
    }
    Segment s;
    if (!e.sparse || !number(words[1], s.offset) || !number(words[2], s.length)) return bad("not understood");
    const std::uint64_t after = e.segments.empty() ? 0 : e.segments.back().offset + e.segments.back().length;
    if (s.length == 0 || s.offset < after || s.offset > e.size || s.length > e.size - s.offset) return bad("no part of the file");
    e.segments.push_back(s);
    return {};
  }

  // With its details an entry is complete: its bytes are counted.
  Result<void> finish_entry() {
    if (!open_) return {};
    open_ = false;
    const SavedEntry& e = out_.entries.back();
    if (e.kind != Kind::kFile) return {};
    if (e.stored() > limits_.bytes.n - out_.content) return make_error(ErrorCode::kLimit, cat("more than ", limits_.bytes.n, " bytes of content"));
    if (e.size > limits_.apparent.n - apparent_) return make_error(ErrorCode::kLimit, cat("more than ", limits_.apparent.n, " bytes, holes counted"));
    out_.content += e.stored();
    apparent_ += e.size;
    return {};
  }

  Error bad(std::string_view what) const { return wrong(lines_.number(), what); }

  Lines lines_;
  const SnapshotLimits& limits_;
  Manifest out_;
  bool open_ = false;
  std::uint64_t apparent_ = 0;
  std::unordered_map<std::string, Kind> known_;
};

}  // namespace

std::uint64_t SavedEntry::stored() const {
  if (kind != Kind::kFile) return 0;
  if (!sparse) return size;
  std::uint64_t sum = 0;
  for (const auto& s : segments) sum += s.length;  // parts of one file: no overflow
  return sum;
}

std::string member_name(const SavedEntry& file) { return cat(file.sparse ? "sparse/" : "tree/", file.path); }

std::string manifest_text(const Manifest& m) {
  std::string out = cat(kFirstLine, "\ncreated ", encode_time(m.created), "\nmeta ", encode_word(m.meta), "\ncontent ", m.content, "\nentries ",
                        m.entries.size(), "\n");
  for (const auto& left : m.left_out) out += cat("left_out ", encode_word(left), "\n");
  out += "\n";
  for (const auto& e : m.entries) {
    std::string flags = cat(e.opaque ? "o" : "", e.copied_up ? "c" : "", e.sparse ? "s" : "");
    out += static_cast<char>(e.kind);
    out += cat(" ", flags.empty() ? "-" : flags, " ", encode_word(e.path));
    if (e.kind != Kind::kHardLink && e.kind != Kind::kDeleted) out += cat(" ", octal(e.mode), " ", e.uid, " ", e.gid, " ", encode_time(e.mtime));
    if (e.kind == Kind::kFile) out += cat(" ", e.size, " ", e.sha256);
    if (e.kind == Kind::kSymlink || e.kind == Kind::kHardLink) out += cat(" ", encode_word(e.target));
    out += "\n";
    for (const auto& [name, value] : e.xattrs) out += cat("x ", encode_word(name), " ", encode_word(value), "\n");
    for (const auto& s : e.segments) out += cat("s ", s.offset, " ", s.length, "\n");
  }
  return out += "end\n";
}

Result<Manifest> parse_manifest(std::string_view text, const SnapshotLimits& limits) { return Reader(text, limits).run(); }

Result<ManifestHead> parse_head(std::string_view text) {
  Lines lines(text);
  ManifestHead head;
  TRY(read_head(lines, head));
  return head;
}

}  // namespace hotcell::cells
