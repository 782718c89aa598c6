// Files of cells: what the agent inside says and wants to hear.
#include <cstring>

#include "base/json_write.h"
#include "base/strings.h"
#include "server/cells/cell_door.h"

namespace hotcell::server {
namespace {

constexpr std::size_t kBlock = 512;

void put_octal(char* into, std::size_t size, std::uint64_t value) {
  for (std::size_t i = size - 1; i-- > 0; value >>= 3) into[i] = static_cast<char>('0' + (value & 7));
}

void put_header(std::string& out, std::string_view name, std::uint64_t size, unsigned mode, char type) {
  char h[kBlock] = {};
  std::memcpy(h, name.data(), std::min<std::size_t>(name.size(), 100));
  put_octal(h + 100, 8, mode);
  put_octal(h + 108, 8, 0);
  put_octal(h + 116, 8, 0);
  put_octal(h + 124, 12, size);
  put_octal(h + 136, 12, 0);
  std::memset(h + 148, ' ', 8);
  h[156] = type;
  std::memcpy(h + 257, "ustar\00000", 8);
  unsigned sum = 0;
  for (char c : h) sum += static_cast<unsigned char>(c);
  put_octal(h + 148, 7, sum);
  h[154] = '\0';
  out.append(h, kBlock);
}

void put_padded(std::string& out, std::string_view bytes) {
  out += bytes;
  out.append((kBlock - bytes.size() % kBlock) % kBlock, '\0');
}

void put_entry(std::string& out, const std::string& name, std::string_view bytes, unsigned mode, char type) {
  if (name.size() > 100) {
    const std::string with_end(name.c_str(), name.size() + 1);
    put_header(out, "././@LongLink", with_end.size(), 0644, 'L');
    put_padded(out, with_end);
  }
  put_header(out, name, bytes.size(), mode, type);
  put_padded(out, bytes);
}

std::string_view type_word(std::string_view letter) {
  return letter == "f" ? "file" : letter == "d" ? "folder" : letter == "l" ? "symlink" : letter == "p" ? "fifo" : letter == "s" ? "socket" : "other";
}

}  // namespace

std::string tar_of(const std::vector<JobFile>& files) {
  std::string out;
  for (const auto& file : files) {
    // Folders on the way; one that is there already stays as it is.
    for (auto slash = file.name.find('/'); slash != std::string::npos; slash = file.name.find('/', slash + 1))
      put_entry(out, file.name.substr(0, slash + 1), {}, 0755, '5');
    put_entry(out, file.name, file.bytes, file.executable ? 0755 : 0644, '0');
  }
  out.append(2 * kBlock, '\0');
  return out;
}

Result<std::string> cell_path(std::string_view said) {
  if (said.find('\0') != said.npos) return make_error(ErrorCode::kInvalid, "path contains a NUL byte");
  std::string path = said.starts_with('/') ? "" : "/work";
  for (auto part : split(said, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == "..") return make_error(ErrorCode::kInvalid, cat("path: ", printable(said), " has a .. in it"));
    path += cat("/", part);
  }
  if (path.empty()) path = "/";
  if (path.size() >= 4096) return make_error(ErrorCode::kInvalid, "path is too long");
  return path;
}

std::vector<FileEntry> read_entries(std::string_view listing) {
  std::vector<FileEntry> out;
  auto pieces = split(listing, '\0');
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].empty()) continue;
    std::string_view rest = pieces[i];
    FileEntry e;
    std::string size;
    for (std::string* field : {&e.type, &e.mode, &size, &e.modified}) {
      auto space = rest.find(' ');
      if (space == rest.npos) break;
      *field = std::string(rest.substr(0, space));
      rest.remove_prefix(space + 1);
    }
    e.size = parse_u64(size).value_or(0);
    e.name = std::string(rest);
    if (e.type == "l" && i + 1 < pieces.size()) e.target = std::string(pieces[++i]);
    e.type = std::string(type_word(e.type));
    out.push_back(std::move(e));
  }
  return out;
}

std::string entries_json(const std::vector<FileEntry>& entries) {
  JsonWriter w;
  w.begin_array();
  for (const auto& e : entries) {
    w.begin_object();
    w.field("name", std::string_view(e.name));
    w.field("type", std::string_view(e.type));
    w.field("mode", std::string_view(e.mode));
    w.field("size", e.size);
    w.field("modified", static_cast<std::uint64_t>(parse_u64(e.modified.substr(0, e.modified.find('.'))).value_or(0)));
    if (!e.target.empty()) w.field("target", std::string_view(e.target));
    w.end_object();
  }
  w.end_array();
  return w.take();
}

}  // namespace hotcell::server
