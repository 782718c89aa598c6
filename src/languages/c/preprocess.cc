#include "languages/c/preprocess.h"

#include <algorithm>
#include <unordered_set>

#include "base/strings.h"
#include "languages/c/facts_macros.h"

namespace hotcell::c {
namespace {

constexpr std::size_t kMostBytes = 8 * 1024 * 1024, kMostArguments = 64 * 1024, kMostTokens = 2048, kMostNesting = 64,
                      kMostLooked = 64 * 1024 * 1024;
constexpr int kMostRounds = 16;
constexpr int kNone = -1;

// Words the grammars take for names, and calls that are given a type.
constexpr std::string_view kAlsoKnown[] = {
    "va_arg(a, t) (*(t*)(a))",
    "__builtin_va_arg(a, t) (*(t*)(a))",
    "offsetof(t, m) ((unsigned long)&((t*)0)->m)",
    "__builtin_offsetof(t, m) ((unsigned long)&((t*)0)->m)",
    "_Alignof(t) sizeof(t)",
    "_Alignas(x)",
    "_Thread_local",
    "_Noreturn",
    "_Complex",
    "__extension__",
    // What every header of the C library and each compiler define, and what a name can be put together with.
    "__CONCAT(x, y) x##y",
    "__STRING(x) #x",
    "__P(args) args",
    "__BEGIN_DECLS",
    "__END_DECLS",
    "__USER_LABEL_PREFIX__",
    "__REGISTER_PREFIX__",
};

// Attributes that change nothing of what a program does; behind a variable's name the grammars do not know them.
constexpr std::string_view kHarmless[] = {"aligned", "packed", "unused", "used",       "weak",   "noreturn", "visibility",
                                          "const",   "pure",   "cold",   "deprecated", "format", "printf",   "nonnull"};

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\v' || c == '\f' || c == '\r'; }

std::size_t skip_spaces(std::string_view s, std::size_t i) {
  while (i < s.size()) {
    if (is_space(s[i])) {
      ++i;
      continue;
    }
    std::size_t after = s[i] == '/' ? skip_inert(s, i) : i;
    if (after == i) break;
    i = after;
  }
  return i;
}

// The place after what closes the bracket at `open`; npos when nothing does within `most` bytes.
std::size_t close_of(std::string_view s, std::size_t open, std::size_t most) {
  s = s.substr(0, std::min(s.size(), open + most));
  int depth = 0;
  for (std::size_t i = open; i < s.size();) {
    if (std::size_t after = skip_inert(s, i); after > i) {
      i = after;
      continue;
    }
    if (s[i] == '(' || s[i] == '[' || s[i] == '{') ++depth;
    if ((s[i] == ')' || s[i] == ']' || s[i] == '}') && --depth == 0) return i + 1;
    ++i;
  }
  return s.npos;
}

// The branches of a source's conditions, and which of them stood in a text already.
class Branches {
 public:
  explicit Branches(const std::vector<Directive>& directives) : group_of_(directives.size(), kNone) {
    std::vector<int> open = {kNone}, groups;  // branches around this place
    for (std::size_t i = 0; i < directives.size(); ++i) {
      const std::string& name = directives[i].name;
      const bool begins = name == "if" || name == "ifdef" || name == "ifndef";
      if (begins) {
        groups.push_back(static_cast<int>(groups_.size()));
        groups_.emplace_back();
        if (open.back() != kNone) branches_[at(open.back())].inner.push_back(groups.back());
        open.push_back(kNone);
      }
      if (begins || name.starts_with("el")) {
        if (groups.empty()) return;
        const int outer = open[open.size() - 2];
        open.back() = static_cast<int>(branches_.size());
        groups_[at(groups.back())].push_back(open.back());
        branches_.emplace_back();
        branches_.back().never =
            (name == "if" && directives[i].rest == "0") || (outer != kNone && branches_[at(outer)].never);
        group_of_[i] = groups.back();
      } else if (name == "endif") {
        if (groups.empty()) return;
        groups.pop_back();
        open.pop_back();
      }
      if (groups.size() > kMostNesting) return;
    }
    closed_ = groups.empty();
  }

  bool closed() const { return closed_; }
  int group_of(std::size_t directive) const { return group_of_[directive]; }

