// The few things about a Java source that must be known before it is compiled: its package, what the public class is
// called (the file must have that name) and which class has main.
#pragma once
#include <string>
#include <string_view>

namespace hotcell {

struct JavaOutline {
  std::string package;
  std::string public_type;
  std::string main_type;  // the top-level type with a `main(`; empty: none
};
JavaOutline java_outline(std::string_view text);

}  // namespace hotcell
