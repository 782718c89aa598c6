// What the official conformance tests expect of a server under test: tools, resources and prompts by names of theirs.
// Shown only with --mcp-conformance-fixtures.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "server/mcp/resources.h"

namespace hotcell::server::mcp {

std::string_view fixture_capabilities();             // more members of "capabilities", with the comma before them
std::string_view fixture_resources();                // entries of resources/list
std::string_view fixture_templates();                // entries of resources/templates/list
std::optional<std::string> fixture_contents(std::string_view uri);   // of resources/read
std::optional<Members> fixture_method(const Message& message);       // prompts, completion, logging, subscriptions

}  // namespace hotcell::server::mcp
