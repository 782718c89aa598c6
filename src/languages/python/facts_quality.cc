// Weaknesses in what a program decides: people judged by what they are, secrets compared with texts, choices that
// forget a case, checks that are easily walked around, markup put together from parts.
#include <algorithm>
#include <array>
#include <cctype>
#include <span>

#include "base/strings.h"
#include "languages/common/telling_words.h"
#include "languages/python/facts_walk.h"

namespace hotcell::python {
namespace {

constexpr NodeId kMostNodes = 200;  // looked through for one call

bool holds_one(std::string_view text, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](auto w) { return text.find(w) != text.npos; });
}

// (a+)+: a repeated group of nothing but repeated parts can be split in endlessly many ways.
bool is_explosive(std::string_view p) {
  std::vector<std::pair<std::size_t, bool>> open;  // where a group begins; only repeated parts so far
  bool quantified = false;
  auto is_repeat = [&](std::size_t i) {
    return i < p.size() && (p[i] == '+' || p[i] == '*' ||
                            (p[i] == '{' && p.find(',', i) < p.find('}', i) && p[p.find(',', i) + 1] == '}'));
  };
  for (std::size_t i = 0; i < p.size() && i < 4096; ++i) {
    std::size_t atom_end = i + 1;
    bool atom = true;
    if (p[i] == '\\') {
      atom_end = i + 2;
    } else if (p[i] == '[') {
      std::size_t close = p.find(']', i + 2);
      if (close == p.npos) return false;
      atom_end = close + 1;
    } else if (p[i] == '(') {
      bool plain = p.substr(i).starts_with("(?:");
      open.emplace_back(i, plain || (i + 1 < p.size() && p[i + 1] != '?'));
      i += plain ? 2 : 0;
      quantified = false;
      continue;
    } else if (p[i] == ')') {
      if (open.empty()) return false;
      bool loose = open.back().second && quantified;
      open.pop_back();
      if (loose && is_repeat(i + 1)) return true;
      if (!open.empty() && !is_repeat(i + 1)) open.back().second = false;
      quantified = is_repeat(i + 1);
      continue;
    } else if (p[i] == '|') {  // (a|ab)+: both sides begin alike
      if (!open.empty() && i + 1 < p.size() && open.back().first + 1 < i && p[i + 1] == p[open.back().first + 1] &&
          p[i + 1] != '(') {
        std::size_t close = p.find(')', i);
        if (close != p.npos && is_repeat(close + 1)) return true;
      }
      atom = false;
    } else if (p[i] == '^' || p[i] == '$') {
      atom = false;
    }
    if (!atom || p[i] == '+' || p[i] == '*' || p[i] == '?') continue;
    // A dot may be any of the letters that are repeated before it.
    if (p[i] == '.' && !is_repeat(atom_end) && quantified) continue;
    quantified = is_repeat(atom_end);
    if (!quantified && !open.empty()) open.back().second = false;
    i = atom_end - 1;
  }
  return false;
}

}  // namespace

