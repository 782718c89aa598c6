// What a user may say about the tools themselves (`--backend-option lxc.executable=/opt/lxc/bin/lxc-execute`): never what a
// program may do, which is the policy's matter alone. (But for `basic`, which has no wall to hold a policy with: what it may be asked for.)
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/result.h"

namespace hotcell::backends {

struct SettingSpec {
  std::string_view name, fallback, what;
  std::string_view of = {};   // which backends it is for, with blanks between them; empty: the one its name begins with
  bool binding = false;       // says what the program is given, not where a tool is: one that cannot do it is no substitute
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
  Settings of(std::string_view backend) const;   // those of this one alone: of a choice between several the others were for the others
  bool said(std::string_view name) const { return values_.contains(std::string(name)); }

 private:
  std::map<std::string, std::string> values_;
};

// Why this backend cannot do what was said; empty: it can. By name it is refused for every setting that is not its own; a level passes over it
// for those that are binding, and need not look at the others: they are for whichever it is.
enum class SettingsOf : std::uint8_t { kNamed, kCandidate };
std::string not_for(std::string_view backend, const Settings& settings, SettingsOf how);

}  // namespace hotcell::backends
