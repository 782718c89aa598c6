#include "server/rest/json_reader.h"

#include <algorithm>

#include "base/strings.h"
#include "core/policy/suggest.h"
#include "core/policy/units.h"

namespace hotcell::server {

namespace {

// The founders' words first; what is wrong with it after them.
Error invalid(std::string_view message) {
  return make_error(ErrorCode::kInvalid, cat("invalid request body: ", message));
}

}  // namespace

Result<JsonValue> parse_body(std::string_view body) {
  auto parsed = parse_json(body);
  if (!parsed.ok()) return invalid(parsed.error().message);
  return parsed;
}

Result<JsonReader> JsonReader::of(const JsonValue& value, std::string where, std::span<const std::string_view> known) {
  const auto* members = value.object();
  if (members == nullptr) {
    std::string_view name = where.empty() ? std::string_view("the body") : std::string_view(where).substr(0, where.size() - 1);
    return invalid(cat(name, " must be an object, not ", value.kind()));
  }
  for (const auto& m : *members) {
    if (std::find(known.begin(), known.end(), m.name) == known.end())
      return invalid(cat("unknown field ", quoted(where + m.name), did_you_mean(m.name, known)));
  }
  return JsonReader(value, std::move(where));
}

const JsonValue* JsonReader::find(std::string_view name) const {
  const JsonValue* found = value_->find(name);
  return found == nullptr || found->is_null() ? nullptr : found;
}

Error JsonReader::wrong(std::string_view name, std::string_view expected) const {
  const JsonValue* found = find(name);
  return invalid(cat(where_, name, " must be ", expected, ", not ", found == nullptr ? "absent" : found->kind()));
}

Result<void> JsonReader::read(std::string_view name, std::string& out) const {
  const JsonValue* found = find(name);
  if (found == nullptr) return {};
  if (found->string() == nullptr) return wrong(name, "a string");
  out = *found->string();
  return {};
}

Result<void> JsonReader::read(std::string_view name, bool& out) const {
  std::optional<bool> said;
  TRY(read(name, said));
  out = said.value_or(out);
  return {};
}

Result<void> JsonReader::read(std::string_view name, std::optional<bool>& out) const {
  const JsonValue* found = find(name);
  if (found == nullptr) return {};
  const bool* truth = std::get_if<bool>(&found->v);
  if (truth == nullptr) return wrong(name, "true or false");
  out = *truth;
  return {};
}

Result<void> JsonReader::read(std::string_view name, std::vector<std::string>& out) const {
  const JsonValue* found = find(name);
  if (found == nullptr) return {};
  if (found->array() == nullptr) return wrong(name, "a list of strings");
  std::size_t index = 0;
  for (const auto& item : *found->array()) {
    const std::string where = cat(where_, name, "[", index++, "]");
    if (item.string() == nullptr) return invalid(cat(where, " must be a string, not ", item.kind()));
    if (item.string()->find('\0') != std::string::npos) return invalid(cat(where, " has a NUL character"));
    out.push_back(*item.string());
  }
  return {};
}

Result<void> JsonReader::read(std::string_view name, std::map<std::string, std::string>& out) const {
  const JsonValue* found = find(name);
  if (found == nullptr) return {};
  if (found->object() == nullptr) return wrong(name, "an object of strings");
  for (const auto& m : *found->object()) {
    const std::string where = cat(where_, name, ".", printable(m.name));
    if (m.value.string() == nullptr) return invalid(cat(where, " must be a string, not ", m.value.kind()));
    if ((m.name + *m.value.string()).find('\0') != std::string::npos) return invalid(cat(where, " has a NUL character"));
    out[m.name] = *m.value.string();
  }
  return {};
}

Result<void> JsonReader::read(std::string_view name, std::optional<std::uint64_t>& out) const {
  const JsonValue* found = find(name);
  if (found == nullptr) return {};
  if (const double* real = std::get_if<double>(&found->v))
    return invalid(cat(where_, name, *real >= 9e18 ? " is too large" : " must be a whole number"));
  if (std::holds_alternative<std::uint64_t>(found->v)) return invalid(cat(where_, name, " is too large"));   // for a signed one
  const auto* number = std::get_if<std::int64_t>(&found->v);
  if (number == nullptr) return wrong(name, "a whole number");
  if (*number < 0) return invalid(cat(where_, name, " must not be negative"));
  out = static_cast<std::uint64_t>(*number);
  return {};
}

Result<void> JsonReader::read(std::string_view name, std::optional<double>& out) const {
  const JsonValue* found = find(name);
  if (found == nullptr) return {};
  double number = 0;
  if (const auto* real = std::get_if<double>(&found->v)) number = *real;
  else if (const auto* whole = std::get_if<std::int64_t>(&found->v)) number = static_cast<double>(*whole);
  else if (const auto* large = std::get_if<std::uint64_t>(&found->v)) number = static_cast<double>(*large);
  else return wrong(name, "a number");
  if (number < 0) return invalid(cat(where_, name, " must not be negative"));
  out = number;
  return {};
}

Result<void> JsonReader::read_word(std::string_view name, std::string& out) const {
  TRY(read(name, out));
  if (out.find('\0') != std::string::npos) return invalid(cat(where_, name, " has a NUL character"));
  return {};
}

Result<void> JsonReader::read_choice(std::string_view name, std::span<const std::string_view> words,
                                     std::string& out) const {
  std::string said;
  TRY(read(name, said));
  if (said.empty()) return {};
  if (std::find(words.begin(), words.end(), said) == words.end()) {
    std::string all;
    for (auto word : words) all += cat(all.empty() ? "" : word == words.back() ? " or " : ", ", word);
    return invalid(cat(where_, name, " must be ", all, ", not ", quoted(said), did_you_mean(said, words)));
  }
  out = said;
  return {};
}

}  // namespace hotcell::server
