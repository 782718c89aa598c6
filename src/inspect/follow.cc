#include "inspect/follow.h"

#include <algorithm>
#include <map>
#include <set>

#include "inspect/pattern_reader.h"

namespace hotcell::inspect {

namespace {

constexpr std::size_t kMostStates = 250;  // the table of one rule stays within a few KiB
constexpr unsigned kMostCopies = 40;      // of a counted element: the length of a key
constexpr unsigned kMostOptional = 6;     // those that may follow; of more, any number

struct Node {
  std::vector<int> free;  // reached without a byte
  Bits on;
  int to = -1;
};

class Machine : private PatternReader {
 public:
  Machine(std::string_view pattern, bool caseless) : PatternReader(pattern, caseless) {
    first_ = node();
    last_ = alternatives(first_);
  }
  using Set = std::set<int>;
  Set start() const { return closed({first_}); }
  bool accepts(const Set& s) const { return s.contains(last_); }
  Set step(const Set& from, unsigned char byte) const {
    Set to;
    for (int n : from)
      if (nodes_[static_cast<std::size_t>(n)].on[byte]) to.insert(nodes_[static_cast<std::size_t>(n)].to);
    return closed(to);
  }
  const std::vector<Node>& nodes() const { return nodes_; }

 private:
  int node() { return nodes_.emplace_back(), static_cast<int>(nodes_.size()) - 1; }
  void join(int from, int to) { nodes_[static_cast<std::size_t>(from)].free.push_back(to); }

  int alternatives(int from) {
    int end = node();
    for (;;) {
      int begin = node();
      join(from, begin);
      while (!ended() && p_[at_] != '|') begin = element(begin);
      join(begin, end);
      if (ended()) return end;
      ++at_;
    }
  }

  int atom(int from) {
    if (rest().starts_with("\\b") || p_[at_] == '^' || p_[at_] == '$') {
      at_ += p_[at_] == '\\' ? 2 : 1;
      return from;
    }
    if (p_[at_] == '(') {
      at_ += rest().starts_with("(?:") ? 3 : 1;
      int end = alternatives(from);
      ++at_;
      return end;
    }
    Bits on = bytes();
    int begin = node(), end = node();
    join(from, begin);
    nodes_[static_cast<std::size_t>(begin)].on = on;
    nodes_[static_cast<std::size_t>(begin)].to = end;
    return end;
  }

  int element(int from) {
    const std::size_t text = at_;
    int begin = node();
    join(from, begin);
    int end = atom(begin);
    Times times = quantifier();
    const std::size_t after = at_;
    // What must be there is there as often as it must; what may follow, follows as often as it likes.
    for (unsigned n = 1; n < std::min(times.least, kMostCopies); ++n) {
      at_ = text;
      begin = node();
      join(end, begin);
      end = atom(begin);
    }
    at_ = after;
    int out = node();
    if (times.least == 0) join(begin, out);
    if (times.most <= kMostOptional) {
      for (unsigned n = std::max(times.least, 1u); n < times.most; ++n) {
        join(end, out);
        at_ = text;
        end = atom(end);
      }
      at_ = after;
    } else {
      join(end, begin);
    }
    join(end, out);
    return out;
  }

  Set closed(Set s) const {
    std::vector<int> open(s.begin(), s.end());
    while (!open.empty()) {
      int n = open.back();
      open.pop_back();
      for (int next : nodes_[static_cast<std::size_t>(n)].free)
        if (s.insert(next).second) open.push_back(next);
    }
    return s;
  }

  std::vector<Node> nodes_;
  int first_ = 0, last_ = 0;
};

// Bytes that no element tells apart are one class.
void classify(const Machine& machine, bool caseless, FollowTable& table, std::vector<unsigned char>& samples) {
  std::map<std::vector<bool>, std::uint8_t> known;
  for (int b = 0; b < 256; ++b) {
    int as = caseless && b >= 'A' && b <= 'Z' ? b + 32 : b;
    std::vector<bool> signature;
    for (const Node& n : machine.nodes())
      if (n.to >= 0) signature.push_back(n.on[static_cast<std::size_t>(as)]);
    auto [it, isnew] = known.emplace(std::move(signature), static_cast<std::uint8_t>(known.size()));
    if (isnew) samples.push_back(static_cast<unsigned char>(as));
    table.classes[static_cast<std::size_t>(b)] = it->second;
  }
  table.width = static_cast<std::uint32_t>(samples.size());
}

}  // namespace

FollowTable make_follow_table(std::string_view pattern, bool caseless, const std::vector<std::string>& literals) {
  Machine machine(pattern, caseless);
  FollowTable table;
  std::vector<unsigned char> samples;
  classify(machine, caseless, table, samples);
  std::map<Machine::Set, std::uint8_t> known;
  std::vector<Machine::Set> states(2);
  auto state_of = [&](const Machine::Set& s) -> std::uint8_t {
    if (s.empty()) return kFollowNo;
    if (machine.accepts(s)) return kFollowYes;
    if (auto it = known.find(s); it != known.end()) return it->second;
    if (states.size() >= kMostStates) return kFollowYes;
    auto id = static_cast<std::uint8_t>(states.size());
    known.emplace(s, id);
    states.push_back(s);
    return id;
  };
  for (const std::string& literal : literals) {
    Machine::Set s = machine.start();
    for (char c : literal) s = machine.step(s, static_cast<unsigned char>(c));
    table.starts.push_back(state_of(s));
  }
  table.next.assign(2 * std::size_t{table.width}, kFollowNo);
  for (std::size_t i = 2; i < states.size(); ++i)  // nearest first, so that what does not fit is what is far
    for (unsigned char sample : samples) {
      Machine::Set next = machine.step(Machine::Set(states[i]), sample);
      table.next.push_back(state_of(next));
    }
  return table;
}

}  // namespace hotcell::inspect
