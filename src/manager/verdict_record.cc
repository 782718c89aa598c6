#include "manager/verdict_record.h"

#include <sys/stat.h>

#include <array>

#include "base/sha256.h"
#include "base/strings.h"
#include "core/policy/profile.h"

namespace hotcell {

namespace {

constexpr std::string_view kName = "findings";

std::array<std::string Finding::*, 7> texts() {
  return {&Finding::rule,    &Finding::type,    &Finding::severity, &Finding::file,
          &Finding::message, &Finding::snippet, &Finding::fix};
}

}  // namespace

std::string verdict_key(std::string_view language, const Sources& sources, const Policy& policy) {
  Sha256 hash;
  hash.add_field("verdict 1 " HOTCELL_VERSION);
  // Another build may have other rules.
  struct stat self {};
  if (::stat("/proc/self/exe", &self) == 0) {
    hash.add_number(static_cast<std::uint64_t>(self.st_mtim.tv_sec));
    hash.add_number(static_cast<std::uint64_t>(self.st_mtim.tv_nsec));
    hash.add_number(static_cast<std::uint64_t>(self.st_size));
    hash.add_number(static_cast<std::uint64_t>(self.st_ino));
  }
  hash.add_field(language);
  hash.add_field(to_yaml(policy));
  hash.add_number(static_cast<std::uint64_t>(policy.rules.level));
  for (const auto* list : {&policy.rules.off, &policy.rules.functions, &policy.rules.modules, &policy.rules.patterns,
                           &policy.rules.allowed_paths}) {
    hash.add_number(list->size());
    for (const auto& word : *list) hash.add_field(word);
  }
  for (const auto& f : sources.files) {
    hash.add_field(f.name);
    hash.add_field(f.text);
  }
  return hash.finish_hex() + "-verdict";
}

std::vector<OutputFile> write_verdict(const std::vector<Finding>& findings) {
  std::string out;
  auto add = [&](std::string_view text) { ((out += cat(text.size())) += '\n') += text; };
  for (const auto& f : findings) {
    for (auto member : texts()) add(f.*member);
    add(cat(f.line));
    add(cat(f.column));
  }
  return {{std::string(kName), std::move(out), false}};
}

std::optional<std::vector<Finding>> read_verdict(const std::vector<OutputFile>& files) {
  if (files.size() != 1 || files[0].name != kName) return std::nullopt;
  std::string_view rest = files[0].bytes;
  bool good = true;
  auto take = [&] {
    auto end = rest.find('\n');
    auto size = parse_u64(rest.substr(0, end));
    if (end == std::string_view::npos || !size || *size > rest.size() - end - 1) {
      good = false;
      return std::string();
    }
    std::string text(rest.substr(end + 1, static_cast<std::size_t>(*size)));
    rest.remove_prefix(end + 1 + static_cast<std::size_t>(*size));
    return text;
  };
  std::vector<Finding> out;
  while (good && !rest.empty()) {
    Finding f;
    for (auto member : texts()) f.*member = take();
    f.line = static_cast<int>(parse_u64(take()).value_or(0));
    f.column = static_cast<int>(parse_u64(take()).value_or(0));
    if (good) out.push_back(std::move(f));
  }
  if (!good) return std::nullopt;
  return out;
}

}  // namespace hotcell
