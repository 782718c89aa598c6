#include "base/json_write.h"
#include "base/strings.h"
#include "cells/contexts/context.h"

namespace hotcell::cells {

std::string_view to_string(CallResult::State state) {
  switch (state) {
    case CallResult::State::kOk: return "ok";
    case CallResult::State::kError: return "error";
    case CallResult::State::kInterrupted: return "interrupted";
    case CallResult::State::kTimeout: return "timeout";
    case CallResult::State::kGone: break;
  }
  return "gone";
}

std::string call_json(const CallResult& result) {
  JsonWriter w;
  // As in a report: text where it is text, base64 under another name where it is not.
  auto text = [&](std::string_view name, const std::string& bytes) {
    if (is_valid_utf8(bytes)) w.field(name, bytes);
    else w.field(cat(name, "_base64"), base64(bytes));
  };
  w.begin_object();
  w.field("state", to_string(result.state));
  text("value", result.value);
  w.field("value_truncated", result.value_cut);
  text("output", result.output);
  text("errors", result.errors);
  w.field("output_truncated", result.output_cut);
  text("error", result.error);
  text("traceback", result.traceback);
  w.field("exit_code", result.exit_code);
  w.field("timed_out", result.timed_out);
  w.key("rich");
  w.begin_array();
  for (const auto& r : result.rich) {
    w.begin_object();
    w.field("type", r.kind);
    w.field("name", r.name);
    if (r.kind == "png") w.field("bytes", base64(r.bytes));
    else w.field("text", r.bytes);
    w.end_object();
  }
  w.end_array();
  w.field("duration", static_cast<std::int64_t>(result.duration.count()));
  w.end_object();
  return w.take();
}

}  // namespace hotcell::cells
