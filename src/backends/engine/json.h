// The few things that are read from an engine's answers.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hotcell::backends {

// What stands at a path of names; nothing where it is missing, of another type, or the text is no JSON.
std::optional<std::string> json_text(std::string_view json, std::initializer_list<std::string_view> path);
std::optional<std::int64_t> json_number(std::string_view json, std::initializer_list<std::string_view> path);
std::optional<bool> json_truth(std::string_view json, std::initializer_list<std::string_view> path);
std::vector<std::string> json_texts(std::string_view json, std::string_view name);  // of a list; empty where there is none
bool json_has(std::string_view json, std::initializer_list<std::string_view> path);

// Of a list of containers: each id with the value of a label.
std::vector<std::pair<std::string, std::string>> json_labelled(std::string_view json, std::string_view label);

// Of a list of images: each tag with the second it was made at.
std::vector<std::pair<std::string, std::int64_t>> json_images(std::string_view json);

// Of an image layout: what index.json (`list`: manifests) or a manifest (layers) points to.
struct Descriptor {
  std::string type, digest, tag, architecture;
};
std::vector<Descriptor> json_descriptors(std::string_view json, std::string_view list);
std::string json_message(std::string_view json);   // what an engine says of a failure, or the text itself

}  // namespace hotcell::backends
