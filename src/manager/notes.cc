#include "manager/notes.h"

#include <algorithm>
#include <array>

#include "base/strings.h"

namespace hotcell {
namespace {

constexpr std::size_t kLongestSubject = 128, kMostDenials = 64;
constexpr std::array kTypes = {RichType::kPng, RichType::kSvg, RichType::kHtml, RichType::kJson, RichType::kText};

bool is_dotted_name(std::string_view name) {
  auto part = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '.' || c >= 0x80; };
  if (name.empty() || name.size() > kLongestSubject || !is_valid_utf8(name)) return false;
  return std::all_of(name.begin(), name.end(), part);
}

void add_denial(const Note& record, std::string_view profile, Report& report) {
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
  while (auto record = take_note(bytes)) {
    if (record->kind == "denial") {
      add_denial(*record, profile, report);
      continue;
    }
    auto type = std::find_if(kTypes.begin(), kTypes.end(), [&](RichType t) { return to_string(t) == record->kind; });
    if (type == kTypes.end()) return;
    if (report.outputs.size() == kMostOutputs) continue;
    RichOutput output{*type, std::string(record->name), {}};
    if (auto fault = output_fault(*record, together); fault.empty()) {
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