  // The branch of this group to take next, which then counts as read.
  int take(int group) {
    const auto& all = groups_[at(group)];
    auto it = std::find_if(all.begin(), all.end(), [&](int b) { return !done(b); });
    if (it == all.end()) it = std::find_if(all.begin(), all.end(), [&](int b) { return !branches_[at(b)].never; });
    if (it == all.end()) return kNone;
    branches_[at(*it)].read = true;
    return *it;
  }
  bool is(int branch, int group, std::size_t nth) const {
    const auto& all = groups_[at(group)];
    return nth < all.size() && all[nth] == branch;
  }
  bool all_done() const {
    return std::all_of(branches_.begin(), branches_.end(), [](const Branch& b) { return b.read || b.never; });
  }

 private:
  struct Branch {
    bool read = false, never = false;
    std::vector<int> inner;  // groups
  };
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  bool done(int branch) const {
    const Branch& b = branches_[at(branch)];
    if (b.never) return true;
    if (!b.read) return false;
    return std::all_of(b.inner.begin(), b.inner.end(), [&](int g) {
      return std::all_of(groups_[at(g)].begin(), groups_[at(g)].end(), [&](int inner) { return done(inner); });
    });
  }

  bool closed_ = false;
  std::vector<int> group_of_;
  std::vector<std::vector<int>> groups_;
  std::vector<Branch> branches_;
};

struct Event {  // a definition between the lines of a text
  std::size_t at = 0;
  const Directive* directive = nullptr;
};

struct Chosen {
  MappedText text;
  std::vector<Event> events;
};

// The text with one branch of each condition and no directive.
Chosen choose(std::string_view text, const std::vector<Directive>& directives, Branches& branches) {
  struct Open {
    bool outer = true, active = true;
    int group = kNone, taken = kNone;
    std::size_t nth = 0;
  };
  std::vector<Open> open(1);
  Chosen out;
  auto copy = [&](std::size_t from, std::size_t to) {
    for (; from < to; ++from) {
      out.text.text += text[from];
      out.text.origin.push_back(static_cast<std::uint32_t>(from));
    }
  };
  std::size_t from = 0;
  for (std::size_t i = 0; i < directives.size(); ++i) {
    const Directive& d = directives[i];
    if (open.back().active) copy(from, d.begin);
    from = d.end;
    if (d.name == "if" || d.name == "ifdef" || d.name == "ifndef") {
      Open o;
      o.outer = open.back().active;
      o.group = branches.group_of(i);
      if (o.outer) o.taken = branches.take(o.group);
      o.active = o.outer && branches.is(o.taken, o.group, 0);
      open.push_back(o);
    } else if (d.name.starts_with("el")) {
      Open& o = open.back();
      o.active = o.outer && branches.is(o.taken, o.group, ++o.nth);
    } else if (d.name == "endif") {
      open.pop_back();
    } else if (open.back().active && (d.name == "define" || d.name == "undef" || d.name == "pragma")) {
      out.events.push_back({out.text.text.size(), &d});
    }
  }
  copy(from, text.size());
  out.text.origin.push_back(static_cast<std::uint32_t>(text.size()));
  return out;
}

class Expander {
 public:
  Expander(const Chosen& in, std::vector<Pragma>* pragmas) : in_(in), s_(in.text.text), pragmas_(pragmas) {
    for (std::string_view each : kAlsoKnown) macros_.define(each);
  }

  std::optional<MappedText> run() {
    const std::size_t most = s_.size() * 4 + 256 * 1024;
    std::size_t event = 0;
    for (std::size_t i = 0; i < s_.size();) {
      for (; event < in_.events.size() && in_.events[event].at <= i; ++event) {
        const Directive& d = *in_.events[event].directive;
        if (d.name == "define") macros_.redefine(d.rest);
        else if (d.name == "undef") macros_.forget(trim(d.rest));
        else pragma(d.rest);
      }
      if (failed_ || out_.text.size() > most || macros_.exhausted()) return std::nullopt;
      std::size_t after = skip_inert(s_, i);
      if (after == i && is_word_char(s_[i])) {
        after = word_end(i);
        if (std::size_t used = pragma_operator(i, after); used > i) {
          i = used;
          continue;
        }
        if (std::size_t used = replace(i, after); used > i) {
          i = used;
          continue;
        }
      }
      copy(i, std::max(after, i + 1));
      i = std::max(after, i + 1);
    }
    out_.origin.push_back(in_.text.origin.back());
    if (failed_ || macros_.exhausted()) return std::nullopt;
    return std::move(out_);
  }

 private:
  std::size_t word_end(std::size_t i) const {
    while (i < s_.size() && is_word_char(s_[i])) ++i;
    return i;
  }
  void copy(std::size_t from, std::size_t to) {
    for (; from < to; ++from) put(s_[from], from);
  }
  void put(char c, std::size_t from) {
    out_.text += c;
    out_.origin.push_back(in_.text.at(static_cast<std::uint32_t>(from)));
  }

