// Which declaration a name means at a place, for analysers of block-structured languages. A scope is a node and its
// descendants, which are neighbours in the flat tree, so a look-up is one binary search and a few steps outwards.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "parse/syntax_tree.h"

namespace hotcell {

class NameScopes {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  // The same name in the same scope is the same declaration. `name` must outlive this object.
  std::uint32_t declare(std::string_view name, NodeId begin, NodeId end) {
    auto [list, fresh_name] = names_.try_emplace(name, static_cast<std::uint32_t>(lists_.size()));
    if (fresh_name) lists_.emplace_back();
    std::uint64_t key = (std::uint64_t{list->second} << 32) | begin;
    auto [at, fresh] = known_.try_emplace(key, static_cast<std::uint32_t>(scopes_.size()));
    if (fresh) {
      scopes_.push_back({begin, end, kNone});
      lists_[list->second].push_back(at->second);
    }
    return at->second;
  }

  // After the last declare, before the first find.
  void finish() {
    std::vector<std::uint32_t> open;
    for (auto& list : lists_) {
      std::sort(list.begin(), list.end(),
                [&](std::uint32_t a, std::uint32_t b) { return scopes_[a].begin < scopes_[b].begin; });
      open.clear();
      for (std::uint32_t id : list) {
        while (!open.empty() && scopes_[open.back()].end <= scopes_[id].begin) open.pop_back();
        if (!open.empty()) scopes_[id].outer = open.back();
        open.push_back(id);
      }
    }
  }

  // The innermost declaration around `at`; kNone: none, or nested so deeply that it is better taken for the global.
  std::uint32_t find(std::string_view name, NodeId at) const {
    auto list = names_.find(name);
    if (list == names_.end()) return kNone;
    const auto& ids = lists_[list->second];
    auto after = std::upper_bound(ids.begin(), ids.end(), at,
                                  [&](NodeId n, std::uint32_t id) { return n < scopes_[id].begin; });
    if (after == ids.begin()) return kNone;
    std::uint32_t id = *(after - 1);
    for (int steps = 0; id != kNone && steps < 256; ++steps, id = scopes_[id].outer)
      if (at < scopes_[id].end) return id;
    return kNone;
  }

  std::size_t size() const { return scopes_.size(); }

 private:
  struct Scope {
    NodeId begin, end;
    std::uint32_t outer;
  };
  std::vector<Scope> scopes_;
  std::vector<std::vector<std::uint32_t>> lists_;
  std::unordered_map<std::string_view, std::uint32_t> names_;
  std::unordered_map<std::uint64_t, std::uint32_t> known_;
};

}  // namespace hotcell
