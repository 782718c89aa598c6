// The tools that a model can call. One file for each group of them, one line each in the table (tools.cc).
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/mcp/call.h"

namespace hotcell::server::mcp {

enum class ToolNeeds : std::uint8_t { kRead, kRun };  // scope of the caller's key

struct Tool {
  std::string_view name, title, description;
  std::string_view input, output;       // JSON Schemas; output may be empty
  std::string_view annotations;         // a JSON object
  ToolNeeds needs = ToolNeeds::kRead;
  void (*run)(const CallPtr& call) = nullptr;
  // Parameters that clients repeat in the header Mcp-Param-NAME: {parameter, NAME} (x-mcp-header in the schema).
  std::span<const std::pair<std::string_view, std::string_view>> header_params = {};
};

std::span<const Tool> run_tools();        // run_code, run_command
std::span<const Tool> execution_tools();  // get_execution, list_executions, kill_execution, explain_denial
std::span<const Tool> source_tools();       // verify_code, estimate_needs, list_languages …
std::span<const Tool> cell_tools();         // cell_create, cell_exec, …: lasting cells
std::span<const Tool> cell_shell_tools();   // cell_shell, cell_run_code
std::span<const Tool> cell_file_tools();    // cell_read_file, cell_files, …
std::span<const Tool> cell_change_tools();  // cell_diff, cell_apply, …
std::span<const Tool> network_tools();      // cell_network
std::span<const Tool> sandbox_tools();      // create_sandbox, read_file, …: cells under the names others use
std::span<const Tool> fixture_tools();    // those of the conformance tests

const Tool* find_tool(std::string_view name, bool fixtures);
std::string tools_json(bool fixtures);    // the array of tools/list, the same every time

// Starts it; everything that is wrong with the call itself is answered here.
void call_tool(const CallPtr& call, const Headers* headers);

}  // namespace hotcell::server::mcp
