#include "e2e/json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdlib>

namespace hotcell::testing {

struct Json::Value {
  boost::json::value root;

  const boost::json::value* at(std::string_view path) const {
    const boost::json::value* here = &root;
    while (!path.empty() && here != nullptr) {
      std::string key(path.substr(0, path.find('/')));
      path.remove_prefix(std::min(path.size(), key.size() + 1));
      if (here->is_object()) {
        here = here->as_object().if_contains(key);
      } else if (here->is_array()) {
        here = here->as_array().if_contains(static_cast<std::size_t>(std::atoi(key.c_str())));
      } else {
        here = nullptr;
      }
    }
    return here;
  }
};

Json::Json(const std::string& text) : value_(std::make_unique<Value>()) {
  boost::system::error_code error;
  value_->root = boost::json::parse(text, error);
  EXPECT_FALSE(error) << error.message() << " in: " << text.substr(0, 4000);
}
Json::~Json() = default;
Json::Json(Json&&) noexcept = default;

bool Json::has(std::string_view path) const { return value_->at(path) != nullptr; }

std::string Json::text(std::string_view path) const {
  const auto* found = value_->at(path);
  if (found == nullptr) return "(missing)";
  return found->is_string() ? std::string(found->as_string()) : boost::json::serialize(*found);
}

std::size_t Json::size(std::string_view path) const {
  const auto* found = value_->at(path);
  if (found == nullptr) return 0;
  return found->is_array() ? found->as_array().size() : found->is_object() ? found->as_object().size() : 0;
}

std::vector<std::string> Json::keys(std::string_view path) const {
  std::vector<std::string> out;
  const auto* found = value_->at(path);
  if (found != nullptr && found->is_object())
    for (const auto& pair : found->as_object()) out.emplace_back(pair.key());
  return out;
}

std::string Json::find_by_name(std::string_view array, std::string_view name, std::string_view key) const {
  for (std::size_t i = 0; i < size(array); ++i) {
    std::string at = array.empty() ? "" : std::string(array) + "/";
    at += std::to_string(i) + "/";
    if (text(at + "name") == name) return text(at + std::string(key));
  }
  return "(missing)";
}

}  // namespace hotcell::testing
