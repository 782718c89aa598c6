#include "server/cells/cleaning.h"

#include <memory>

#include "base/strings.h"

namespace hotcell::server {
namespace {

constexpr double kDay = 24 * 3600;

// One at a time: a caller with many cells is not to fill the keeper's threads.
struct Cleaning : std::enable_shared_from_this<Cleaning> {
  Cleaning(CellDoor& d, std::function<bool()> g, CellDoor::Done<Cleaned> f) : door(d), goes_on(std::move(g)), done(std::move(f)) {}

  void next() {
    if (at == chosen.size() || !goes_on()) return done(std::move(cleaned));
    Cleaned::One one = chosen[at++];
    door.ask(one.id, "rm", {}, {}, [self = shared_from_this(), one](Result<cells::Told> told) mutable {
      if (told.ok()) {
        self->cleaned.removed.push_back(std::move(one));
      } else {
        one.why = told.error().message;
        self->cleaned.left.push_back(std::move(one));
      }
      self->next();
    });
  }

  CellDoor& door;
  std::function<bool()> goes_on;
  CellDoor::Done<Cleaned> done;
  std::vector<Cleaned::One> chosen;
  std::size_t at = 0;
  Cleaned cleaned;
};

}  // namespace

std::string cleaned_json(const Cleaned& cleaned) {
  auto list = [](const std::vector<Cleaned::One>& cells) {
    std::string out;
    for (const auto& one : cells) {
      out += cat(out.empty() ? "" : ",", "{\"id\":", json_string(one.id), ",\"name\":", json_string(one.name));
      if (!one.why.empty()) out += cat(",\"why\":", json_string(one.why));
      out += "}";
    }
    return out;
  };
  return cat("{\"removed\":[", list(cleaned.removed), "],\"left\":[", list(cleaned.left), "]}");
}

void clean_cells(CellDoor& door, const Caller& caller, const CleanSpec& spec, std::function<bool()> goes_on, CellDoor::Done<Cleaned> done) {
  auto cleaning = std::make_shared<Cleaning>(door, std::move(goes_on), std::move(done));
  door.list(caller, [cleaning, spec](Result<JsonValue> all) {
    if (!all.ok()) return cleaning->done(all.error());
    const std::optional<double> older = spec.older || spec.keep ? spec.older : kDay;
    std::uint64_t number = 0;
    for (const auto& cell : *all.value().array()) {
      const bool many = spec.keep && number++ >= *spec.keep;
      const bool old = older && static_cast<double>(cell.integer_or("age_seconds", 0)) >= *older;
      // One that runs is in use, however old it is.
      if ((many || old) && cell.text("status") != "running") cleaning->chosen.push_back({std::string(cell.text("id")), std::string(cell.text("name")), {}});
    }
    cleaning->next();
  });
}

}  // namespace hotcell::server