// The last name of x, a.x and d["x"], in small letters.
std::string Analyser::last_name(NodeId n, int depth) {
  if (depth > 8) return {};  // a.lower().lower()…
  switch (t_.kind(n)) {
    case K::kIdentifier: {
      std::string name = ascii_lower(t_.text(n));
      if (depth > 1 || name.size() > 2 || s_.name_of(n) == kNoName) return name;
      // g = applicant['gender']: short names stand for what they were given
      std::uint32_t at = s_.lookup(s_.scope_of(n), s_.name_of(n));
      if (at == ~0u || s_.binding(at).how != Binding::How::kValue || s_.binding(at).index >= 0) return name;
      K given = t_.kind(s_.binding(at).node);
      return given == K::kSubscript || given == K::kAttribute || given == K::kCall
                 ? last_name(s_.binding(at).node, depth + 2)
                 : name;
    }
    case K::kAttribute:
      return ascii_lower(t_.text(t_.field(n, "attribute")));
    case K::kSubscript: {
      NodeId key = t_.field(n, "subscript");
      std::string_view text = t_.text(key);
      return t_.kind(key) == K::kString && text.size() > 2 && text.size() < 48
                 ? ascii_lower(text.substr(1, text.size() - 2))
                 : std::string();
    }
    case K::kCall: {  // person.get("gender"), gender.lower()
      NodeId function = t_.field(n, "function");
      if (t_.kind(function) != K::kAttribute) return {};
      std::string_view method = t_.text(t_.field(function, "attribute"));
      if (method == "lower" || method == "upper" || method == "strip")
        return last_name(t_.field(function, "object"), depth + 1);
      NodeId arguments = t_.field(n, "arguments"), key = arguments == kNoNode ? kNoNode : t_.first_named(arguments);
      std::string_view text = t_.text(key);
      return method == "get" && t_.kind(key) == K::kString && text.size() > 2 && text.size() < 48
                 ? ascii_lower(text.substr(1, text.size() - 2))
                 : std::string();
    }
    default:
      return {};
  }
}

void Analyser::on_comparison(NodeId n) {
  NodeId left = t_.first_named(n), right = left == kNoNode ? kNoNode : t_.next_named(left);
  if (right == kNoNode || tree_.end_of(n) - n > kMostNodes) return;
  std::string_view between = tree_.text().substr(tree_[left].end, tree_[right].begin - tree_[left].end);
  if (t_.kind(left) == K::kString) std::swap(left, right);
  bool list = t_.kind(right) == K::kIdentifier || t_.kind(right) == K::kAttribute;
  bool text = t_.kind(right) == K::kString,
       several = t_.kind(right) == K::kList || t_.kind(right) == K::kTuple || t_.kind(right) == K::kSet;
  std::string name = last_name(left);
  bool judged = judges_people(name) ? text || several || list : judges_by_context(name) && about_people(n);
  if (judged) construct("judged-by", name, n);
  // len(password) > 3; type(a) == type(b)
  if (t_.kind(left) == K::kCall) {
    std::string_view callee = t_.text(t_.field(left, "function"));
    NodeId of = t_.field(left, "arguments") == kNoNode ? kNoNode : t_.first_named(t_.field(left, "arguments"));
    auto length = parse_integer(t_.text(right));
    if (callee == "len" && names_credential(last_name(of)) && length && *length > 0 && *length < 8)
      construct("weak-check", "a password may be this short", n);
    bool types = t_.kind(right) == K::kCall && t_.text(t_.field(right, "function")) == "type";
    if (callee == "type" && types && (between.find("==") != between.npos || between.find("is") != between.npos))
      construct("weak-check", "a type compared by itself", n);
  }
  if (t_.kind(right) == K::kFloat && (between.find("==") != between.npos || between.find("!=") != between.npos))
    construct("weak-check", "a float is hardly ever equal", n);
  // Looking for a number whose hash begins with zeros.
  if (text && t_.text(right).size() > 3 && t_.text(right).find_first_not_of("'\"0") == std::string_view::npos &&
      t_.kind(left) == K::kSubscript && s_.find_name("hashlib") != kNoName)
    construct("mining", std::string(t_.text(right)), n);
  if (!text && !several && !list) return;
  bool equal = between.find("==") != between.npos || between.find("!=") != between.npos;
  if (equal && text && t_.text(right).size() > 4 && names_credential(name)) construct("secret-literal", name, n);
  static constexpr std::array<std::string_view, 9> kLists = {"blacklist", "black_list", "denylist",
                                                             "deny_list", "blocklist",  "disallowed",
                                                             "forbidden", "banned",     "dangerous"};
  if (list && between.find("in") != between.npos && holds_one(last_name(right), kLists))
    construct("weak-check", "a list of what is not allowed", n);
}

