#include "inspect/program/serve.h"

#include <exception>
#include <new>

#include "base/strings.h"
#include "hotcell/inspect.h"
#include "inspect/user_rules.h"
#include "inspect/wire/question.h"
#include "sys/confine_reader.h"
#include "sys/framed_child.h"

namespace hotcell {
namespace {

Result<Inspection> look_at(const InspectQuestion& question) {
  InspectOptions options;
  // Arguments are where the other kinds mean something.
  if (question.as == "arguments") options.kinds = InspectKindSet::all();
  if (!question.kinds.empty()) options.kinds = {};
  for (const auto& name : question.kinds) {
    auto kind = inspect_kind(name);
    if (kind) options.kinds.add(*kind);
    else if (name == "all") options.kinds = InspectKindSet::all();
    else return make_error(ErrorCode::kInvalid, cat("unknown kind ", printable(name)));
  }
  options.allowed_domains = question.allowed_domains;
  if (!question.rules.empty()) {
    TRY_SET(options.rules, inspect::read_user_rules(question.rules));
  }
  if (question.as == "text") return inspect_text(question.text, options);
  if (question.as == "command") return inspect_command(question.text, options);
  if (question.as == "arguments") return inspect_arguments(question.text, options);
  return make_error(ErrorCode::kInvalid, cat("unknown form ", printable(question.as)));
}

InspectAnswer answer(std::string_view bytes) {
  try {
    auto question = unpack_inspect_question(bytes);
    if (!question) return {false, "the question could not be read"};
    auto inspection = look_at(*question);
    if (!inspection.ok()) return {false, inspection.error().message};
    if (!question->as_parts) return {true, inspection_json(inspection.value())};
    return as_parts(std::move(inspection).value());
  } catch (const std::bad_alloc&) {
    return {false, "reading it takes more memory than the inspector is given"};
  } catch (const std::exception& e) {
    return {false, cat("the inspector failed on it: ", e.what())};
  }
}

}  // namespace

InspectAnswer as_parts(Inspection inspection) {
  InspectAnswer told{true, {}};
  told.cut = inspection.cut;
  for (auto& f : inspection.findings)
    told.parts.push_back({std::string(to_string(f.kind)), std::move(f.type), std::string(to_string(f.level)), std::move(f.rule),
                          std::move(f.message), std::move(f.snippet), f.offset, std::move(f.path)});
  return told;
}

int serve_inspections(int socket, std::uint64_t memory_bytes) {
  // What is compiled at first use, and what the libraries read of their own, before the walls close.
  inspect_text("x", {}).ignore("the questions will say so");
  inspect_command("x", {}).ignore("the questions will say so");
  if (auto confined = sys::confine_reader(memory_bytes); !confined.ok()) {
    sys::send_frame(socket, pack(InspectAnswer{false, cat("the inspector could not be confined: ", confined.error().message)}));
    return 1;
  }
  std::string in;
  while (sys::receive_frame(socket, kLongestInspectQuestion, in))
    if (!sys::send_frame(socket, pack(answer(in)))) break;
  return 0;
}

}  // namespace hotcell
