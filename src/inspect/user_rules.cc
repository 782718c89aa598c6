#include "inspect/user_rules.h"

namespace hotcell {

namespace inspect {

Result<std::shared_ptr<const InspectRules>> read_user_rules(const std::vector<std::pair<std::string, std::string>>& files) {
  auto made = std::make_shared<UserRules>();
  for (const auto& [file, yaml] : files) {
    TRY_SET(auto rules, read_rules(yaml, file, false));
    for (auto& rule : rules) {
      TRY_SET(Regex regex, Regex::compile(rule.pattern, rule.caseless));
      made->regexes.push_back(std::move(regex));
      made->rules.push_back(std::move(rule));
    }
  }
  return std::shared_ptr<const InspectRules>(std::move(made));
}

}  // namespace inspect

Result<std::shared_ptr<const InspectRules>> InspectRules::from_yaml(std::string_view yaml, std::string_view file) {
  return inspect::read_user_rules({{std::string(file), std::string(yaml)}});
}

}  // namespace hotcell
