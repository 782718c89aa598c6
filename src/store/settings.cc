#include "store/settings.h"

#include "store/schema.h"

namespace hotcell {

Result<Settings> Settings::open(const std::string& file) {
  TRY_SET(Database database, open_store(file));
  Settings settings(std::move(database));
  auto& db = settings.database_;
  TRY_SET(settings.get_, db.prepare("SELECT value FROM settings WHERE name=?"));
  TRY_SET(settings.set_, db.prepare("INSERT INTO settings(name,value) VALUES(?,?) "
                                    "ON CONFLICT(name) DO UPDATE SET value=excluded.value"));
  TRY_SET(settings.remove_, db.prepare("DELETE FROM settings WHERE name=?"));
  return settings;
}

Result<std::optional<std::string>> Settings::get(std::string_view name) {
  get_.start(name);
  TRY_SET(bool row, get_.step());
  if (!row) return std::optional<std::string>();
  std::optional<std::string> value = get_.text(0);
  get_.reset();
  return value;
}

Result<void> Settings::set(std::string_view name, std::string_view json) { return set_.run(name, json); }
Result<void> Settings::remove(std::string_view name) { return remove_.run(name); }

Result<std::map<std::string, std::string>> Settings::all() {
  TRY_SET(Statement select, database_.prepare("SELECT name,value FROM settings"));
  std::map<std::string, std::string> out;
  for (;;) {
    TRY_SET(bool row, select.step());
    if (!row) return out;
    out.emplace(select.text(0), select.text(1));
  }
}

}  // namespace hotcell
