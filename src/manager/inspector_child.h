// hotcell-inspect as a child that is asked. All that one program wrote may be shown to one child; what others wrote gets
// another, since one that a text took over could lie about the next.
#pragma once
#include <memory>

#include "hotcell/result.h"
#include "hotcell/units.h"
#include "inspect/wire/question.h"
#include "sys/framed_child.h"

namespace hotcell {

class InspectorChild {
 public:
  InspectorChild(sys::Fd socket, sys::FramedChild::End end) { child_.start(std::move(socket), std::move(end)); }

  // An error says what is wrong with the question (kInvalid), or why there is no answer.
  Result<InspectAnswer> ask(const InspectQuestion& question);

 private:
  sys::FramedChild child_;
};

// ICU and the compiled patterns are some hundred megabytes of address space before a text is read.
inline constexpr Bytes kInspectorMemory = 1_GiB;

// A child of this process, for who is no daemon. `program`: as found by remote::find_program_of_ours.
Result<std::unique_ptr<InspectorChild>> start_inspector(const std::string& program);

}  // namespace hotcell
