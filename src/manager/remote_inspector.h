// hotcell-inspect for a process that starts nothing itself: a child of the launcher, a fresh one for each question.
#pragma once
#include <memory>
#include <string>

#include "core/remote/remote_launcher.h"
#include "manager/inspector_child.h"

namespace hotcell {

class RemoteInspector {
 public:
  explicit RemoteInspector(RemoteLauncher& link) : link_(link) {}
  // The inspection as JSON; an error says what is wrong with the question (kInvalid), or why there is no answer.
  Result<std::string> ask(const InspectQuestion& question);
  // For several questions about what one program wrote.
  Result<std::unique_ptr<InspectorChild>> start();

 private:
  RemoteLauncher& link_;
};

}  // namespace hotcell
