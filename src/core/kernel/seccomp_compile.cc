// A range tree rather than a chain: the kernel runs the filter once per system call number when it is installed (to
// find the calls that need no check at run time), so short paths are what makes installing cheap.
// All jumps of classic BPF go forward, so the program is written from its end: every target is known before the jump
// to it, and a target out of the 8-bit reach gets a stepping stone.
#include "core/kernel/seccomp_compile.h"

#include <linux/filter.h>
#include <linux/seccomp.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace hotcell {
namespace {

constexpr std::uint32_t kX32Bit = 0x40000000;

class Writer {
 public:
  using Place = std::size_t;  // counted from the end of the program

  explicit Writer(Listener listener) : listener_(listener) {}

  Place answer(Answer a) {
    const std::uint32_t k = action(a);
    for (Place p = code_.size(); p-- > 0 && code_.size() - p < kReach / 2;)
      if (code_[p].code == (BPF_RET | BPF_K) && code_[p].k == k) return p;
    return put(BPF_RET | BPF_K, k);
  }
  Place branch(std::uint16_t op, std::uint32_t k, Place yes, Place no) {
    // Both stones may be needed, and the second moves the first one place further away.
    if (code_.size() - yes > kReach - 2) yes = stone(yes);
    if (code_.size() - no > kReach - 2) no = stone(no);
    sock_filter f{static_cast<std::uint16_t>(BPF_JMP | op | BPF_K), static_cast<std::uint8_t>(code_.size() - yes - 1),
                  static_cast<std::uint8_t>(code_.size() - no - 1), k};
    code_.push_back(f);
    return code_.size() - 1;
  }
  // What follows must be the instruction written last: the callers write loads right before their branch.
  Place load(std::uint32_t offset) { return put(BPF_LD | BPF_W | BPF_ABS, offset); }
  Place mask(std::uint32_t k) { return put(BPF_ALU | BPF_AND | BPF_K, k); }

  // A jump to `to` when it is not what was written last.
  Place reach(Place to) { return to + 1 == code_.size() ? to : stone(to); }

  std::vector<std::uint64_t> finish() const {
    std::vector<std::uint64_t> out(code_.size());
    for (std::size_t i = 0; i < code_.size(); ++i) std::memcpy(&out[i], &code_[code_.size() - 1 - i], sizeof out[i]);
    return out;
  }

 private:
  static constexpr std::size_t kReach = 255;

  std::uint32_t action(Answer a) const {
    switch (a.ruling) {
      case Ruling::kAllow:
        return SECCOMP_RET_ALLOW;
      case Ruling::kNotify:
        return listener_ == Listener::kPresent ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ERRNO | EPERM;
      case Ruling::kErrno:
        return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(a.err);
      case Ruling::kKill:
        break;
    }
    return SECCOMP_RET_KILL_PROCESS;
  }
  Place put(std::uint16_t code, std::uint32_t k) {
    code_.push_back({code, 0, 0, k});
    return code_.size() - 1;
  }
  Place stone(Place to) { return put(BPF_JMP | BPF_JA, static_cast<std::uint32_t>(code_.size() - to - 1)); }

  Listener listener_;
  std::vector<sock_filter> code_;  // last instruction first
};
using Place = Writer::Place;

constexpr std::uint32_t low(std::uint64_t v) { return static_cast<std::uint32_t>(v); }
constexpr std::uint32_t high(std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); }
std::uint32_t offset_low(const Condition& c) {
  return static_cast<std::uint32_t>(offsetof(seccomp_data, args)) + 8u * c.arg;
}
std::uint32_t offset_high(const Condition& c) { return offset_low(c) + 4; }

// What the accumulator holds at some point: the low word of an argument, masked. Saves reloading it.
struct Held {
  int arg = -1;
  std::uint32_t mask = 0;
};
// After a condition was tested, whichever way it went; unknown after those that look at the high word.
Held held_after(const Condition& c) {
  if (high(c.mask) != 0) return {};
  if (c.op == Compare::kAnyBit) return {c.arg, 0xffffffff};
  return c.op == Compare::kMaskedEqual ? Held{c.arg, low(c.mask)} : Held{};
}

