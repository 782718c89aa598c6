#pragma once
#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace hotcell {

inline bool one_of(std::string_view s, std::initializer_list<std::string_view> list) {
  return std::find(list.begin(), list.end(), s) != list.end();
}

}  // namespace hotcell
