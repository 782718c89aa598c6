// What a user may say about the tools themselves (`--backend-option lxc.executable=/opt/lxc/bin/lxc-execute`): never what a
// program may do, which is the policy's matter alone. (But for `basic`, which has no wall to hold a policy with: what it may be asked for.)
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/result.h"

namespace hotcell::backends {

struct SettingSpec {
  std::string_view name, fallback, what;
};
const std::vector<SettingSpec>& known_settings();

class Settings {
 public:
  // "name=value": the name must be known, the value printable and not empty.
  static Result<Settings> parse(const std::vector<std::string>& words);
  // What was said, or what holds when nothing is.
  std::string get(std::string_view name) const;
  std::string text() const;                 // all that was said, in one line
  Settings with(std::string_view name, std::string_view value) const;
  bool said(std::string_view name) const { return values_.contains(std::string(name)); }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace hotcell::backends
