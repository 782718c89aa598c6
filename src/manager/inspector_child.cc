#include "manager/inspector_child.h"

#include "base/strings.h"
#include "sys/socket_child.h"

namespace hotcell {

namespace {
constexpr Nanoseconds kWall = std::chrono::seconds(10);
}  // namespace

Result<InspectAnswer> InspectorChild::ask(const InspectQuestion& question) {
  if (question.text.size() > kMostInspected) return make_error(ErrorCode::kLimit, cat("it is larger than ", kMostInspected >> 20, " MiB"));
  if (!child_.running()) return make_error(ErrorCode::kInternal, "the inspector has ended");
  auto said = child_.ask(sys::frame(pack(question)), kWall, kLongestInspectAnswer);
  if (said.how == sys::FramedChild::How::kTimeout) return make_error(ErrorCode::kLimit, "inspecting it takes longer than 10 s");
  if (said.how == sys::FramedChild::How::kDied)
    return make_error(ErrorCode::kInternal, cat("the inspector was stopped by this text (wait status ", said.status, ")"));
  auto answer = said.how == sys::FramedChild::How::kAnswered ? unpack_inspect_answer(said.payload) : std::nullopt;
  if (!answer) return make_error(ErrorCode::kInternal, "the inspector's answer makes no sense");
  if (!answer->ok) return make_error(ErrorCode::kInvalid, printable(answer->text));
  return *std::move(answer);
}

Result<std::unique_ptr<InspectorChild>> start_inspector(const std::string& program) {
  TRY_SET(sys::SocketChild child, sys::start_socket_child(program, {"hotcell-inspect", "--serve", cat(kInspectorMemory.n)}));
  sys::Fd socket = std::move(child.socket);
  auto held = std::make_shared<sys::SocketChild>(std::move(child));
  return std::make_unique<InspectorChild>(std::move(socket), [held](int grace_ms) { return sys::end_socket_child(*held, grace_ms); });
}

}  // namespace hotcell
