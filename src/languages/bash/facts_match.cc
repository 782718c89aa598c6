// Shell patterns, arithmetic over constants, and paths by their letters.
#include <algorithm>
#include <cstdlib>

#include "languages/bash/facts_text.h"

namespace hotcell::bash {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

class Arithmetic {
 public:
  explicit Arithmetic(std::string_view s) : s_(s) {}
  std::optional<long> run() {
    long v = sum(0);
    blank();
    return ok_ && at_ == s_.size() ? std::optional<long>(v) : std::nullopt;
  }

 private:
  void blank() {
    while (at_ < s_.size() && (s_[at_] == ' ' || s_[at_] == '\t')) ++at_;
  }
  char look() {
    blank();
    return at_ < s_.size() ? s_[at_] : '\0';
  }
  long value(int depth) {
    char c = look();
    if (depth > 16) ok_ = false;
    if (!ok_) return 0;
    if (c == '-' || c == '+') {
      ++at_;
      long v = value(depth + 1);
      return c == '-' ? -v : v;
    }
    if (c == '(') {
      ++at_;
      long v = sum(depth + 1);
      if (look() != ')') ok_ = false;
      ++at_;
      return v;
    }
    if (c < '0' || c > '9') ok_ = false;
    long v = 0;
    int base = 10;
    if (c == '0' && at_ + 1 < s_.size() && (s_[at_ + 1] == 'x' || s_[at_ + 1] == 'X'))
      base = 16, at_ += 2;
    else if (c == '0')
      base = 8;
    for (; ok_ && at_ < s_.size() && hex_value(s_[at_]) >= 0 && hex_value(s_[at_]) < base; ++at_) {
      v = v * base + hex_value(s_[at_]);
      if (v > (1L << 40)) ok_ = false;
    }
    return v;
  }
  long product(int depth) {
    long v = value(depth);
    for (char c = look(); ok_ && (c == '*' || c == '/' || c == '%'); c = look()) {
      ++at_;
      long w = value(depth);
      if ((c != '*' && w == 0) || std::abs(v) > (1L << 40) || std::abs(w) > (1L << 20)) ok_ = false;
      if (!ok_) return 0;
      v = c == '*' ? v * w : c == '/' ? v / w : v % w;
    }
    return v;
  }
  long sum(int depth) {
    long v = product(depth);
    for (char c = look(); ok_ && (c == '+' || c == '-'); c = look()) {
      ++at_;
      long w = product(depth);
      v = c == '+' ? v + w : v - w;
    }
    return v;
  }
  std::string_view s_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

}  // namespace

bool pattern_matches(std::string_view p, std::string_view s) {
  std::size_t i = 0, j = 0, star = std::string_view::npos, mark = 0;
  auto set_end = [&](std::size_t at) {
    std::size_t e = at + 1;
    if (e < p.size() && (p[e] == '!' || p[e] == '^')) ++e;
    if (e < p.size() && p[e] == ']') ++e;
    return p.find(']', e);
  };
  auto one = [&](std::size_t at, char c, std::size_t& next) {
    if (p[at] == '?') return next = at + 1, true;
    std::size_t end = p[at] == '[' ? set_end(at) : std::string_view::npos;
    if (end == std::string_view::npos) return next = at + 1, p[at] == c;
    next = end + 1;
    std::size_t k = at + 1;
    bool negated = p[k] == '!' || p[k] == '^', hit = false;
    if (negated) ++k;
    for (; k < end; ++k) {
      if (k + 2 < end && p[k + 1] == '-') {
        hit = hit || (p[k] <= c && c <= p[k + 2]);
        k += 2;
      } else {
        hit = hit || p[k] == c;
      }
    }
    return hit != negated;
  };
  while (j < s.size()) {
    std::size_t next = 0;
    if (i < p.size() && p[i] == '*') {
      star = ++i;
      mark = j;
    } else if (i < p.size() && one(i, s[j], next)) {
      i = next;
      ++j;
    } else if (star != std::string_view::npos) {
      i = star;
      j = ++mark;
    } else {
      return false;
    }
  }
  while (i < p.size() && p[i] == '*') ++i;
  return i == p.size();
}

std::optional<long> evaluate_arithmetic(std::string_view s) { return Arithmetic(s).run(); }

std::string normalise_path(std::string_view path, std::string_view folder) {
  std::string joined;
  if (!path.starts_with('/') && !path.starts_with('~') && !folder.empty()) {
    joined = std::string(folder) + "/" + std::string(path);
    path = joined;
  }
  std::string head = path.starts_with('/') ? "/" : "";
  std::vector<std::string_view> pieces;
  for (std::size_t from = 0; from <= path.size();) {
    std::size_t to = std::min(path.find('/', from), path.size());
    std::string_view piece = path.substr(from, to - from);
    from = to + 1;
    if (piece.empty() || piece == ".") continue;
    if (piece == ".." && !pieces.empty() && pieces.back() != "..")
      pieces.pop_back();
    else if (piece != ".." || head.empty())
      pieces.push_back(piece);
  }
  // Another name for the root: programs are started through it past lists of names.
  while (!head.empty() && pieces.size() >= 3 && pieces[0] == "proc" && pieces[2] == "root")
    pieces.erase(pieces.begin(), pieces.begin() + 3);
  std::string out = head;
  for (std::size_t i = 0; i < pieces.size(); ++i) (out += i == 0 ? "" : "/") += pieces[i];
  return out.empty() ? "." : out;
}

}  // namespace hotcell::bash
