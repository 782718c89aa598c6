// An execution as lists and pages show it, by every door the same.
#pragma once
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/json_write.h"
#include "store/history.h"

namespace hotcell {

// Its members, for an object that the caller opens and closes.
void write_record_fields(JsonWriter& w, const ExecutionRecord& record);
std::string record_json(const ExecutionRecord& record);
void write_time(JsonWriter& w, std::string_view name, std::chrono::system_clock::time_point time);  // null when zero
void write_optional(JsonWriter& w, std::string_view name, const std::optional<int>& number);        // null when none
void write_optional(JsonWriter& w, std::string_view name, std::string_view text);                   // null when empty

}  // namespace hotcell
