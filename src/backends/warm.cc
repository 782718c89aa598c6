#include "backends/warm.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/sha256.h"
#include "base/strings.h"
#include "sys/file.h"

namespace hotcell::backends {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);  // for one to be ready: longer than the launcher gives it
constexpr unsigned kMostLost = 3;                     // then nobody tries on: the next request meets the error itself

}  // namespace

std::string seen_now(const std::vector<std::string>& sources) {
  Sha256 hash;
  for (const auto& path : sources) {
    struct stat st {};
    bool there = ::stat(path.c_str(), &st) == 0;
    hash.add_number(there ? st.st_dev : 0);
    hash.add_number(there ? st.st_ino : 0);
  }
  auto table = sys::read_file("/proc/self/mountinfo", 16 << 20);
  if (!table.ok()) return {};
  for (auto line : split(table.value(), '\n')) {
    auto words = split(line, ' ');
    if (words.size() < 5) continue;
    bool shown = std::any_of(sources.begin(), sources.end(), [&](const std::string& s) {
      return words[4].starts_with(s) && (words[4].size() == s.size() || words[4][s.size()] == '/');
    });
    if (shown) hash.add_field(line);
  }
  return hash.finish_hex();
}

const Warm::Shelf* Warm::find(const Policy& policy) const {
  auto it = std::find_if(shelves_.begin(), shelves_.end(), [&](const Shelf& s) { return s.policy == policy; });
  return it == shelves_.end() ? nullptr : &*it;
}
Warm::Shelf* Warm::find(const Policy& policy) { return const_cast<Shelf*>(std::as_const(*this).find(policy)); }

void Warm::want(const Policy& policy, std::size_t count) {
  Shelf* shelf = find(policy);
  if (shelf == nullptr) {
    shelves_.push_back({policy, 0, 0, {}});
    shelf = &shelves_.back();
  }
  shelf->wanted = count;
  shelf->lost = 0;
}

std::size_t Warm::ready(const Launcher& outer, const Policy& policy) const {
  const Shelf* shelf = find(policy);
  if (shelf == nullptr) return 0;
  return static_cast<std::size_t>(
      std::count_if(shelf->stock.begin(), shelf->stock.end(), [&](const Started& s) { return outer.parked(s.outer, *s.runtime) > 0; }));
}

std::optional<Warm::Started> Warm::take(Launcher& outer, const Policy& policy) {
  Shelf* shelf = find(policy);
  if (shelf == nullptr) return std::nullopt;
  for (std::size_t i = 0; i < shelf->stock.size();) {
    Started& s = shelf->stock[i];
    if (outer.parked(s.outer, *s.runtime) == 0) {
      ++i;
    } else if (s.seen.empty() || s.seen != seen_now(s.sources)) {
      drop(outer, *shelf, i);
    } else {
      std::optional<Started> taken = std::move(s);
      shelf->stock.erase(shelf->stock.begin() + static_cast<std::ptrdiff_t>(i));
      shelf->lost = 0;
      return taken;
    }
  }
  return std::nullopt;
}

void Warm::leave(Launcher& outer, const Started& started) {
  outer.park(started.outer, started.runtime, 0).ignore("there is none of it any more");
}

// Ends it if it lives. Only one that is ready or dead: what is still being started would lose its folder under its feet.
void Warm::drop(Launcher& outer, Shelf& shelf, std::size_t index) {
  leave(outer, shelf.stock[index]);
  shelf.stock.erase(shelf.stock.begin() + static_cast<std::ptrdiff_t>(index));
}

void Warm::tend(Launcher& outer) {
  auto now = std::chrono::steady_clock::now();
  for (auto& shelf : shelves_) {
    for (std::size_t i = 0; i < shelf.stock.size();) {
      Started& s = shelf.stock[i];
      bool there = outer.parked(s.outer, *s.runtime) > 0;
      bool dead = !there && (s.ready || now - s.since > kPatience);
      s.ready = s.ready || there;
      if (dead && ++shelf.lost >= kMostLost) shelf.wanted = 0;
      if (dead || (there && shelf.stock.size() > shelf.wanted)) drop(outer, shelf, i);
      else ++i;
    }
    if (shelf.stock.size() >= shelf.wanted) continue;
    auto made = make_(shelf.policy);
    if (made.ok() && outer.park(made.value().outer, made.value().runtime, 1).ok()) {
      made.value().since = now;
      made.value().seen = seen_now(made.value().sources);
      shelf.stock.push_back(std::move(made).value());
    } else {
      shelf.wanted = 0;
    }
  }
  std::erase_if(shelves_, [](const Shelf& s) { return s.wanted == 0 && s.stock.empty(); });
}

}  // namespace hotcell::backends