void Analyser::on_match(NodeId n) {
  if (std::string judged = last_name(t_.field(n, "subject")); judges_people(judged)) construct("judged-by", judged, n);
  NodeId body = t_.field(n, "body");
  if (body == kNoNode) body = n;
  int cases = 0;
  for (NodeId c = t_.first_named(body); c != kNoNode; c = t_.next_named(c)) {
    if (t_.kind(c) != K::kCaseClause) continue;
    ++cases;
    std::string_view head = t_.text(c).substr(0, 200);
    head = trim(head.substr(0, head.find(':')));
    head = head.size() > 5 ? trim(head.substr(5)) : head;
    bool name = !head.empty() && std::all_of(head.begin(), head.end(), [](char x) { return is_word_char(x); });
    if (name && !(head[0] >= '0' && head[0] <= '9') && head != "True" && head != "False" && head != "None") return;
  }
  if (cases > 0) construct("match-without-default", "", n);
}

// Calls whose names alone say what they do, and what is printed.
void Analyser::named_call(NodeId n) {
  NodeId callee = t_.field(n, "function"), given = t_.field(n, "arguments");
  K kind = t_.kind(callee);
  if ((kind != K::kIdentifier && kind != K::kAttribute) || given == kNoNode) return;
  // Every call comes here: no copies before a name is one of the few.
  std::string_view name = t_.text(kind == K::kAttribute ? t_.field(callee, "attribute") : callee);
  if (name.find("rivilege") != name.npos) {
    static constexpr std::array<std::string_view, 8> kVerbs = {"raise",   "elevate", "escalate", "gain",
                                                               "acquire", "lower",   "drop",     "grant"};
    if (holds_one(ascii_lower(name), kVerbs)) return construct("privilege-change", std::string(name), n);
  }
  if (name == "get") {  // salaries.get(gender)
    NodeId key = t_.first_named(given);
    if (t_.kind(key) != K::kString && judges_people(last_name(key))) construct("judged-by", last_name(key), n);
    return;
  }
  if (name == "startswith" && s_.find_name("hashlib") != kNoName) {
    NodeId what = t_.first_named(given);
    std::string_view zeros = t_.kind(what) == K::kBinary ? t_.text(t_.field(what, "left")) : t_.text(what);
    bool many = t_.kind(what) == K::kBinary || zeros.size() > 3;
    if (many && zeros.size() > 2 && zeros.find_first_not_of("'\"0") == zeros.npos)
      construct("mining", std::string(t_.text(what)), n);
    return;
  }
  if (name == "replace" || name == "strip") {
    NodeId what = t_.first_named(given);
    if (t_.kind(what) == K::kString && ascii_lower(t_.text(what)).find("script") != std::string::npos)
      construct("weak-check", "one spelling is taken out", n);
    return;
  }
  bool logs = kind == K::kAttribute &&
              (name == "info" || name == "debug" || name == "warning" || name == "error" || name == "critical") &&
              ascii_lower(t_.text(t_.field(callee, "object"))).find("log") != std::string::npos;
  if (!(name == "print" && kind == K::kIdentifier) && !logs) return;
  NodeId message = t_.first_named(given);
  if (logs && (t_.kind(message) == K::kBinary || (t_.kind(message) == K::kString && built_from_parts(message))))
    construct("weak-check", "what is logged may bring lines of its own", n);
  if (t_.kind(message) == K::kString && t_.next_named(message) != kNoNode &&
      t_.kind(t_.next_named(message)) != K::kString) {
    std::string low = ascii_lower(t_.text(message).substr(0, 200));
    for (std::string_view word : {"password", "passwd", "secret", "token", "ssn", "credit card", "otp"})
      if (low.find(word) != low.npos) return construct("secret-output", std::string(word), n);
  }
  for (NodeId c = given; c < tree_.end_of(given) && c < given + kMostNodes; ++c) {
    K inner = t_.kind(c);
    if (inner != K::kIdentifier && inner != K::kSubscript) continue;
    NodeId up = t_.parent(c);
    bool shown = up == given || t_.kind(up) == K::kInterpolation || t_.kind(up) == K::kBinary;
    if (shown && names_credential(last_name(c))) return construct("secret-output", last_name(c), c);
  }
}

