#include "manager/notes.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/strings.h"

namespace hotcell {
namespace {

constexpr std::size_t kLongestHead = 160, kLongestSubject = 128, kMostDenials = 64;
constexpr std::array kTypes = {RichType::kPng, RichType::kSvg, RichType::kHtml, RichType::kJson, RichType::kText};

struct Record {
  std::string_view kind, name, bytes;
};

bool is_plain_name(std::string_view name) {
  auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_'; };
  return !name.empty() && name.size() <= 64 && name[0] != '.' && std::all_of(name.begin(), name.end(), plain);
}

std::optional<Record> take_record(std::string_view& rest) {
  auto end = rest.substr(0, kLongestHead).find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  auto words = split(rest.substr(0, end), ' ');
  if (words.size() != 3 || !is_plain_name(words[1])) return std::nullopt;
  auto size = parse_u64(words[2]);
  rest.remove_prefix(end + 1);
  if (!size || *size > rest.size()) return std::nullopt;
  Record record{words[0], words[1], rest.substr(0, *size)};
  rest.remove_prefix(*size);
  return record;
}

bool is_png(std::string_view bytes) {
  // The signature, and the chunk that every image begins with.
  return bytes.size() >= 33 && bytes.starts_with("\x89PNG\r\n\x1a\n") && bytes.substr(12, 4) == "IHDR";
}

std::string_view fault_of(RichType type, std::string_view bytes, std::size_t together) {
  const bool fits = bytes.size() <= kLargestOutput.n && together + bytes.size() <= kMostOutputBytes.n;
  if (!fits) return " is left out: it is too large";
  if (type == RichType::kPng) return is_png(bytes) ? "" : " is left out: it is not a PNG image";
  return is_valid_utf8(bytes) ? "" : " is left out: it is not UTF-8 text";
}

bool is_dotted_name(std::string_view name) {
  auto part = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.' || c >= 0x80; };
  if (name.empty() || name.size() > kLongestSubject || !is_valid_utf8(name)) return false;
  return std::all_of(name.begin(), name.end(), part);
}

void add_denial(const Record& record, std::string_view profile, Report& report) {
  const bool import = record.name == "import" || record.name == "import-observed";
  const bool attribute = record.name == "attribute" || record.name == "attribute-observed";
  if ((!import && !attribute) || !is_dotted_name(record.bytes)) return;
  const bool observed = record.name.ends_with("-observed");
  std::size_t ours = 0;
  for (auto& d : report.denials) {
    if (d.layer != "language") continue;
    if (d.subject == record.bytes) {
      ++d.count;
      return;
    }
    ++ours;
  }
  if (ours == kMostDenials) return;
  Denial denial;
  denial.layer = "language";
  denial.subject = std::string(record.bytes);
  const std::string name = printable(profile);
  denial.what = cat(import ? "import of '" : "use of '", record.bytes, "' is not allowed by profile ", name,
                    observed ? "; only observed" : "");
  denial.fix = import ? cat("imports: {additional: [", record.bytes, "]} in a profile that extends ", name)
                      : "a profile without it in its blocklist";
  report.denials.push_back(std::move(denial));
}

}  // namespace

void read_notes(std::string_view bytes, std::string_view profile, Report& report) {
  std::size_t together = 0;
  while (auto record = take_record(bytes)) {
    if (record->kind == "denial") {
      add_denial(*record, profile, report);
      continue;
    }
    auto type = std::find_if(kTypes.begin(), kTypes.end(), [&](RichType t) { return to_string(t) == record->kind; });
    if (type == kTypes.end()) return;
    if (report.outputs.size() == kMostOutputs) continue;
    RichOutput output{*type, std::string(record->name), {}};
    if (auto fault = fault_of(*type, record->bytes, together); fault.empty()) {
      output.bytes = std::string(record->bytes);
    } else {
      output.type = RichType::kText;
      output.bytes = cat(record->name, fault);
    }
    together += output.bytes.size();
    report.outputs.push_back(std::move(output));
  }
}

}  // namespace hotcell
