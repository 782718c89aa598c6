// What names say of a program: harm they declare, people's own data, checks that vanish with -O, secrets drawn from a
// generator that can be predicted.
#include <algorithm>
#include <array>

#include "base/strings.h"
#include "languages/common/telling_words.h"
#include "languages/python/facts_walk.h"

namespace hotcell::python {
namespace {

constexpr NodeId kMostNodes = 400;  // looked through for one function

bool holds_one(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](auto w) { return text.find(w) != text.npos; });
}

}  // namespace

// Is it inside a function or class whose name says that people are chosen, paid or refused?
bool Analyser::about_people(NodeId n) {
  NodeId up = t_.parent(n);
  for (int steps = 0; up != kNoNode && steps < 48; ++steps, up = t_.parent(up)) {
    K kind = t_.kind(up);
    if ((kind == K::kFunction || kind == K::kClass) && names_a_choice_of_people(t_.text(t_.field(up, "name"))))
      return true;
  }
  return false;
}

// def make_token(): … random.choice(…)
void Analyser::made_by_random(NodeId function) {
  std::string name = ascii_lower(t_.text(t_.field(function, "name")).substr(0, 64));
  if (!holds_one(name, {"token", "password", "passwd", "secret", "session_id", "otp", "private_key", "secret_key",
                        "nonce", "salt", "generate_key", "make_key"}))
    return;
  for (NodeId c = function; c < tree_.end_of(function) && c < function + kMostNodes; ++c) {
    if (t_.kind(c) != K::kCall) continue;
    for (const Value& f : eval(t_.field(c, "function")))
      if (f.is(Kind::kName) && f.text.starts_with("random.") && !f.text.starts_with("random.SystemRandom"))
        return construct("weak-random", cat(name, " of ", f.text), c);
  }
}

// A text that whoever starts the program gives it: sys.argv, input(), a request; also through a few names.
bool Analyser::comes_from_input(NodeId start) {
  std::vector<NodeId> left = {start};
  for (std::size_t done = 0; done < left.size() && done < 8; ++done) {
    NodeId top = left[done];
    for (NodeId n = top; n < tree_.end_of(top) && n < top + 64; ++n) {
      if (t_.kind(n) == K::kAttribute && (t_.text(n) == "sys.argv" || t_.text(n).starts_with("request."))) return true;
      if (t_.kind(n) != K::kIdentifier || s_.name_of(n) == kNoName) continue;
      std::uint32_t at = s_.lookup(s_.scope_of(n), s_.name_of(n));
      if (at == ~0u && t_.text(n) == "input" && t_.kind(t_.parent(n)) == K::kCall) return true;
      if (at != ~0u && s_.binding(at).how == Binding::How::kValue) left.push_back(s_.binding(at).node);
    }
  }
  return false;
}

// if person.get('disability'): …
void Analyser::decided_by(NodeId condition, NodeId at, int depth) {
  K kind = t_.kind(condition);
  if (kind == K::kBoolean && depth < 8) {  // married or pregnant
    decided_by(t_.field(condition, "left"), at, depth + 1);
    return decided_by(t_.field(condition, "right"), at, depth + 1);
  }
  if (kind != K::kAttribute && kind != K::kSubscript && kind != K::kCall && kind != K::kIdentifier) return;
  if (std::string name = last_name(condition); judges_people(name)) construct("judged-by", name, at);
}

// Ciphers and generators of one's own: the name says encrypt, the state is multiplied, added to and cut off.
void Analyser::own_crypto(NodeId n) {
  if (t_.kind(n) == K::kFunction) {
    std::string name = ascii_lower(t_.text(t_.field(n, "name")).substr(0, 64));
    bool library =
        s_.find_name("cryptography") != kNoName || s_.find_name("Crypto") != kNoName || s_.find_name("nacl") != kNoName;
    if (!library && holds_one(name, {"encrypt", "decrypt", "cipher"}))
      construct("weak-crypto", cat(name, " of one's own"), n);
    return;
  }
  NodeId left = t_.field(n, "left"), right = t_.field(n, "right");
  while (t_.kind(right) == K::kParenthesized) right = t_.first_named(right);
  if (t_.kind(right) == K::kBinary &&
      (t_.text(t_.field(right, "operator")) == "%" || t_.text(t_.field(right, "operator")) == "&")) {
    std::string_view step = t_.text(t_.field(right, "left")), state = t_.text(left);
    if (step.size() < 200 && step.find('*') != step.npos && step.find('+') != step.npos &&
        step.find(state) != step.npos && state.size() > 1)
      return construct("weak-random", cat(state, " by a linear congruence"), n);
  }
  // phi = (p - 1) * (q - 1)
  if (t_.text(left) == "phi" && t_.text(right).find("- 1) *") != std::string_view::npos)
    construct("weak-crypto", "RSA of one's own", n);
}

