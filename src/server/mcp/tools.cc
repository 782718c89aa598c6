#include "server/mcp/tools.h"

#include <array>

#include "base/strings.h"

namespace hotcell::server::mcp {

namespace {

// Until f says true. A group is looked at when those before it have been: sandbox_tools() is made of others.
template <typename F>
void for_each_tool(bool fixtures, F&& f) {
  for (auto group : {run_tools, execution_tools, source_tools, cell_tools, cell_shell_tools, cell_file_tools, cell_change_tools,
                      network_tools, sandbox_tools, fixture_tools}) {
    if (group == fixture_tools && !fixtures) return;
    for (const Tool& tool : group())
      if (f(tool)) return;
  }
}

}  // namespace

const Tool* find_tool(std::string_view name, bool fixtures) {
  const Tool* found = nullptr;
  for_each_tool(fixtures, [&](const Tool& tool) {
    if (tool.name == name) found = &tool;
    return found != nullptr;
  });
  return found;
}

std::string tools_json(bool fixtures) {
  std::string out = "[";
  for_each_tool(fixtures, [&](const Tool& tool) {
    if (out.size() > 1) out += ',';
    out += cat("{\"name\":", json_string(tool.name), ",\"title\":", json_string(tool.title), ",\"description\":",
               json_string(tool.description), ",\"inputSchema\":", tool.input);
    if (!tool.output.empty()) out += cat(",\"outputSchema\":", tool.output);
    if (!tool.annotations.empty()) out += cat(",\"annotations\":", tool.annotations);
    out += '}';
    return false;
  });
  out += ']';
  // Schemas are written over several lines; a message is one line.
  std::erase(out, '\n');
  return out;
}

void call_tool(const CallPtr& call, const Headers* headers) {
  const JsonValue& params = call->message().params;
  const JsonValue* name = params.find("name");
  if (name == nullptr || name->string() == nullptr)
    return call->fail({kInvalidParams, "params.name is missing or no string", {}});
  const Tool* tool = find_tool(*name->string(), call->services().conformance_fixtures);
  if (tool == nullptr)
    return call->fail({kInvalidParams, cat("unknown tool '", printable(name->string()->substr(0, 100)), "'"), {}});
  const JsonValue* arguments = params.find("arguments");
  if (arguments != nullptr && arguments->object() == nullptr)
    return call->fail({kInvalidParams, cat("params.arguments must be an object, not ", arguments->kind()), {}});
  if (headers != nullptr && call->message().era == Era::kModern) {
    for (const auto& [parameter, header] : tool->header_params)
      if (auto error = check_param_header(*headers, header, call->arguments().find(parameter)))
        return call->fail(std::move(*error));
  }
  if (headers != nullptr && call->trace_parent.empty())
    if (auto parent = header_value(*headers, "traceparent")) call->trace_parent = parent->substr(0, 64);
  const Caller& caller = call->caller();
  if (tool->needs == ToolNeeds::kRun ? !caller.run : !caller.read)
    return call->finish_error(cat("this key may not ", tool->needs == ToolNeeds::kRun ? "run" : "read", " anything"));
  tool->run(call);
}

}  // namespace hotcell::server::mcp