Place write_equal(Writer& w, const Condition& c, Held held, Place yes, Place no) {
  Place at = w.branch(BPF_JEQ, low(c.value), yes, no);
  const bool here = held.arg == c.arg && high(c.mask) == 0;
  if (here && held.mask == low(c.mask)) return at;
  if (low(c.mask) != 0xffffffff) at = w.mask(low(c.mask));
  if (here && held.mask == 0xffffffff) return at;
  at = w.load(offset_low(c));
  if (high(c.mask) == 0) return at;
  at = w.branch(BPF_JEQ, high(c.value), at, no);
  if (high(c.mask) != 0xffffffff) w.mask(high(c.mask));
  return w.load(offset_high(c));
}

// value compared as two words: greater in the high word decides, equal passes on to the low word.
Place write_greater(Writer& w, const Condition& c, bool or_equal, Place yes, Place no) {
  w.branch(or_equal ? BPF_JGE : BPF_JGT, low(c.value), yes, no);
  const Place low_word = w.load(offset_low(c));
  const Place equal = w.branch(BPF_JEQ, high(c.value), low_word, no);
  w.branch(BPF_JGT, high(c.value), yes, equal);
  return w.load(offset_high(c));
}

Place write_condition(Writer& w, const Condition& c, Held held, Place yes, Place no) {
  switch (c.op) {
    case Compare::kNone:
      return yes;
    case Compare::kMaskedEqual:
      return write_equal(w, c, held, yes, no);
    case Compare::kAnyBit: {
      const Place at = w.branch(BPF_JSET, low(c.mask), yes, no);
      return held.arg == c.arg && held.mask == 0xffffffff ? at : w.load(offset_low(c));
    }
    case Compare::kNotEqual: {
      const Condition equal{c.arg, Compare::kMaskedEqual, ~0ULL, c.value};
      return write_equal(w, equal, {}, no, yes);
    }
    case Compare::kGreater:
      return write_greater(w, c, false, yes, no);
    case Compare::kGreaterEqual:
      return write_greater(w, c, true, yes, no);
    case Compare::kLess:
      return write_greater(w, c, true, no, yes);
    case Compare::kLessEqual:
      return write_greater(w, c, false, no, yes);
  }
  return no;
}

// A search tree over values of the accumulator: from each `first` on, up to the next one, go to `to`.
struct Step {
  std::uint32_t first;
  Place to;
};
Place write_search(Writer& w, const std::vector<Step>& steps, std::size_t from, std::size_t to) {
  if (to - from == 1) return steps[from].to;
  const std::size_t middle = from + (to - from) / 2;
  const Place right = write_search(w, steps, middle, to);
  const Place left = write_search(w, steps, from, middle);
  return w.branch(BPF_JGE, steps[middle].first, right, left);
}

// Clauses from `from` on, their first `depth` conditions known to hold. Consecutive clauses that go on with the same
// condition test it once; a condition that fails skips them all.
class ClauseWriter {
 public:
  ClauseWriter(Writer& w, const CallRule& rule) : w_(w), rule_(rule) {}
  Place write() { return list(0, rule_.clauses.size(), 0, {}, w_.answer(rule_.otherwise)); }

 private:
  const Clause& clause(std::size_t i) const { return rule_.clauses[i]; }
  bool is_last(std::size_t i, std::size_t depth) const { return clause(i).all.size() == depth + 1; }

  Place list(std::size_t from, std::size_t to, std::size_t depth, Held held, Place next) {
    if (from == to) return next;
    if (clause(from).all.size() == depth) return w_.answer(clause(from).answer);
    const Condition& c = clause(from).all[depth];
    if (const std::size_t end = end_of_values(from, to, depth); end - from >= 6)
      return values(from, end, to, depth, held, next);
    std::size_t end = from + 1;
    while (end < to && clause(end).all.size() > depth && clause(end).all[depth] == c) ++end;
    const bool leaf = end == from + 1 && is_last(from, depth);
    // The rest is reached from inside the group too, unless the group is a single test.
    const Place rest = list(end, to, depth, leaf ? held_after(c) : Held{}, next);
    const Place body = leaf ? w_.answer(clause(from).answer) : list(from, end, depth + 1, held_after(c), rest);
    return write_condition(w_, c, held, body, rest);
  }

