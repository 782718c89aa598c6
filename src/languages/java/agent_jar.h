// A jar with one class and the manifest that makes it an agent.
#pragma once
#include <string>
#include <string_view>

namespace hotcell {

std::string agent_jar(std::string_view class_name, std::string_view class_bytes);

}  // namespace hotcell