  // push_macro("NAME"), pop_macro("NAME"); the others say nothing here.
  void pragma(std::string_view text) {
    auto tokens = tokens_of(text, 8);
    if (tokens.size() < 4 || tokens[1].text != "(" || tokens[2].kind != TokenKind::kString) return;
    if (tokens[0].text == "push_macro") macros_.push(string_value(tokens[2].text));
    if (tokens[0].text == "pop_macro") macros_.pop(string_value(tokens[2].text));
  }
  void keep_pragma(const std::string& string, std::size_t from) {
    const std::string text = string_value(string);
    pragma(text);
    if (pragmas_ != nullptr && pragmas_->size() < 4096) pragmas_->push_back({text, in_.text.at(static_cast<std::uint32_t>(from))});
  }
  // _Pragma("…") at `i`: where it ends, as nothing of it is left. `i`: it is none.
  std::size_t pragma_operator(std::size_t i, std::size_t end) {
    if (s_.substr(i, end - i) != "_Pragma") return i;
    std::size_t open = skip_spaces(s_, end);
    std::size_t close = open < s_.size() && s_[open] == '(' ? close_of(s_, open, kMostArguments) : s_.npos;
    if (close == s_.npos) return i;
    auto tokens = tokens_of(s_.substr(open, close - open), 4);
    if (tokens.size() != 3 || tokens[1].kind != TokenKind::kString) return i;
    keep_pragma(tokens[1].text, i);
    put(' ', i);
    return close;
  }

  // The use of a macro at `i`: where it ends. `i`: it is none.
  std::size_t replace(std::size_t i, std::size_t end) {
    const Macro* m = macros_.find(s_.substr(i, end - i));
    if (m == nullptr) return i;
    std::size_t close = end;
    std::vector<Token> made;
    // What a name stands for may be a name that takes what follows it, again and again.
    for (int round = 0;; ++round) {
      const bool function = round == 0 ? m->function : ends_in_function(made);
      std::size_t open = skip_spaces(s_, close);
      const bool called = open < s_.size() && s_[open] == '(';
      if (round == 0 && function && !called) return i;
      if (round > 0 && !(function && called)) break;
      if (function) {
        std::size_t after = close_of(s_, open, kMostArguments);
        looked_ += after == s_.npos ? kMostArguments : after - open;
        failed_ |= after == s_.npos || looked_ > kMostLooked || round > kMostRounds;
        if (failed_) return i;
        close = after;
      }
      auto tokens = tokens_of(s_.substr(i, close - i), kMostTokens);
      failed_ |= tokens.size() >= kMostTokens;
      made = macros_.expand(std::move(tokens));
      failed_ |= made.size() >= kMostTokens || begins_call(made);
    }
    put(' ', i);
    std::string_view before = " ";
    for (std::size_t k = 0; k < made.size(); ++k) {
      const Token& t = made[k];
      if (t.text.empty()) continue;
      if (t.text == "_Pragma" && k + 3 < made.size() && made[k + 1].text == "(" && made[k + 2].kind == TokenKind::kString) {
        keep_pragma(made[k + 2].text, i);
        k += 3;
        continue;
      }
      if (t.spaced || (is_word_char(before.back()) && is_word_char(t.text[0]))) put(' ', i);
      for (char c : t.text) put(c, i);
      before = t.text;
    }
    put(' ', i);
    return close;
  }

  // #define T F(a: the text behind it ends the call.
  bool begins_call(const std::vector<Token>& made) const {
    int depth = 0;
    for (std::size_t k = made.size(); k-- > 1;) {
      if (made[k].kind != TokenKind::kPunct) continue;
      if (made[k].text == ")") ++depth;
      if (made[k].text != "(" || depth-- > 0) continue;
      depth = 0;
      const Macro* m = made[k - 1].hidden ? nullptr : macros_.find(made[k - 1].text);
      if (m != nullptr && m->function) return true;
    }
    return false;
  }
  bool ends_in_function(const std::vector<Token>& made) const {
    const Macro* last = made.empty() || made.back().hidden ? nullptr : macros_.find(made.back().text);
    return last != nullptr && last->function;
  }

