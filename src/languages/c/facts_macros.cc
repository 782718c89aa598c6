#include "languages/c/facts_macros.h"

#include <algorithm>

namespace hotcell::c {
namespace {

constexpr std::size_t kMostTokens = 2048;
constexpr int kMostNesting = 32;

std::vector<Token> paste(std::vector<Token> in) {
  std::vector<Token> out;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (in[i].text == "##" && in[i].kind == TokenKind::kPunct && !out.empty() && i + 1 < in.size()) {
      ++i;
      if (out.back().text.empty()) out.back().kind = in[i].kind;  // an argument that was not given
      out.back().text += in[i].text;
      out.back().hidden = false;
      if (out.back().text.size() > kMaxConstant) return {};
    } else {
      out.push_back(std::move(in[i]));
    }
  }
  std::erase_if(out, [](const Token& t) { return t.text.empty(); });
  return out;
}

// The arguments of a call whose ( is at `i`; i is left after the ). False when it is not closed.
bool read_arguments(const std::vector<Token>& in, std::size_t& i, std::vector<std::vector<Token>>& out) {
  int depth = 0;
  out.emplace_back();
  for (; i < in.size(); ++i) {
    const std::string& t = in[i].text;
    if (in[i].kind == TokenKind::kPunct && t == "(" && depth++ == 0) continue;
    if (in[i].kind == TokenKind::kPunct && t == ")" && --depth == 0) {
      ++i;
      return true;
    }
    if (in[i].kind == TokenKind::kPunct && t == "," && depth == 1) out.emplace_back();
    else out.back().push_back(in[i]);
  }
  return false;
}

// The body with what __VA_OPT__( ) holds in its place, when something was given for ...; with nothing otherwise.
std::vector<Token> choose_optional(const std::vector<Token>& body, bool given) {
  std::vector<Token> out;
  for (std::size_t i = 0; i < body.size(); ++i) {
    if (body[i].text != "__VA_OPT__" || i + 1 >= body.size() || body[i + 1].text != "(") {
      out.push_back(body[i]);
      continue;
    }
    const std::size_t before = out.size();
    int depth = 0;
    for (++i; i < body.size(); ++i) {
      const bool sign = body[i].kind == TokenKind::kPunct;
      if (sign && body[i].text == "(" && depth++ == 0) continue;
      if (sign && body[i].text == ")" && --depth == 0) break;
      if (given) out.push_back(body[i]);
    }
    if (out.size() == before) out.push_back({});  // ## has something on both sides
  }
  return out;
}

// `raw`: the arguments as they stand, for # and ##; `expanded`: what they become by themselves.
std::vector<Token> substitute(const Macro& m, std::string_view name, const std::vector<std::vector<Token>>& raw,
                              const std::vector<std::vector<Token>>& expanded) {
  std::vector<Token> out;
  std::vector<Token> chosen;
  if (std::any_of(m.body.begin(), m.body.end(), [](const Token& t) { return t.text == "__VA_OPT__"; })) {
    bool any = false;
    for (std::size_t k = m.params.empty() ? 0 : m.params.size() - 1; k < expanded.size(); ++k) any |= !expanded[k].empty();
    chosen = choose_optional(m.body, any);
  }
  const std::vector<Token>& body = chosen.empty() ? m.body : chosen;
  for (std::size_t i = 0; i < body.size() && out.size() < kMostTokens; ++i) {
    const Token& t = body[i];
    bool quote = t.text == "#" && i + 1 < body.size();
    const Token& word = quote ? body[i + 1] : t;
    auto p = std::find(m.params.begin(), m.params.end(), word.text == "__VA_ARGS__" ? "..." : word.text);
    if (word.kind != TokenKind::kWord || p == m.params.end()) {
      out.push_back(t);
      out.back().hidden |= t.text == name;
      continue;
    }
    bool pasted = quote || (i > 0 && body[i - 1].text == "##") || (i + 1 < body.size() && body[i + 1].text == "##");
    const auto& given = pasted ? raw : expanded;
    std::size_t index = static_cast<std::size_t>(p - m.params.begin());
    std::size_t last = *p == "..." ? given.size() : std::min(index + 1, given.size());
    if (quote) ++i;
    // , ## __VA_ARGS__: the comma goes when nothing was given.
    bool comma = *p == "..." && !quote && out.size() >= 2 && out.back().text == "##" && out[out.size() - 2].text == ",";
    if (comma) out.pop_back();
    if (comma && (index >= last || (last == index + 1 && given[index].empty()))) out.pop_back();
    const std::size_t before = out.size();
    std::string text = "\"";
    for (std::size_t k = index; k < last; ++k) {
      if (!quote && k > index) out.push_back({TokenKind::kPunct, ",", false});
      for (const Token& a : given[k]) {
        if (!quote) {
          out.push_back(a);
          continue;
        }
        if (a.spaced && text.size() > 1) text += ' ';
        for (char c : a.text) {
          if (a.kind != TokenKind::kWord && (c == '"' || c == '\\')) text += '\\';
          text += c;
        }
      }
    }
    if (quote) out.push_back({TokenKind::kString, text + "\"", false});
    else if (pasted && !comma && out.size() == before) out.push_back({});  // ## has something on both sides
  }
  return paste(std::move(out));
}

}  // namespace

