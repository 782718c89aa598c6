#include "backends/engine/json.h"

#include <boost/json.hpp>

namespace hotcell::backends {
namespace {

namespace json = boost::json;

std::optional<json::value> parsed(std::string_view text) {
  boost::system::error_code error;
  json::value v = json::parse({text.data(), text.size()}, error);  // its depth is limited to 32
  if (error) return std::nullopt;
  return v;
}

const json::value* find(const json::value& from, std::initializer_list<std::string_view> path) {
  const json::value* at = &from;
  for (auto name : path) {
    const auto* object = at->if_object();
    at = object == nullptr ? nullptr : object->if_contains({name.data(), name.size()});
    if (at == nullptr) return nullptr;
  }
  return at;
}

}  // namespace

std::optional<std::string> json_text(std::string_view text, std::initializer_list<std::string_view> path) {
  auto v = parsed(text);
  const auto* at = v ? find(*v, path) : nullptr;
  const auto* s = at == nullptr ? nullptr : at->if_string();
  if (s == nullptr) return std::nullopt;
  return std::string(s->data(), s->size());
}

std::optional<std::int64_t> json_number(std::string_view text, std::initializer_list<std::string_view> path) {
  auto v = parsed(text);
  const auto* at = v ? find(*v, path) : nullptr;
  if (at == nullptr || !at->is_int64()) return std::nullopt;
  return at->get_int64();
}

std::optional<bool> json_truth(std::string_view text, std::initializer_list<std::string_view> path) {
  auto v = parsed(text);
  const auto* at = v ? find(*v, path) : nullptr;
  if (at == nullptr || !at->is_bool()) return std::nullopt;
  return at->get_bool();
}

std::vector<std::string> json_texts(std::string_view text, std::string_view name) {
  std::vector<std::string> out;
  auto v = parsed(text);
  const auto* at = v ? find(*v, {name}) : nullptr;
  const auto* list = at == nullptr ? nullptr : at->if_array();
  if (list == nullptr) return out;
  for (const auto& one : *list)
    if (const auto* s = one.if_string()) out.emplace_back(s->data(), s->size());
  return out;
}

bool json_has(std::string_view text, std::initializer_list<std::string_view> path) {
  auto v = parsed(text);
  return v && find(*v, path) != nullptr;
}

std::vector<std::pair<std::string, std::string>> json_labelled(std::string_view text, std::string_view label) {
  std::vector<std::pair<std::string, std::string>> out;
  auto v = parsed(text);
  const auto* list = v ? v->if_array() : nullptr;
  if (list == nullptr) return out;
  for (const auto& item : *list) {
    const auto* id = find(item, {"Id"});
    const auto* value = find(item, {"Labels", label});
    if (id != nullptr && value != nullptr && id->is_string() && value->is_string())
      out.emplace_back(std::string(id->get_string()), std::string(value->get_string()));
  }
  return out;
}

std::vector<std::pair<std::string, std::int64_t>> json_images(std::string_view text) {
  std::vector<std::pair<std::string, std::int64_t>> out;
  auto v = parsed(text);
  const auto* list = v ? v->if_array() : nullptr;
  if (list == nullptr) return out;
  for (const auto& item : *list) {
    const auto* tags = find(item, {"RepoTags"});
    const auto* made = find(item, {"Created"});
    if (tags == nullptr || !tags->is_array() || made == nullptr || !made->is_int64()) continue;
    for (const auto& tag : tags->get_array())
      if (tag.is_string()) out.emplace_back(std::string(tag.get_string()), made->get_int64());
  }
  return out;
}

std::vector<Descriptor> json_descriptors(std::string_view text, std::string_view name) {
  std::vector<Descriptor> out;
  auto v = parsed(text);
  const auto* at = v ? find(*v, {name}) : nullptr;
  const auto* list = at == nullptr ? nullptr : at->if_array();
  if (list == nullptr) return out;
  auto said = [](const json::value& item, std::initializer_list<std::string_view> path) {
    const auto* word = find(item, path);
    return word != nullptr && word->is_string() ? std::string(word->get_string()) : std::string();
  };
  for (const auto& item : *list)
    out.push_back({said(item, {"mediaType"}), said(item, {"digest"}), said(item, {"annotations", "org.opencontainers.image.ref.name"}), said(item, {"platform", "architecture"})});
  return out;
}

std::string json_message(std::string_view text) { return json_text(text, {"message"}).value_or(std::string(text.substr(0, 300))); }

}  // namespace hotcell::backends