  const Chosen& in_;
  std::string_view s_;
  std::vector<Pragma>* pragmas_;
  Macros macros_;
  MappedText out_;
  std::size_t looked_ = 0;  // for the ends of arguments
  bool failed_ = false;
};

bool is_harmless(std::string_view attributes) {
  for (const Token& t : tokens_of(attributes, 64)) {
    if (t.kind != TokenKind::kWord || t.text == "__attribute__") continue;
    std::string_view name = t.text;
    while (name.starts_with('_')) name.remove_prefix(1);
    while (name.ends_with('_')) name.remove_suffix(1);
    if (std::find(std::begin(kHarmless), std::end(kHarmless), name) == std::end(kHarmless)) return false;
  }
  return true;
}

// `f(T x = {})`, `goto *p`, `case 1 ... 3`, `using T::f...;`: what the grammars do not know, in words that they do and that
// are as long.
void say_otherwise(std::string& s, bool cpp) {
  std::string open;
  for (std::size_t i = 0; i < s.size();) {
    if (std::size_t after = skip_inert(s, i); after > i) {
      i = after;
      continue;
    }
    if (is_word_char(s[i])) {
      std::size_t end = i;
      while (end < s.size() && is_word_char(s[end])) ++end;
      std::string_view word = std::string_view(s).substr(i, end - i);
      std::size_t next = skip_spaces(s, end);
      if (word == "goto" && next < s.size() && s[next] == '*') {
        s.replace(i, 4, 4, ' ');
      } else if (cpp && word == "typeid") {  // takes what sizeof takes, and does as little
        s.replace(i, 6, "sizeof");
      } else if (word == "__attribute__" && next < s.size() && s[next] == '(') {
        std::size_t close = close_of(s, next, 256);
        if (close != s.npos && is_harmless(std::string_view(s).substr(i, close - i)))
          s.replace(i, close - i, close - i, ' ');
      } else if (word == "case") {
        std::string_view label = std::string_view(s).substr(end, 256);
        std::size_t dots = label.substr(0, label.find_first_of(":;{}")).find("...");
        if (dots != label.npos) s.replace(end + dots, 3, " + ");
      }
      i = end;
      continue;
    }
    if (s[i] == '(' || s[i] == '{' || s[i] == '[') open += s[i];
    if ((s[i] == ')' || s[i] == '}' || s[i] == ']') && !open.empty()) open.pop_back();
    if (cpp && s[i] == '=' && open.ends_with('(')) {
      std::size_t brace = skip_spaces(s, i + 1), close = brace < s.size() && s[brace] == '{' ? close_of(s, brace, 4096) : s.npos;
      std::size_t next = close == s.npos ? s.npos : skip_spaces(s, close);
      if (next < s.size() && (s[next] == ',' || s[next] == ')')) {
        const bool empty = skip_spaces(s, brace + 1) == close - 1;
        s[brace] = empty ? '0' : '(';
        s[close - 1] = empty ? ' ' : ')';
      }
    }
    if (cpp && s[i] == '.' && s.compare(i, 3, "...") == 0 && i > 0 && (is_word_char(s[i - 1]) || s[i - 1] == ')')) {
      if (std::size_t next = skip_spaces(s, i + 3); next < s.size() && s[next] == ';') s.replace(i, 3, 3, ' ');
    }
    ++i;
  }
}

}  // namespace

bool changes_by_macros(const Scan& scan, std::string_view text) {
  for (std::string_view word : {"_Pragma", "__CONCAT", "__STRING"})
    if (text.find(word) != text.npos) return true;
  std::unordered_set<std::string_view> defined;
  for (const Directive& d : scan.directives) {
    if (d.name == "undef" || (d.name == "pragma" && d.rest.find("_macro") != d.rest.npos)) return true;
    if (d.name != "define") continue;
    std::string_view rest = d.rest;
    std::size_t end = 0;
    while (end < rest.size() && is_word_char(rest[end])) ++end;
    if (rest.find('#') != rest.npos || rest.find("%:") != rest.npos || !defined.insert(rest.substr(0, end)).second)
      return true;
  }
  return false;
}

std::optional<std::vector<MappedText>> preprocessed(const MappedText& joined, bool cpp, std::vector<Pragma>* pragmas,
                                                    std::size_t most) {
  std::string_view text = joined.text;
  const Scan scan = scan_text(text);
  if (!scan.trigraphs.empty()) return std::nullopt;
  Branches branches(scan.directives);
  if (!branches.closed()) return std::nullopt;
  std::vector<MappedText> out;
  do {
    if (out.size() >= most || out.size() * text.size() > kMostBytes) return std::nullopt;
    Chosen chosen = choose(text, scan.directives, branches);
    for (std::uint32_t& from : chosen.text.origin) from = joined.at(from);
    auto expanded = Expander(chosen, pragmas).run();
    if (!expanded) return std::nullopt;
    say_otherwise(expanded->text, cpp);
    out.push_back(std::move(*expanded));
  } while (!branches.all_done());
  return out;
}

}  // namespace hotcell::c
