#include "languages/common/notes.h"

#include <algorithm>
#include <cctype>

#include "base/strings.h"

namespace hotcell {
namespace {

constexpr std::size_t kLongestHead = 160;

bool is_plain_name(std::string_view name) {
  auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_'; };
  return !name.empty() && name.size() <= 64 && name[0] != '.' && std::all_of(name.begin(), name.end(), plain);
}

bool is_png(std::string_view bytes) {
  // The signature, and the chunk that every image begins with.
  return bytes.size() >= 33 && bytes.starts_with("\x89PNG\r\n\x1a\n") && bytes.substr(12, 4) == "IHDR";
}

}  // namespace

std::optional<Note> take_note(std::string_view& rest) {
  auto end = rest.substr(0, kLongestHead).find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  auto words = split(rest.substr(0, end), ' ');
  if (words.size() != 3 || !is_plain_name(words[1])) return std::nullopt;
  auto size = parse_u64(words[2]);
  rest.remove_prefix(end + 1);
  if (!size || *size > rest.size()) return std::nullopt;
  Note note{words[0], words[1], rest.substr(0, *size)};
  rest.remove_prefix(*size);
  return note;
}

bool is_output_kind(std::string_view kind) { return kind == "png" || kind == "svg" || kind == "html" || kind == "json" || kind == "text"; }

std::string_view output_fault(const Note& note, std::size_t together) {
  const bool fits = note.bytes.size() <= kLargestOutput.n && together + note.bytes.size() <= kMostOutputBytes.n;
  if (!fits) return " is left out: it is too large";
  if (note.kind == "png") return is_png(note.bytes) ? "" : " is left out: it is not a PNG image";
  return is_valid_utf8(note.bytes) ? "" : " is left out: it is not UTF-8 text";
}

}  // namespace hotcell
