#include "cells/files/text_diff.h"

#include <algorithm>
#include <cstddef>
#include <unordered_map>

#include "base/strings.h"

namespace hotcell::cells {
namespace {

using Ids = std::vector<std::uint32_t>;

// Myers' O(ND) algorithm in its linear-space form: find a point on a shortest path from both ends at once, then do the
// two halves. After kCost rounds without meeting it splits at the furthest point reached instead: the result is longer,
// never wrong.
class Myers {
 public:
  Myers(const Ids& a, const Ids& b, std::vector<bool>& a_changed, std::vector<bool>& b_changed)
      : a_(a), b_(b), a_changed_(a_changed), b_changed_(b_changed), zero_(static_cast<std::ptrdiff_t>(b.size()) + 1),
        forward_(a.size() + b.size() + 3), backward_(forward_.size()) {}

  void run() {
    // A list instead of recursion: a hostile text must not decide how deep the stack gets.
    std::vector<Box> boxes = {{0, size(a_), 0, size(b_)}};
    while (!boxes.empty()) {
      Box box = boxes.back();
      boxes.pop_back();
      while (box.a0 < box.a1 && box.b0 < box.b1 && a_[at(box.a0)] == b_[at(box.b0)]) ++box.a0, ++box.b0;
      while (box.a0 < box.a1 && box.b0 < box.b1 && a_[at(box.a1 - 1)] == b_[at(box.b1 - 1)]) --box.a1, --box.b1;
      if (box.a0 == box.a1 || box.b0 == box.b1) {
        for (auto i = box.a0; i < box.a1; ++i) a_changed_[at(i)] = true;
        for (auto i = box.b0; i < box.b1; ++i) b_changed_[at(i)] = true;
        continue;
      }
      auto [x, y] = middle(box);
      if ((x == box.a0 && y == box.b0) || (x == box.a1 && y == box.b1)) {  // no progress: all of it changed, which is true
        for (auto i = box.a0; i < box.a1; ++i) a_changed_[at(i)] = true;
        for (auto i = box.b0; i < box.b1; ++i) b_changed_[at(i)] = true;
        continue;
      }
      boxes.push_back({x, box.a1, y, box.b1});
      boxes.push_back({box.a0, x, box.b0, y});
    }
  }

 private:
  using Index = std::ptrdiff_t;
  struct Box {
    Index a0, a1, b0, b1;
  };
  struct Point {
    Index x, y;
  };
  static constexpr Index kCost = 256;

  static Index size(const Ids& ids) { return static_cast<Index>(ids.size()); }
  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
  Index& f(Index diagonal) { return forward_[at(diagonal + zero_)]; }
  Index& b(Index diagonal) { return backward_[at(diagonal + zero_)]; }

  // Diagonal d is where x - y = d. f(d) is the furthest x reached from the start with so many edits, b(d) the smallest
  // from the end. Neither corner of the box is returned, so both halves are smaller.
  Point middle(const Box& box) {
    const Index lowest = box.a0 - box.b1, highest = box.a1 - box.b0;
    const Index start = box.a0 - box.b0, end = box.a1 - box.b1;
    const bool odd = ((start - end) & 1) != 0;
    Index f_low = start, f_high = start, b_low = end, b_high = end;
    f(start) = box.a0;
    b(end) = box.a1;
    for (Index cost = 1;; ++cost) {
      f_low > lowest ? f(--f_low - 1) = -1 : ++f_low;
      f_high < highest ? f(++f_high + 1) = -1 : --f_high;
      for (Index d = f_high; d >= f_low; d -= 2) {
        Index x = f(d - 1) < f(d + 1) ? f(d + 1) : f(d - 1) + 1;
        Index y = x - d;
        while (x < box.a1 && y < box.b1 && a_[at(x)] == b_[at(y)]) ++x, ++y;
        f(d) = x;
        if (odd && b_low <= d && d <= b_high && b(d) <= x) return {x, y};
      }
      b_low > lowest ? b(--b_low - 1) = kFar : ++b_low;
      b_high < highest ? b(++b_high + 1) = kFar : --b_high;
      for (Index d = b_high; d >= b_low; d -= 2) {
        Index x = b(d - 1) < b(d + 1) ? b(d - 1) : b(d + 1) - 1;
        Index y = x - d;
        while (box.a0 < x && box.b0 < y && a_[at(x - 1)] == b_[at(y - 1)]) --x, --y;
        b(d) = x;
        if (!odd && f_low <= d && d <= f_high && x <= f(d)) return {x, y};
      }
      if (cost >= kCost) return furthest(box, f_low, f_high);
    }
  }

  Point furthest(const Box& box, Index low, Index high) {
    Point best{box.a0, box.b0};
    for (Index d = high; d >= low; d -= 2) {
      Index x = std::min(f(d), box.a1), y = x - d;
      if (y > box.b1) x = box.b1 + d, y = box.b1;
      if (x < box.a0 || y < box.b0) continue;
      if (x + y > best.x + best.y) best = {x, y};
    }
    return best;
  }

