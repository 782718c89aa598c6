#include "base/json_write.h"
#include "base/strings.h"
#include "hotcell/inspect.h"

namespace hotcell {

std::string inspection_json(const Inspection& inspection) {
  JsonWriter w;
  w.begin_object();
  w.field("safe", inspection.safe());
  w.field("level", to_string(inspection.level()));
  w.key("findings");
  w.begin_array();
  for (const auto& f : inspection.findings) {
    w.begin_object();
    w.field("kind", to_string(f.kind));
    w.field("type", f.type);
    w.field("level", to_string(f.level));
    w.field("rule", f.rule);
    w.field("message", f.message);
    w.field("snippet", f.snippet);
    w.field("offset", f.offset);
    if (!f.path.empty()) w.field("path", f.path);
    w.end_object();
  }
  w.end_array();
  if (inspection.cut) w.field("cut", true);
  w.end_object();
  return w.take();
}

std::string inspection_text(const Inspection& inspection, std::string_view name) {
  std::string out;
  for (const auto& f : inspection.findings)
    out += cat(printable(name), ":", f.offset, ": ", to_string(f.level), ": ", f.message, " [", f.rule, "]\n    ", printable(f.snippet), "\n");
  if (inspection.cut) out += cat(printable(name), ": there were more findings than are shown\n");
  return out;
}

}  // namespace hotcell
