#include "inspect/wire/question.h"

namespace hotcell {

template <typename Archive>
void fields(Archive& a, InspectQuestion& q) {
  a(q.as, q.kinds, q.allowed_domains, q.text, q.rules, q.as_parts);
}
template <typename Archive>
void fields(Archive& a, InspectPart& p) {
  a(p.kind, p.type, p.level, p.rule, p.message, p.snippet, p.offset, p.path);
}
template <typename Archive>
void fields(Archive& a, InspectAnswer& answer) {
  a(answer.ok, answer.text, answer.parts, answer.cut);
}

}  // namespace hotcell

#include "base/archive.h"

namespace hotcell {
namespace {

template <typename T>
std::string packed(const T& value) {
  archive::Packer packer;
  packer(value);
  return std::move(packer.out);
}

template <typename T>
std::optional<T> unpacked(std::string_view bytes) {
  T value;
  archive::Unpacker unpacker(bytes);
  unpacker(value);
  if (!unpacker.finished()) return std::nullopt;
  return value;
}

}  // namespace

std::string pack(const InspectQuestion& question) { return packed(question); }
std::optional<InspectQuestion> unpack_inspect_question(std::string_view bytes) { return unpacked<InspectQuestion>(bytes); }
std::string pack(const InspectAnswer& answer) { return packed(answer); }
std::optional<InspectAnswer> unpack_inspect_answer(std::string_view bytes) { return unpacked<InspectAnswer>(bytes); }

}  // namespace hotcell
