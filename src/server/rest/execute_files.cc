#include <array>
#include <set>

#include "base/strings.h"
#include "core/policy/units.h"
#include "server/json/base64_decode.h"
#include "server/rest/execute_spec.h"

namespace hotcell::server {

namespace {

constexpr std::array<std::string_view, 4> kFields = {"name", "content", "encoding", "executable"};
constexpr std::array<std::string_view, 2> kEncodings = {"utf8", "base64"};
constexpr std::size_t kMaxFiles = 1000, kMaxName = 1024, kMaxPart = 255;   // NAME_MAX

Error invalid(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

Result<JobFile> file_of(const JsonValue& item, std::size_t index) {
  TRY_SET(auto reader, JsonReader::of(item, cat("files[", index, "]."), kFields));
  JobFile file;
  std::string encoding;
  TRY(reader.read("name", file.name));
  TRY(reader.read("content", file.bytes));
  TRY(reader.read_choice("encoding", kEncodings, encoding));
  TRY(reader.read("executable", file.executable));
  if (encoding == "base64") {
    auto bytes = base64_decode(file.bytes);
    if (!bytes) return invalid(cat("files[", index, "].content is not valid base64"));
    file.bytes = std::move(*bytes);
  }
  return file;
}

// The name as a host's file system may take it that folds case, or drops what is invisible, or points and spaces at the end:
// .GIT, .g\u200cit and ".git " are .git there.
std::string as_folded(std::string_view part) {
  std::string out;
  for (std::size_t i = 0; i < part.size(); ++i) {
    std::string_view rest = part.substr(i);
    bool mark = rest.size() >= 3 && rest[0] == '\xe2' && (rest[1] == '\x80' || rest[1] == '\x81') &&
                ((rest[1] == '\x80' && ((rest[2] >= '\x8b' && rest[2] <= '\x8f') || (rest[2] >= '\xaa' && rest[2] <= '\xae'))) ||
                 (rest[1] == '\x81' && rest[2] >= '\xa0' && rest[2] <= '\xaf'));
    if (mark || rest.starts_with("\xef\xbb\xbf")) {
      i += 2;
    } else if (rest.starts_with("\xc2\xad")) {
      i += 1;
    } else if (rest.starts_with("\xc4\xb1") || rest.starts_with("\xc4\xb0")) {  // i without its point, I with one
      out += 'i';
      i += 1;
    } else {
      out += part[i] >= 'A' && part[i] <= 'Z' ? static_cast<char>(part[i] + 32) : part[i];
    }
  }
  while (!out.empty() && (out.back() == ' ' || out.back() == '.')) out.pop_back();
  return out;
}

}  // namespace

Result<void> check_file_name(std::string_view name) {
  auto refuse = [&](std::string_view why) { return invalid(cat("files: ", quoted(name), " ", why)); };
  if (name.empty()) return invalid("files: a name is empty");
  if (name.size() > kMaxName) return refuse("is too long");
  if (name.front() == '/') return refuse("must be relative");
  for (char c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return refuse("has a control character");
  }
  for (auto part : split(name, '/')) {
    if (part.empty() || part == "." || part == "..") return refuse("must be a plain relative name without . or ..");
    if (part.size() > kMaxPart) return refuse("is too long");
    // What git or we ourselves would run or believe without being asked.
    std::string folded = as_folded(part);
    if (folded == ".git" || folded == ".hotcell" || folded == "git~1") return refuse("is a protected name");
  }
  return {};
}

Result<std::vector<JobFile>> files_from_json(const JsonValue& files) {
  std::vector<JobFile> out;
  if (const auto* members = files.object()) {
    for (const auto& m : *members) {
      const std::string* text = m.value.string();
      if (text == nullptr)
        return invalid(cat("invalid request body: files.", printable(m.name), " must be a string, not ", m.value.kind()));
      out.push_back({m.name, *text, false});
    }
  } else if (const auto* items = files.array()) {
    for (const auto& item : *items) {
      TRY_SET(auto file, file_of(item, out.size()));
      out.push_back(std::move(file));
    }
  } else {
    return invalid(cat("invalid request body: files must be an object of texts or a list of files, not ", files.kind()));
  }
  if (out.size() > kMaxFiles) return invalid(cat("files has more than ", kMaxFiles, " entries"));
  std::set<std::string_view> names;
  for (const auto& file : out) {
    TRY(check_file_name(file.name));
    if (!names.insert(file.name).second) return invalid(cat("files: ", quoted(file.name), " is there twice"));
  }
  for (std::string_view name : names)
    for (auto slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/', slash + 1))
      if (names.contains(name.substr(0, slash))) return invalid(cat("files: ", quoted(name.substr(0, slash)), " cannot be a file and a folder"));
  return out;
}

}  // namespace hotcell::server