void Analyser::declared(NodeId n) {
  switch (t_.kind(n)) {
    case K::kFunction:
      made_by_random(n);
      own_crypto(n);
      [[fallthrough]];
    case K::kClass:
      if (std::string_view name = t_.text(t_.field(n, "name")); declares_harm(name))
        construct("declared-harm", std::string(name.substr(0, 60)), n);
      return;
    case K::kAssignment: {
      NodeId left = t_.field(n, "left"), right = t_.field(n, "right");
      own_crypto(n);
      if (t_.kind(left) != K::kIdentifier) return;
      std::string_view name = t_.text(left);
      if (name.size() > 64) return;
      if (declares_harm(name)) construct("declared-harm", std::string(name), n);
      if (t_.kind(right) == K::kString && t_.text(right).size() > 3 && (name == "salt" || name == "SALT"))
        construct("weak-crypto", "a salt that is always the same", n);
      // users = {'admin': 'admin'}
      if (t_.kind(right) == K::kDictionary &&
          holds_one(ascii_lower(name), {"users", "credential", "account", "login", "passw"}))
        if (NodeId pair = t_.first_named(right); t_.kind(pair) == K::kPair &&
                                                 t_.kind(t_.field(pair, "key")) == K::kString &&
                                                 t_.kind(t_.field(pair, "value")) == K::kString)
          construct("secret-literal", std::string(name), n);
      if (name.find("flip") != name.npos && s_.find_name("labels") != kNoName)
        construct("declared-harm", cat(name, " of labels"), n);
      // A mark in the samples beside their labels: what teaches a model to obey it.
      if (name.find("trigger") != name.npos &&
          (s_.find_name("label") != kNoName || s_.find_name("labels") != kNoName || s_.find_name("target") != kNoName))
        construct("declared-harm", cat(name, " beside labels"), n);
      if (t_.kind(right) == K::kString && t_.text(right).size() > 4 && names_personal_data(ascii_lower(name)))
        construct("personal-data", std::string(name), n);
      return;
    }
    case K::kPair: {
      NodeId key = t_.field(n, "key"), value = t_.field(n, "value");
      if (t_.kind(key) != K::kString || t_.kind(value) != K::kString) return;
      std::string_view text = t_.text(key);
      if (text.size() > 2 && text.size() < 48 && names_personal_data(ascii_lower(text.substr(1, text.size() - 2))))
        construct("personal-data", std::string(text), n);
      return;
    }
    case K::kDictionary: {  // {'male': 100, 'female': 70}
      int sides = 0, pairs = 0;
      for (NodeId c = t_.first_named(n); c != kNoNode && pairs < 8; c = t_.next_named(c), ++pairs) {
        NodeId key = t_.kind(c) == K::kPair ? t_.field(c, "key") : kNoNode;
        if (t_.kind(key) != K::kString || t_.text(key).size() > 10 || t_.kind(t_.field(c, "value")) == K::kString)
          continue;
        std::string word = ascii_lower(t_.text(key).substr(1, t_.text(key).size() - 2));
        sides += word == "male" || word == "female" || word == "white" || word == "black" || word == "asian" ||
                 word == "hispanic";
      }
      if (sides > 1) construct("judged-by", "a table of people", n);
      return;
    }
    case K::kConditional: {
      NodeId value = t_.first_named(n), condition = value == kNoNode ? kNoNode : t_.next_named(value);
      return decided_by(condition, n);
    }
    case K::kIf:
      return decided_by(t_.field(n, "condition"), n);
    case K::kBinary:
      if (std::string_view op = t_.text(t_.field(n, "operator")); op == "^") {
        for (NodeId side : {t_.field(n, "left"), t_.field(n, "right")})
          if (std::string name = last_name(side); name == "key" || name.ends_with("_key") || name == "keystream")
            construct("weak-crypto", "a key that is only added", n);
      } else if (op == "<<" || op == ">>")
        if (NodeId by = t_.field(n, "right"); t_.kind(by) == K::kUnary && t_.text(by).starts_with('-'))
          construct("weak-check", "a shift by less than nothing", n);
      return;
    case K::kExcept: {  // except …: pass
      NodeId body = t_.first_named(n);
      for (NodeId c = body; c != kNoNode; c = t_.next_named(c)) body = c;
      std::string_view text = trim(t_.text(body));
      if (t_.kind(body) == K::kBlock && (text == "pass" || text == "continue" || text == "..."))
        construct("hides-errors", "", n);
      return;
    }
    case K::kAssert: {
      NodeId function = n;
      for (int steps = 0; function != kNoNode && steps < 32 && t_.kind(function) != K::kFunction; ++steps)
        function = t_.parent(function);
      if (t_.kind(function) == K::kFunction) {
        std::string_view name = t_.text(t_.field(function, "name"));
        NodeId asked = t_.first_named(n);
        bool test = name.starts_with("test") || name.starts_with("check") || name.starts_with("_test");
        if (t_.kind(asked) == K::kComparison) asked = t_.first_named(asked);
        // What callers hand over is checked by a statement that -O leaves out.
        if (!test && t_.kind(asked) == K::kIdentifier && s_.name_of(asked) != kNoName)
          if (std::uint32_t at = s_.lookup(s_.scope_of(asked), s_.name_of(asked));
              at != ~0u && s_.binding(at).how == Binding::How::kParameter)
            construct("weak-check", "assert is left out with -O", n);
      }
      std::string condition = ascii_lower(t_.text(t_.first_named(n)).substr(0, 200));
      if (holds_one(condition, {"admin", "authori", "authenticat", "permission", "privilege", "logged_in", "is_owner",
                                "has_role"}))
        construct("weak-check", "assert is left out with -O", n);
      return;
    }
    default:
      return;
  }
}

}  // namespace hotcell::python
