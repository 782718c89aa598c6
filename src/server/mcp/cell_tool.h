// What the tools of lasting cells share.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/cells/cell_door.h"
#include "server/mcp/arguments.h"
#include "server/mcp/tools.h"

namespace hotcell::server::mcp {

inline constexpr std::string_view kChanges = R"({"readOnlyHint":false,"destructiveHint":false,"idempotentHint":false,"openWorldHint":false})";
inline constexpr std::string_view kDestroys = R"({"readOnlyHint":false,"destructiveHint":true,"idempotentHint":false,"openWorldHint":false})";
inline constexpr std::string_view kReadOnly = R"({"readOnlyHint":true,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false})";

// Repeated in the header Mcp-Param-Sandbox, so that what stands in front of several daemons can route by it.
inline constexpr std::pair<std::string_view, std::string_view> kHeader[] = {{"cell", "Sandbox"}};
#define HOTCELL_CELL R"("cell":{"type":"string","description":"Name or id of the cell.","x-mcp-header":"Sandbox"})"
inline constexpr std::string_view kAny = R"({"type":"object"})";

// False: the call is answered, there are none here or the arguments are wrong.
bool ready(const CallPtr& call, Arguments& a, std::string_view tool);
using Then = std::function<void(CellDoor&, CellView)>;
void with_cell(const CallPtr& call, const std::string& name, Then then);
std::string named_cell(Arguments& a);
std::vector<std::string> workspace_paths(Arguments& a);   // relative to /work
// What a call waits for belongs to it: cancelled, it is dropped, and with that killed or withdrawn.
void hold(const CallPtr& call, std::shared_ptr<void> what);

// One question of a call, whose progress tells that somebody must approve it. Cancelled, it is withdrawn.
void ask_cell(const CallPtr& call, CellDoor& door, const std::string& id, std::string verb, cells::Fields fields, std::vector<std::string> words,
              CellDoor::Done<cells::Told> done);

void finish_with_cell(const CallPtr& call, const std::string& json);
void finish_json(const CallPtr& call, Result<cells::Told> told);   // a list is the object {"items":[…]}

}  // namespace hotcell::server::mcp