void Macros::define(std::string_view rest) {
  std::size_t end = 0;
  while (end < rest.size() && is_word_char(rest[end])) ++end;
  if (end == 0 || macros_.size() > 50'000) return;
  std::string name(rest.substr(0, end));
  Macro m;
  rest.remove_prefix(end);
  if (rest.starts_with('(')) {
    m.function = true;
    std::size_t close = rest.find(')');
    if (close == std::string_view::npos) return;
    for (const Token& t : tokens_of(rest.substr(1, close - 1), 256))
      if (t.kind == TokenKind::kWord) m.params.push_back(t.text);
    if (rest.substr(0, close).find("...") != std::string_view::npos) m.params.push_back("...");
    rest.remove_prefix(close + 1);
  }
  m.body = tokens_of(rest, kMostTokens);
  // Two definitions of one name: the one that pastes is the one to look at; otherwise the first.
  auto it = macros_.find(name);
  auto pastes = [](const Macro& x) {
    return std::any_of(x.body.begin(), x.body.end(), [](const Token& t) { return t.text == "##"; });
  };
  m.pastes = pastes(m);
  if (it == macros_.end() || (m.pastes && !it->second.pastes)) macros_[name] = std::move(m);
}

void Macros::redefine(std::string_view rest) {
  std::size_t end = 0;
  while (end < rest.size() && is_word_char(rest[end])) ++end;
  forget(rest.substr(0, end));
  define(rest);
}

void Macros::forget(std::string_view name) { macros_.erase(std::string(name)); }

void Macros::push(const std::string& name) {
  auto it = macros_.find(name);
  auto& kept = pushed_[name];
  if (pushed_.size() > 1024 || kept.size() > 1024) return;
  kept.push_back(it == macros_.end() ? std::nullopt : std::optional<Macro>(it->second));
}

void Macros::pop(const std::string& name) {
  auto it = pushed_.find(name);
  if (it == pushed_.end() || it->second.empty()) return;
  if (it->second.back()) macros_[name] = std::move(*it->second.back());
  else macros_.erase(name);
  it->second.pop_back();
}

void Macros::finish() {
  bool changed = true;
  for (int round = 0; changed && round < 8; ++round) {
    changed = false;
    for (auto& [name, m] : macros_) {
      if (m.pastes) continue;
      for (const Token& t : m.body) {
        const Macro* other = t.kind == TokenKind::kWord ? find(t.text) : nullptr;
        if (other != nullptr && other->pastes) m.pastes = changed = true;
      }
    }
  }
}

const Macro* Macros::find(std::string_view name) const {
  if (macros_.empty()) return nullptr;
  auto it = macros_.find(std::string(name));
  return it == macros_.end() ? nullptr : &it->second;
}

std::vector<Token> Macros::expand(std::vector<Token> in) {
  std::vector<Token> out;
  // Rescanned from where the replacement begins, as the preprocessor does; the budget stops what would not end.
  std::size_t i = 0;
  for (int steps = 0; i < in.size() && steps < 512 && budget_ > 0;) {
    Token t = in[i];
    const Macro* m = t.kind == TokenKind::kWord && !t.hidden ? find(t.text) : nullptr;
    if (m == nullptr || (m->function && (i + 1 >= in.size() || in[i + 1].text != "("))) {
      out.push_back(std::move(t));
      ++i;
      continue;
    }
    ++steps;
    std::size_t after = i + 1;
    std::vector<Token> replacement;
    if (m->function) {
      std::vector<std::vector<Token>> given;
      if (!read_arguments(in, after, given)) {
        out.push_back(std::move(t));
        ++i;
        continue;
      }
      auto expanded = given;
      for (auto& argument : expanded)
        if (nesting_ < kMostNesting && budget_ > 0) {
          ++nesting_;
          argument = expand(std::move(argument));
          --nesting_;
        } else {
          cut_ = true;
        }
      replacement = substitute(*m, t.text, given, expanded);
    } else {
      replacement = paste(m->body);
      for (Token& r : replacement)
        if (r.text == t.text) r.hidden = true;
    }
    budget_ -= static_cast<int>(replacement.size() + in.size() - after) + 1;
    if (replacement.size() + in.size() - after > kMostTokens) {
      cut_ = true;
      break;
    }
    replacement.insert(replacement.end(), in.begin() + static_cast<std::ptrdiff_t>(after), in.end());
    in = std::move(replacement);
    i = 0;
  }
  cut_ |= i < in.size();
  for (; i < in.size() && out.size() < kMostTokens; ++i) out.push_back(in[i]);
  return out;
}

std::optional<std::string> Macros::string_of(std::string_view name) const {
  std::string out;
  int steps = 256;
  if (!append_string(name, out, steps, 0)) return std::nullopt;
  return out;
}

bool Macros::append_string(std::string_view name, std::string& out, int& steps, int depth) const {
  const Macro* m = find(name);
  if (m == nullptr || m->function || m->body.empty() || depth > 8) return false;
  for (const Token& t : m->body) {
    if (--steps < 0 || out.size() > kMaxConstant) return false;
    if (t.text == "(" || t.text == ")") continue;
    if (t.kind == TokenKind::kString) out += string_value(t.text);
    else if (t.kind != TokenKind::kWord || !append_string(t.text, out, steps, depth + 1)) return false;
  }
  return true;
}

}  // namespace hotcell::c