  static constexpr Index kFar = PTRDIFF_MAX / 2;
  const Ids &a_, &b_;
  std::vector<bool>&a_changed_, &b_changed_;
  Index zero_;
  std::vector<Index> forward_, backward_;
};

// Lines that only one side has are changed for certain. Without them most real diffs are tiny.
struct Reduced {
  Ids ids;
  std::vector<std::uint32_t> from;
};
Reduced shared_lines(const Ids& ids, const std::vector<bool>& other_has, std::vector<bool>& changed) {
  Reduced out;
  for (std::uint32_t i = 0; i < ids.size(); ++i) {
    if (other_has[ids[i]]) {
      out.ids.push_back(ids[i]);
      out.from.push_back(i);
    } else {
      changed[i] = true;
    }
  }
  return out;
}

void append_range(std::string& out, std::uint32_t first, std::uint32_t count) {
  // Of an empty range the line before it is named.
  append_piece(out, count == 0 ? first : first + 1);
  if (count != 1) {
    out += ',';
    append_piece(out, count);
  }
}

void append_line(std::string& out, char sign, std::string_view line) {
  out += sign;
  out += line;
  if (!line.ends_with('\n')) out += "\n\\ No newline at end of file\n";
}

}  // namespace

bool looks_binary(std::string_view bytes) { return bytes.substr(0, 8000).find('\0') != std::string_view::npos; }

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    auto end = text.find('\n');
    auto length = end == std::string_view::npos ? text.size() : end + 1;
    out.push_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return out;
}

std::vector<Edit> edits_between(const std::vector<std::string_view>& old_lines, const std::vector<std::string_view>& new_lines) {
  std::unordered_map<std::string_view, std::uint32_t> known;
  auto ids_of = [&](const std::vector<std::string_view>& lines) {
    Ids ids;
    ids.reserve(lines.size());
    for (auto line : lines) ids.push_back(known.try_emplace(line, static_cast<std::uint32_t>(known.size())).first->second);
    return ids;
  };
  const Ids a = ids_of(old_lines), b = ids_of(new_lines);
  std::vector<bool> in_a(known.size()), in_b(known.size()), a_changed(a.size()), b_changed(b.size());
  for (auto id : a) in_a[id] = true;
  for (auto id : b) in_b[id] = true;
  const Reduced ra = shared_lines(a, in_b, a_changed), rb = shared_lines(b, in_a, b_changed);
  std::vector<bool> ra_changed(ra.ids.size()), rb_changed(rb.ids.size());
  Myers(ra.ids, rb.ids, ra_changed, rb_changed).run();
  for (std::size_t i = 0; i < ra.from.size(); ++i) a_changed[ra.from[i]] = ra_changed[i];
  for (std::size_t i = 0; i < rb.from.size(); ++i) b_changed[rb.from[i]] = rb_changed[i];

  std::vector<Edit> edits;
  std::uint32_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    Edit e{i, 0, j, 0};
    while (i < a.size() && a_changed[i]) ++i, ++e.removed;
    while (j < b.size() && b_changed[j]) ++j, ++e.added;
    if (e.removed > 0 || e.added > 0) edits.push_back(e);
    if (i < a.size()) ++i, ++j;
  }
  return edits;
}

Hunks unified_hunks(std::string_view old_text, std::string_view new_text, unsigned context) {
  const auto a = lines_of(old_text), b = lines_of(new_text);
  const auto edits = edits_between(a, b);
  Hunks out;
  const auto old_count = static_cast<std::uint32_t>(a.size());
  for (std::size_t first = 0; first < edits.size();) {
    std::size_t last = first;  // edits whose contexts touch share a hunk
    while (last + 1 < edits.size() && edits[last + 1].a - (edits[last].a + edits[last].removed) <= 2 * context) ++last;
    const auto before = std::min(context, edits[first].a);
    const auto end_of_last = edits[last].a + edits[last].removed;
    const auto after = std::min(context, old_count - end_of_last);
    const auto a0 = edits[first].a - before, b0 = edits[first].b - before;
    const auto a_count = end_of_last + after - a0, b_count = edits[last].b + edits[last].added + after - b0;
    out.text += "@@ -";
    append_range(out.text, a0, a_count);
    out.text += " +";
    append_range(out.text, b0, b_count);
    out.text += " @@\n";
    auto at = a0;
    for (; first <= last; ++first) {
      const Edit& e = edits[first];
      for (; at < e.a; ++at) append_line(out.text, ' ', a[at]);
      for (std::uint32_t k = 0; k < e.removed; ++k) append_line(out.text, '-', a[e.a + k]);
      for (std::uint32_t k = 0; k < e.added; ++k) append_line(out.text, '+', b[e.b + k]);
      at += e.removed;
      out.added += e.added;
      out.removed += e.removed;
    }
    for (auto end = at + after; at < end; ++at) append_line(out.text, ' ', a[at]);
  }
  return out;
}

}  // namespace hotcell::cells
