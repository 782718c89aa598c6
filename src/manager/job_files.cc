#include "manager/job_files.h"

#include <set>

#include "base/strings.h"
#include "core/policy/units.h"

namespace hotcell {
namespace {

constexpr std::size_t kMostFiles = 1000, kLongestName = 1024, kLongestPart = 255;   // NAME_MAX

Error invalid(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

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

Result<void> check_name(std::string_view name) {
  auto refuse = [&](std::string_view why) { return invalid(cat("files: ", quoted(name), " ", why)); };
  if (name.empty()) return invalid("files: a name is empty");
  if (name.size() > kLongestName) return refuse("is too long");
  if (name.front() == '/') return refuse("must be relative");
  for (char c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return refuse("has a control character");
  }
  for (auto part : split(name, '/')) {
    if (part.empty() || part == "." || part == "..") return refuse("must be a plain relative name without . or ..");
    if (part.size() > kLongestPart) return refuse("is too long");
    // What git or we ourselves would run or believe without being asked.
    std::string folded = as_folded(part);
    if (folded == ".git" || folded == ".hotcell" || folded == "git~1") return refuse("is a protected name");
  }
  return {};
}

}  // namespace

Result<void> check_files(const std::vector<JobFile>& files) {
  if (files.size() > kMostFiles) return invalid(cat("files has more than ", kMostFiles, " entries"));
  std::set<std::string_view> names;
  for (const auto& file : files) {
    TRY(check_name(file.name));
    if (!names.insert(file.name).second) return invalid(cat("files: ", quoted(file.name), " is there twice"));
  }
  for (std::string_view name : names)
    for (auto slash = name.find('/'); slash != std::string_view::npos; slash = name.find('/', slash + 1))
      if (names.contains(name.substr(0, slash))) return invalid(cat("files: ", quoted(name.substr(0, slash)), " cannot be a file and a folder"));
  return {};
}

}  // namespace hotcell
