// Code that never ends or takes everything: loops nothing can end, recursion without a condition, two locks in two
// orders, lists of a thousand million.
#include <algorithm>
#include <set>

#include "base/strings.h"
#include "languages/python/facts_walk.h"

namespace hotcell::python {
namespace {

constexpr NodeId kMostNodes = 4000;  // looked through for one loop or function
constexpr std::int64_t kHuge = 1'000'000'000, kManyTurns = 100'000'000;

}  // namespace

// A loop over plain names that its body never sets again, or that move away from where they would end it.
bool Analyser::never_ends(NodeId loop) {
  NodeId condition = t_.field(loop, "condition"), body = t_.field(loop, "body");
  if (condition == kNoNode || body == kNoNode || tree_.end_of(loop) - loop > kMostNodes) return false;
  std::set<std::string_view> names;
  for (NodeId n = condition; n < tree_.end_of(condition); ++n) {
    if (!tree_[n].named) continue;
    switch (t_.kind(n)) {
      case K::kIdentifier:
        names.insert(t_.text(n));
        break;
      case K::kInteger:
      case K::kComparison:
      case K::kParenthesized:
        break;
      default:
        return false;
    }
  }
  if (names.empty() || names.size() > 4) return false;
  bool only_up = true, only_down = true, set = false, jumps = false;
  for (NodeId n = body; n < tree_.end_of(body); ++n) {
    K kind = t_.kind(n);
    if (kind == K::kBreak || kind == K::kReturn || kind == K::kRaise || kind == K::kYield || kind == K::kAwait)
      return false;
    if (kind != K::kIdentifier || !names.contains(t_.text(n))) continue;
    NodeId up = t_.parent(n);
    std::string_view place = tree_.field(n);
    if (t_.kind(up) == K::kAssignment && place == "left" &&
        t_.kind(t_.field(up, "right")) == K::kBinary) {  // x = x + 1
      NodeId sum = t_.field(up, "right"), step = t_.field(sum, "right");
      std::string_view op = t_.text(t_.field(sum, "operator"));
      if (t_.text(t_.field(sum, "left")) != t_.text(n) || t_.kind(step) != K::kInteger || t_.text(step) == "0")
        return false;
      only_up = only_up && op == "+";
      only_down = only_down && op == "-";
      set = true;
      continue;
    }
    if (t_.kind(up) == K::kAugmented && place == "left") {
      NodeId step = t_.field(up, "right");
      std::string_view op = t_.text(t_.field(up, "operator"));
      bool number = t_.kind(step) == K::kInteger && t_.text(step) != "0";
      jumps = jumps || (number && t_.text(step) != "1");
      only_up = only_up && number && op == "+=";
      only_down = only_down && number && op == "-=";
      set = true;
      continue;
    }
    bool read = place == "right" || place == "function" || t_.kind(up) == K::kArguments || t_.kind(up) == K::kBinary ||
                t_.kind(up) == K::kComparison || t_.kind(up) == K::kInterpolation || t_.kind(up) == K::kSubscript;
    bool stored = place == "left" && t_.kind(up) != K::kBinary && t_.kind(up) != K::kComparison;
    if (!read || stored) return false;
  }
  for (std::string_view name : names)  // set by a function the loop calls
    if (tree_.text().find(cat("global ", name)) != std::string_view::npos) return false;
  if (!set) return true;
  // while i > 0: i += 1
  if (names.size() != 1 || t_.kind(condition) != K::kComparison) return false;
  std::string_view test = t_.text(condition), name = *names.begin();
  if (!test.starts_with(name)) return false;
  test = trim(test.substr(name.size()));
  if (jumps && test.starts_with("!=") && (only_up || only_down)) return true;  // past where it would end
  return (only_up && (test.starts_with('>') || test == "!= 0")) || (only_down && test.starts_with('<'));
}

// def f(n): return f(n + 1)
void Analyser::endless_recursion(NodeId function) {
  NodeId name = t_.field(function, "name"), body = t_.field(function, "body");
  if (name == kNoNode || body == kNoNode || tree_.end_of(function) - function > kMostNodes) return;
  for (NodeId s = t_.first_named(body); s != kNoNode; s = t_.next_named(s)) {
    K kind = t_.kind(s);
    if (kind != K::kExpressionStatement && kind != K::kReturn) return;
    for (NodeId n = s; n < tree_.end_of(s); ++n) {
      K inner = t_.kind(n);
      if (inner == K::kConditional || inner == K::kBoolean || inner == K::kLambda || inner == K::kGenerator ||
          inner == K::kListComp || inner == K::kYield || inner == K::kAwait)
        return;
      if (inner != K::kCall) continue;
      NodeId callee = t_.field(n, "function");
      if (t_.kind(callee) == K::kIdentifier && t_.text(callee) == t_.text(name))
        return construct("endless-loop", "calls itself always", n);
    }
    if (kind == K::kReturn) return;
  }
}

// with a: with b: … and, elsewhere, with b: with a: …
void Analyser::lock_order(NodeId item) {
  auto lock = [&](NodeId n) -> std::string_view {
    NodeId value = t_.first_named(n);
    if (t_.kind(value) == K::kAsPattern) value = t_.first_named(value);
    if (t_.kind(value) != K::kIdentifier && t_.kind(value) != K::kAttribute) return {};
    for (const Value& v : eval(value))
      if (v.is(Kind::kObject) && (v.text == "threading.Lock" || v.text == "multiprocessing.Lock"))
        return t_.text(value);
    return {};
  };
  std::string_view inner = lock(item);
  if (inner.empty() || lock_pairs_.size() > 256) return;
  NodeId up = t_.parent(item);
  for (int steps = 0; up != kNoNode && steps < 64 && t_.kind(up) != K::kFunction; ++steps, up = t_.parent(up)) {
    if (tree_.kind(up) != "with_statement") continue;
    for (NodeId n = up; n < item; ++n) {
      if (t_.kind(n) != K::kWithItem || n == item) continue;
      // Of the same statement only what stands before; of an outer one everything.
      std::string_view outer = lock(n);
      if (outer.empty()) continue;
      if (outer == inner || lock_pairs_.contains({inner, outer}))
        construct("deadlock", cat(outer, " and ", inner), item);
      lock_pairs_.insert({outer, inner});
    }
  }
}

void Analyser::resources(NodeId n) {
  switch (t_.kind(n)) {
    case K::kWhile:
      if (never_ends(n)) construct("endless-loop", "nothing in it changes the condition", n);
      break;
    case K::kForIn:
    case K::kFor: {
      NodeId over = t_.field(n, "right");
      if (t_.kind(over) != K::kCall) break;
      for (const Value& f : eval(t_.field(over, "function"))) {
        if (!f.is(Kind::kName)) continue;
        bool statement = t_.kind(n) == K::kFor;
        if (statement && (f.text == "itertools.count" || f.text == "itertools.cycle")) loops_.push_back(n);
        if (statement && f.text == "builtins.iter" && t_.text(over) == "iter(int, 1)") loops_.push_back(n);  // never 1
        if (f.text != "builtins.range") continue;
        Arguments given = e_.arguments(over);
        for (const Value& v : eval(given.at(given.positional.size() > 1 ? 1 : 0)))
          if (v.is(Kind::kInt) && v.number >= kManyTurns) construct("huge-loop", std::to_string(v.number), n);
      }
      break;
    }
    case K::kBinary: {  // [0] * 10**12
      if (t_.text(t_.field(n, "operator")) != "*") break;
      NodeId left = t_.field(n, "left"), right = t_.field(n, "right");
      if (t_.kind(left) != K::kList && t_.kind(left) != K::kString) std::swap(left, right);
      if (t_.kind(left) != K::kList && t_.kind(left) != K::kString) break;
      for (const Value& v : eval(right))
        if (v.is(Kind::kInt) && v.number >= kHuge) construct("huge-allocation", std::to_string(v.number), n);
      break;
    }
    case K::kCall: {  // bytearray(1 << 40), numpy.zeros((10**6, 10**6)), time.sleep(10**9), iter(int, 1)
      NodeId callee = t_.field(n, "function");
      std::string_view last = t_.text(t_.kind(callee) == K::kAttribute ? t_.field(callee, "attribute") : callee);
      bool makes = last == "bytearray" || last == "bytes" || last == "zeros" || last == "ones" || last == "empty" ||
                   last == "full";
      if (!makes && last != "sleep" && last != "seek") break;
      Arguments given = e_.arguments(n);
      if (given.at(0) == kNoNode) break;
      std::int64_t product = 1;
      bool shape = t_.kind(given.at(0)) == K::kTuple;
      for (NodeId part = shape ? t_.first_named(given.at(0)) : given.at(0); part != kNoNode;
           part = shape ? t_.next_named(part) : kNoNode)
        for (const Value& v : eval(part))
          if (v.is(Kind::kInt) && v.number > 0)
            product = product > kHuge || v.number > kHuge ? kHuge + 1 : product * v.number;
      if (makes || last == "seek") {
        if (product > kHuge) construct("huge-allocation", cat(last, " of ", product), n);
      } else if (product >= 86400) {
        construct("huge-loop", cat("sleeps for ", product, " s"), n);
      }
      break;
    }
    case K::kFunction:
      endless_recursion(n);
      break;
    case K::kWithItem:
      lock_order(n);
      break;
    case K::kAssignment: {
      NodeId left = t_.field(n, "left"), right = t_.field(n, "right");
      if (right == kNoNode || t_.kind(left) != K::kIdentifier || t_.text(left).size() > 64 ||
          t_.text(right).size() > 4000)
        break;
      std::string name = ascii_lower(t_.text(left));
      bool secret = false;
      for (std::string_view word :
           {"password", "passwd", "secret", "api_key", "apikey", "token", "private_key", "session_id", "otp"})
        secret = secret || name.find(word) != std::string::npos;
      secret = secret || name == "key" || name == "pin" || name == "salt" || name == "iv" || name == "nonce";
      if (!secret) break;
      // A dictionary of tokens, a tokenizer's pattern: only a single text that could be one.
      std::string_view value = t_.text(right);
      if (t_.kind(right) == K::kString && value.size() >= (name.find("passw") != name.npos ? 8u : 14u) &&
          value.find(' ') == value.npos && value.find_first_of("0123456789") != value.npos &&
          value.find_first_of("{}%/\\") == value.npos)
        construct("secret-literal", name, n);
      if (value.find("uuid1(") != value.npos) construct("weak-random", cat(name, " of uuid.uuid1"), n);
      if (value.find("random.") != value.npos && value.find("SystemRandom") == value.npos &&
          value.find("secrets.") == value.npos)
        for (NodeId c = right; c < tree_.end_of(right) && c < right + 256; ++c)
          if (t_.kind(c) == K::kCall)
            for (const Value& f : eval(t_.field(c, "function")))
              if (f.is(Kind::kName) && f.text.starts_with("random."))
                return construct("weak-random", cat(name, " of ", f.text), n);
      break;
    }
    default:
      break;
  }
}

}  // namespace hotcell::python
