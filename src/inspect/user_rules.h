#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "inspect/regex.h"
#include "inspect/rules.h"

namespace hotcell::inspect {

class UserRules : public InspectRules {
 public:
  std::vector<ReadRule> rules;
  std::vector<Regex> regexes;
};

// Of several files: what each is called in errors, and its YAML.
Result<std::shared_ptr<const InspectRules>> read_user_rules(const std::vector<std::pair<std::string, std::string>>& files);

}  // namespace hotcell::inspect
