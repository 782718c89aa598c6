// What the daemon was told while it ran and must still know after a restart: a name and a JSON text.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "store/database.h"

namespace hotcell {

class Settings {
 public:
  static Result<Settings> open(const std::string& file);

  Result<std::optional<std::string>> get(std::string_view name);
  Result<void> set(std::string_view name, std::string_view json);
  Result<void> remove(std::string_view name);
  Result<std::map<std::string, std::string>> all();

 private:
  explicit Settings(Database database) : database_(std::move(database)) {}
  Database database_;
  Statement get_, set_, remove_;
};

}  // namespace hotcell
