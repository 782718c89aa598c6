// What came of an execution, as a tool result: bounded, whole JSON whatever the program wrote, honest about what was
// cut.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "server/mcp/call.h"
#include "server/json/json_value.h"
#include "store/history.h"

namespace hotcell::server::mcp {

inline constexpr std::size_t kMostText = 64u << 10;            // of one stream in one answer
inline constexpr std::size_t kMostImages = 4u << 20;           // of base64 in one answer
inline constexpr JsonBounds kResultBounds = {.depth = 32, .values = 1'000'000};  // our own result objects

// Which part of the streams is wanted. A negative offset counts from the end.
struct OutputWindow {
  std::int64_t offset = 0;
  std::size_t bytes = kMostText;
  bool out = true, err = true;
};

// Of a result object (manager/report_json.h).
ToolResult run_outcome(const JsonValue& result, const OutputWindow& window);
// Of an execution that has not ended, or whose result is gone.
ToolResult record_outcome(const ExecutionRecord& record);
// The members of a record as lists show it.
std::string record_object(const ExecutionRecord& record);

// The bytes of a stream ("stdout" or "stderr") in a result object.
std::string stream_bytes(const JsonValue& result, std::string_view stream);

// The part of it that fits, without half a character at either end where it is UTF-8.
std::string_view window_of(std::string_view bytes, const OutputWindow& window);

extern const std::string_view kRunOutputSchema;

}  // namespace hotcell::server::mcp
