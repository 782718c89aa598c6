#include "cells/decisions/whereabouts.h"

#include <algorithm>

#include "base/strings.h"

namespace hotcell::cells {
namespace {

constexpr std::size_t kMostFolders = 16, kLongest = 4096, kMostPushed = 64;

// As it is written: `..` takes back the name before it. Above the workspace is the root.
std::string below(const std::string& folder, std::string_view to) {
  const std::string whole = to.starts_with('/') || folder.empty() ? std::string(to) : cat(folder, "/", to);
  bool rooted = whole.starts_with('/');
  std::vector<std::string_view> kept;
  for (auto part : split(whole, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") kept.push_back(part);
    else if (!kept.empty()) kept.pop_back();
    else rooted = true;
  }
  std::string out;
  for (auto part : kept) out += cat(out.empty() && !rooted ? "" : "/", part);
  return rooted && out.empty() ? "/" : out == "/work" ? "" : out;
}

bool only_up(std::string_view to) {
  auto parts = split(to, '/');
  return std::all_of(parts.begin(), parts.end(), [](std::string_view part) { return part.empty() || part == "." || part == ".."; });
}

// Nothing in a cell can take these away.
bool always_there(const std::string& folder) { return folder.empty() || folder == "/" || folder == "/work" || folder == "/tmp"; }
bool all_there(const Folders& folders) { return std::all_of(folders.begin(), folders.end(), always_there); }

Folders both(const Folders& a, const Folders& b) {
  Folders out;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

}  // namespace

Whereabouts::Whereabouts(std::string folder) { set({below("", folder)}); }

bool Whereabouts::operator==(const Whereabouts& other) const {
  auto same = [](const auto& a, const auto& b) { return a == b || (a && b && *a == *b); };
  return same(now_, other.now_) && same(before_, other.before_) && lost_ == other.lost_ && adrift_ == other.adrift_ && pushed_.size() == other.pushed_.size();
}

void Whereabouts::set(Folders folders) {
  std::sort(folders.begin(), folders.end());
  folders.erase(std::unique(folders.begin(), folders.end()), folders.end());
  if (folders.size() > kMostFolders) {
    lost_ = true;
    folders.resize(kMostFolders);
  }
  now_ = std::make_shared<const Folders>(std::move(folders));
}

void Whereabouts::move(Folders to, bool certain) {
  std::sort(to.begin(), to.end());
  auto was = now_;
  if (certain) {
    before_ = was;
    lost_ = lost_ && !all_there(to);
    return set(std::move(to));
  }
  before_ = std::make_shared<const Folders>(before_ ? both(*before_, *was) : *was);
  set(both(*was, to));
}

void Whereabouts::go(std::string_view to) {
  if (to.size() > kLongest) return lose();
  Folders there;
  for (const auto& from : *now_) {
    there.push_back(below(from, to));
    if (there.back().size() > kLongest) return lose();
  }
  // What is above is there, and so are a few that nothing can take away.
  move(std::move(there), only_up(to) || (to.starts_with('/') && always_there(below("", to))));
}

void Whereabouts::go_for_certain(std::string_view to) {
  Folders there;
  for (const auto& from : *now_) there.push_back(below(from, to.substr(0, kLongest)));
  move(std::move(there), true);
}

void Whereabouts::go_home() { move({""}, true); }
void Whereabouts::go_anywhere() { move({""}, false); }

void Whereabouts::go_back() {
  if (!before_) return;  // an error, and it stays
  const Folders to = *before_;
  move(to, all_there(to));
}

void Whereabouts::push(std::string_view to) {
  auto from = now_;
  go(to);
  if (pushed_.size() == kMostPushed) return lose();
  pushed_.push_back({from, now_});
}

void Whereabouts::swap() {
  Folders all = *now_;
  for (const auto& p : pushed_) all = both(all, *p.from);
  set(std::move(all));
}

void Whereabouts::pop() {
  if (pushed_.empty()) return;  // an error, and it stays
  const Pushed last = pushed_.back();
  pushed_.pop_back();
  // Where the push had failed this fails as well: it stays where it has gone since.
  const bool moved = last.then != now_ && *last.then != *now_;
  move(*last.from, !moved && all_there(*last.from));
}

void Whereabouts::join(const Whereabouts& other) {
  lost_ = lost_ || other.lost_;
  adrift_ = adrift_ || other.adrift_;
  if (other.before_) before_ = std::make_shared<const Folders>(before_ ? both(*before_, *other.before_) : *other.before_);
  if (pushed_.size() != other.pushed_.size()) {
    for (const auto& p : other.pushed_) set(both(*now_, *p.from));
    if (pushed_.size() < other.pushed_.size()) pushed_ = other.pushed_;
  }
  if (now_ != other.now_) set(both(*now_, *other.now_));
}

}  // namespace hotcell::cells
