// What MCP needs of the rest of the daemon.
#pragma once
#include <functional>
#include <optional>
#include <string>

#include "hotcell/verify.h"
#include "manager/executions.h"
#include "store/history.h"

namespace hotcell::server {
class CellDoor;
}

namespace hotcell::server::mcp {

struct VerifyJob {
  std::string language, code, file, profile;
};

struct McpServices {
  Executions& executions;
  History& history;                 // lists, and the results of what has ended
  Executions::Post post;            // onto the loop, soon
  // Reads a source on a thread of its own and answers on the loop, once. Unknown profiles are errors.
  using Verified = std::function<void(Result<Verification>)>;
  std::function<void(VerifyJob, Verified)> verify;
  // Looks at a text, a command or the arguments of a tool for `client`, in the same way; the answer is JSON.
  std::function<void(InspectQuestion, std::string client, std::function<void(Result<std::string>)>)> inspect = {};
  // Whether programs with a network may reach a host, and why: JSON.
  std::function<Result<std::string>(const std::string& host)> check_host = {};
  // What `hotcell language list --json` says here; nothing when that is not known yet.
  std::function<std::optional<std::string>()> languages;
  CellDoor* cells = nullptr;  // null: lasting cells cannot be had here
  std::string version;
  bool conformance_fixtures = false;  // tools that the official conformance tests expect of a server under test
};

}  // namespace hotcell::server::mcp
