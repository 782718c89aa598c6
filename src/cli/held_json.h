// What each part of a policy becomes behind a backend, as `explain` and `backend list` write it.
#pragma once
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "base/json_write.h"

namespace hotcell {

inline void write_held(JsonWriter& w, const std::vector<backends::Held>& held) {
  w.key("policy");
  w.begin_array();
  for (const auto& h : held) {
    w.begin_object();
    w.field("statement", std::string_view(h.statement));
    w.field("status", to_string(h.status));
    w.field("detail", std::string_view(h.detail));
    w.end_object();
  }
  w.end_array();
}

}  // namespace hotcell