  // A run of "argument == value" with one answer.
  std::size_t end_of_values(std::size_t from, std::size_t to, std::size_t depth) const {
    std::size_t end = from;
    for (; end < to && is_last(end, depth) && clause(end).answer == clause(from).answer; ++end) {
      const Condition& c = clause(end).all[depth];
      if (c.op != Compare::kMaskedEqual || c.mask != 0xffffffff || c.arg != clause(from).all[depth].arg) break;
    }
    return end;
  }
  Place values(std::size_t from, std::size_t end, std::size_t to, std::size_t depth, Held held, Place next) {
    const Condition& c = clause(from).all[depth];
    const Place rest = list(end, to, depth, {c.arg, 0xffffffff}, next);
    const Place yes = w_.answer(clause(from).answer);
    std::vector<std::uint32_t> sorted;
    for (std::size_t i = from; i < end; ++i) sorted.push_back(low(clause(i).all[depth].value));
    std::sort(sorted.begin(), sorted.end());
    std::vector<Step> steps = {{0, rest}};
    for (std::uint32_t v : sorted) {
      if (steps.back().first == v) steps.pop_back();
      if (steps.empty() || steps.back().to != yes) steps.push_back({v, yes});
      if (v != 0xffffffff) steps.push_back({v + 1, rest});
    }
    const Place at = write_search(w_, steps, 0, steps.size());
    if (held.arg == c.arg && held.mask == 0xffffffff) return at;
    w_.reach(at);
    return w_.load(offset_low(c));
  }

  Writer& w_;
  const CallRule& rule_;
};

struct Range {
  std::uint32_t first;
  Answer answer;
  const CallRule* rule;  // with argument checks; else null
};

void add_range(std::vector<Range>& out, std::uint32_t first, Answer answer, const CallRule* rule) {
  if (!out.empty() && out.back().first == first) out.pop_back();
  const bool same = !out.empty() && (rule ? out.back().rule && out.back().rule->same_effect(*rule)
                                          : !out.back().rule && out.back().answer == answer);
  if (!same) out.push_back({first, answer, rule});
}

std::vector<Range> make_ranges(const FilterModel& model) {
  const Answer unknown = refuse(ENOSYS);
  std::vector<Range> out;
  add_range(out, 0, unknown, nullptr);
  for (const CallRule& rule : model.rules) {
    add_range(out, rule.number, rule.otherwise, rule.clauses.empty() ? nullptr : &rule);
    add_range(out, rule.number + 1, unknown, nullptr);
  }
  if (model.arch == Arch::kX86_64) {
    // x32 calls have the same audit architecture and other numbers: a second ABI around every rule.
    add_range(out, kX32Bit, kKill, nullptr);
    add_range(out, 2 * kX32Bit, unknown, nullptr);
  }
  return out;
}

}  // namespace

std::vector<std::uint64_t> compile_filter(const FilterModel& model, Listener listener) {
  Writer w(listener);
  const std::vector<Range> ranges = make_ranges(model);
  // Calls with the same checks (chmod, mkdir, creat) share one copy; all copies lie behind the tree.
  std::vector<std::pair<const CallRule*, Place>> blocks;
  for (const Range& r : ranges) {
    auto same = [&](const auto& known) { return r.rule && known.first->same_effect(*r.rule); };
    if (r.rule && std::none_of(blocks.begin(), blocks.end(), same))
      blocks.emplace_back(r.rule, ClauseWriter(w, *r.rule).write());
  }
  std::vector<Step> steps;
  for (const Range& r : ranges) {
    auto same = [&](const auto& known) { return r.rule && known.first->same_effect(*r.rule); };
    steps.push_back({r.first, r.rule ? std::find_if(blocks.begin(), blocks.end(), same)->second : w.answer(r.answer)});
  }
  w.reach(write_search(w, steps, 0, steps.size()));
  const Place own_abi = w.load(offsetof(seccomp_data, nr));
  w.branch(BPF_JEQ, audit_arch(model.arch), own_abi, w.answer(kKill));
  w.load(offsetof(seccomp_data, arch));
  return w.finish();
}

}  // namespace hotcell
