// Short words for the tests of this folder.
#pragma once
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hotcell/inspect.h"

namespace hotcell::inspect_testing {

inline InspectOptions only(InspectKind kind) {
  InspectOptions o;
  o.kinds = {};
  o.kinds.add(kind);
  return o;
}

inline Inspection text(std::string_view t, const InspectOptions& o = {}) {
  auto r = inspect_text(t, o);
  if (!r.ok()) std::abort();
  return std::move(r).value();
}

inline bool injects(std::string_view t) { return !text(t, only(InspectKind::kInjection)).safe(); }

inline Inspection command(std::string_view t, std::vector<std::string> allowed = {}) {
  InspectOptions o = only(InspectKind::kEgress);
  o.allowed_domains = std::move(allowed);
  auto r = inspect_command(t, o);
  if (!r.ok()) std::abort();
  return std::move(r).value();
}

inline bool leaks(std::string_view t) { return !text(t, only(InspectKind::kSecrets)).safe(); }

}  // namespace hotcell::inspect_testing