// re.match(pattern, …): patterns that take forever, and checks that forget the end of the text.
void Analyser::regex_call(const Value& f, NodeId n, const Arguments& a) {
  auto pattern = e_.constant(a.at(0));
  if (!pattern || pattern->size() > 4096) return;
  if (is_explosive(*pattern)) return construct("explosive-pattern", std::string(pattern->substr(0, 60)), n);
  bool ends = pattern->ends_with('$') || pattern->ends_with("\\Z") || pattern->ends_with("\\z");
  if (ends || f.text == "re.fullmatch" || f.text == "re.sub" || f.text == "re.split" || f.text.starts_with("re.find"))
    return;
  static constexpr std::array<std::string_view, 5> kChecks = {"valid", "verify", "check", "allow", "sanit"};
  NodeId up = t_.parent(n);
  for (int steps = 0; up != kNoNode && steps < 32; ++steps, up = t_.parent(up)) {
    K kind = t_.kind(up);
    if (kind == K::kAssignment && holds_one(last_name(t_.field(up, "left")), kChecks))
      return construct("weak-check", "the pattern has no end", n);
    if (kind != K::kFunction) continue;
    if (holds_one(ascii_lower(t_.text(t_.field(up, "name"))), kChecks))
      construct("weak-check", "the pattern has no end", n);
    return;
  }
}

void Analyser::check_markup(std::string_view raw, std::string_view inner, NodeId n) {
  if (raw.find('<') == raw.npos && raw.find("script:") == raw.npos && raw.find(".cookie") == raw.npos) return;
  std::string low = ascii_lower(raw.substr(0, 4096));
  static constexpr std::array<std::string_view, 5> kActive = {"<script",
                                                              "onerror=", "onload=", "javascript:", "document.cookie"};
  if (holds_one(low, kActive)) return construct("active-markup", std::string(inner.substr(0, 60)), n);
  if (low.find("<!entity") != low.npos || (low.find("<!doctype") != low.npos && low.find("system") != low.npos))
    return construct("xml-entity", std::string(inner.substr(0, 60)), n);
  bool tag = inner.size() > 3 && inner[0] == '<' && std::isalpha(static_cast<unsigned char>(inner[1])) != 0 &&
             inner.find('>') != inner.npos;
  bool places = inner.find("%s") != inner.npos || inner.find("{}") != inner.npos || inner.find("{{") != inner.npos;
  if (tag && (places || built_from_parts(n))) construct("html-interpolation", std::string(inner.substr(0, 60)), n);
}

void Analyser::quality(NodeId n) {
  switch (t_.kind(n)) {
    case K::kComparison:
      return on_comparison(n);
    case K::kMatch:
      return on_match(n);
    case K::kCall:
      return named_call(n);
    case K::kSubscript:  // rates[person["ethnicity"]]
      if (NodeId key = t_.field(n, "subscript"); t_.kind(key) != K::kString && judges_people(last_name(key)))
        construct("judged-by", last_name(key), n);
      return;
    case K::kPair:
      if (t_.kind(t_.field(n, "value")) == K::kString && t_.text(t_.field(n, "value")).size() > 5 &&
          t_.kind(t_.field(n, "key")) == K::kString) {
        std::string_view key = t_.text(t_.field(n, "key"));
        if (key.size() > 2 && key.size() < 48 && names_credential(ascii_lower(key.substr(1, key.size() - 2))))
          construct("secret-literal", std::string(key), n);
      }
      return;
    default:
      return;
  }
}

}  // namespace hotcell::python
