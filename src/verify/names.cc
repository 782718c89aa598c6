#include "verify/rules.h"

namespace hotcell {

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::kOff: return "off";
    case Severity::kInfo: return "info";
    case Severity::kWarning: return "warning";
    case Severity::kError: return "error";
  }
  return "error";
}

std::string_view to_string(FactKind kind) {
  switch (kind) {
    case FactKind::kImport: return "import";
    case FactKind::kUse: return "use";
    case FactKind::kConstruct: return "construct";
    case FactKind::kReadPath: return "read_path";
    case FactKind::kWritePath: return "write_path";
    case FactKind::kHost: return "host";
    case FactKind::kCommand: return "command";
    case FactKind::kUnreadable: return "unreadable";
  }
  return "unreadable";
}

}  // namespace hotcell
