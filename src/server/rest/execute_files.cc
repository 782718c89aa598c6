#include <array>

#include "base/strings.h"
#include "core/policy/units.h"
#include "manager/job_files.h"
#include "server/json/base64_decode.h"
#include "server/rest/execute_spec.h"

namespace hotcell::server {

namespace {

constexpr std::array<std::string_view, 4> kFields = {"name", "content", "encoding", "executable"};
constexpr std::array<std::string_view, 2> kEncodings = {"utf8", "base64"};

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

}  // namespace

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
  TRY(check_files(out));
  return out;
}

}  // namespace hotcell::server
