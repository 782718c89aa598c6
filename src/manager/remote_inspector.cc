#include "manager/remote_inspector.h"

namespace hotcell {

Result<std::unique_ptr<InspectorChild>> RemoteInspector::start() {
  TRY_SET(RemoteReader reader, link_.spawn_reader(remote::ReaderKind::kInspect, kInspectorMemory));
  return std::make_unique<InspectorChild>(std::move(reader.socket), [this, number = reader.number](int grace_ms) {
    return link_.end_reader(number, grace_ms > 0).value_or(0);
  });
}

Result<std::string> RemoteInspector::ask(const InspectQuestion& question) {
  TRY_SET(auto child, start());
  TRY_SET(InspectAnswer answer, child->ask(question));
  return std::move(answer.text);
}

}  // namespace hotcell
