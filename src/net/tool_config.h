// Where this host's package tools fetch from: read from their own configuration, so that a mirror works as it does
// outside and no such name stands in here. Files are read, nothing is run. What lies in a project is not asked: whoever
// wrote the project would be granting himself a network.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/result.h"
#include "net/rules.h"

namespace hotcell::net {

struct ToolPlaces {
  std::string root;  // before every path of the system; empty but in tests
  std::string home;
  std::function<std::string(const char*)> variable;  // of the environment; empty when it is not set
};
ToolPlaces tools_of_this_host();

struct ToolHost {
  std::string tool;     // pip, npm, apt, cargo, go, gem, maven
  std::string pattern;  // as in a rule list, with its port
  std::string from;     // the file or variable that names it
  bool operator==(const ToolHost&) const = default;
};
std::vector<ToolHost> registry_hosts(const ToolPlaces& places);

// The rules that @development stands for, beside the registries: where sources are fetched from.
std::vector<std::string> development_hosts();

// Hosts that may be reached; @registries and @development become what they stand for on this host. `where`: whose list it is.
Result<void> allow_hosts(const std::vector<std::string>& list, std::string_view where, RuleOptions& out);

}  // namespace hotcell::net
