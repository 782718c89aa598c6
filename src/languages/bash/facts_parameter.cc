// $name and ${name…} of constants.
#include "base/strings.h"
#include "languages/bash/facts_analyser.h"
#include "languages/bash/facts_text.h"

namespace hotcell::bash {
namespace {

std::string change_case(std::string text, std::string_view op) {
  bool all = op.size() == 2, up = op[0] == '^';
  for (std::size_t i = 0; i < (all ? text.size() : std::min<std::size_t>(1, text.size())); ++i)
    text[i] = static_cast<char>(up ? toupper(static_cast<unsigned char>(text[i]))
                                   : tolower(static_cast<unsigned char>(text[i])));
  return text;
}

std::string remove_match(const std::string& text, std::string_view pattern, std::string_view op) {
  bool front = op[0] == '#', longest = op.size() == 2;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    std::size_t n = longest ? text.size() - i : i;  // how much would go
    std::string_view piece =
        front ? std::string_view(text).substr(0, n) : std::string_view(text).substr(text.size() - n);
    if (pattern_matches(pattern, piece)) return front ? text.substr(n) : text.substr(0, text.size() - n);
  }
  return text;
}

std::optional<std::string> replace(const std::string& text, const Field& from, const Field& to, std::string_view op) {
  if (from.text.empty()) return text;
  if (op == "/#") return text.starts_with(from.text) ? to.text + text.substr(from.text.size()) : text;
  if (op == "/%") return text.ends_with(from.text) ? text.substr(0, text.size() - from.text.size()) + to.text : text;
  std::string out;
  // A pattern: the longest match at each place.
  bool pattern = from.text.find_first_of("*?[") != std::string::npos;
  if (pattern && text.size() > 256) return std::nullopt;
  bool done = false;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t n = 0;
    if (!done && !pattern && text.compare(i, from.text.size(), from.text) == 0) n = from.text.size();
    for (std::size_t k = text.size() - i; pattern && !done && k > 0 && n == 0; --k)
      if (pattern_matches(from.text, std::string_view(text).substr(i, k))) n = k;
    if (n == 0) {
      out += text[i++];
      continue;
    }
    out += to.text;
    i += n;
    done = op == "/";
    if (out.size() > kTextCap) return std::nullopt;
  }
  return out;
}

}  // namespace

// nullopt: not set by the script, and nothing known of it.
std::optional<Field> Analyser::lookup(std::string_view name) {
  std::string key(name);
  if (auto it = st_.variables.find(key); it != st_.variables.end()) {
    const Variable& v = it->second;
    if (!v.refers.empty() && folding_ < 64) {
      ++folding_;
      auto meant = lookup(v.refers);
      --folding_;
      if (meant) return meant;
    }
    if (v.array) return v.elements.empty() ? Field{} : v.elements[0];
    if (v.values.empty()) return Field{};
    most_alternatives_ = std::max(most_alternatives_, v.values.size());
    const Field& f = v.values[v.values.size() - 1 - alternative_ % v.values.size()];
    if (!spend(f.text.size())) return unknown();
    return f;
  }
  auto constant = [](std::string_view text) {
    Field f;
    f.text = text;
    return f;
  };
  if (name == "HOME") return constant("~");
  if (name == "PWD") return constant(st_.folder.empty() ? "." : st_.folder);
  if (name == "IFS") return constant(" \t\n");
  if (name == "TMPDIR") return constant("/tmp");
  if (name == "SHELL" || name == "BASH") return constant("/bin/bash");
  if (name == "0" || name == "BASH_SOURCE") return unknown({}, kSelf);
  if (!name.empty() && name[0] >= '1' && name[0] <= '9') {
    auto at = evaluate_arithmetic(name).value_or(1L << 30);
    if (have_arguments_) {
      if (static_cast<std::size_t>(at) <= arguments_.size()) return arguments_[static_cast<std::size_t>(at - 1)];
      return Field{};
    }
    return unknown();
  }
  if (!name.empty() && isalpha(static_cast<unsigned char>(name[0])) == 0 && name[0] != '_') return unknown();
  return std::nullopt;
}

std::optional<Fields> Analyser::many(const ShellPart& p) {
  const bool slice = p.op == ":";
  bool operation = !p.op.empty() && !slice;
  auto cut = [&](const Fields& all, long first) -> std::optional<Fields> {  // ${@:2}: `first` is what the first is called
    auto from = number(p.first), length = p.second == kNoShell ? std::optional<long>(1L << 30) : number(p.second);
    const long size = static_cast<long>(all.size());
    if (!from || !length || *length < 0) return std::nullopt;
    long begin = *from < 0 ? size + *from : *from - first;
    if (begin < 0 || begin > size) return Fields{};
    return Fields(all.begin() + begin, all.begin() + std::min(size, begin + std::min(*length, size)));
  };
  if (p.text == "@" || p.text == "*") {
    if (operation || (slice && !have_arguments_)) return std::nullopt;
    if (slice) return cut(arguments_, 1);
    if (have_arguments_)
      return p.text == "*" && p.quoted && arguments_.size() > 1 ? std::nullopt : std::optional<Fields>(arguments_);
    return Fields{unknown()};
  }
  if (p.index == kNoShell || operation) return std::nullopt;
  auto index = s_.plain(p.index);
  const ShellWord& w = s_.words[p.index];
  std::string_view raw = w.count == 1 ? s_.parts[w.parts].text : std::string_view();
  if (raw != "@" && raw != "*") return std::nullopt;
  auto it = st_.variables.find(std::string(p.text));
  if (it == st_.variables.end() || !it->second.array) return std::nullopt;
  return slice ? cut(Fields(it->second.elements), 0) : it->second.elements;
}

// ${m[k]} of m=([k]=rm)
std::optional<Field> Analyser::keyed_element(const ShellPart& p) {
  auto it = st_.variables.find(std::string(p.text));
  if (it == st_.variables.end() || !it->second.array) return std::nullopt;
  auto key = s_.plain(p.index);  // not expanded a second time: subscripts nest
  if (!key) return std::nullopt;
  std::string begin = cat("[", *key, "]=");
  for (const Field& f : it->second.elements)
    if (f.text.starts_with(begin)) {
      Field out = f;
      out.text.erase(0, begin.size());
      out.glob = false;
      return out;
    }
  return std::nullopt;
}

Field Analyser::parameter(const ShellPart& p) {
  if (folding_ >= 64) return unknown();
  ++folding_;
  std::string_view name = p.text;
  bool twice = p.op == "!" || name.starts_with('!');
  if (name.size() > 1 && name.starts_with('!')) name.remove_prefix(1);
  std::optional<Field> value;
  if ((name == "@" || name == "*") && have_arguments_) {
    Field all;
    for (const Field& f : arguments_) {
      all.text += (all.text.empty() ? "" : " ") + f.text;
      all.known = all.known && f.known;
    }
    value = all;
  } else if (p.index != kNoShell) {
    auto it = st_.variables.find(std::string(name));
    auto at = number(p.index);
    if (it != st_.variables.end() && it->second.array && at && *at >= -static_cast<long>(it->second.elements.size()) &&
        *at < static_cast<long>(it->second.elements.size()))
      value =
          it->second
              .elements[static_cast<std::size_t>(*at < 0 ? *at + static_cast<long>(it->second.elements.size()) : *at)];
    else if (name == "BASH_SOURCE")
      value = unknown({}, kSelf);
    else if (auto named = keyed_element(p); named)
      value = std::move(named);
    else if (it != st_.variables.end() && !it->second.array && at && *at == 0)
      value = lookup(name);
    else if (it != st_.variables.end())
      value = unknown();
  } else {
    value = lookup(name);
  }
  std::string origin(name);
  if (twice && value) {
    if (value->known) {
      Call c;
      c.at = p.begin;
      named(value->text, c);
      origin = value->text;
      value = lookup(value->text);
    } else {
      value = unknown();
    }
  }
  bool set = value.has_value();
  Field f = value ? *value : unknown(st_.assigned.contains(origin) ? std::string_view() : std::string_view(origin));
  if (!p.op.empty() && p.op != "!") f = apply_operator(p, std::move(f), set);
  --folding_;
  return f;
}

Field Analyser::apply_operator(const ShellPart& p, Field value, bool set) {
  std::string_view op = p.op;
  auto is_default = [&] { return op == ":-" || op == "-" || op == ":=" || op == "="; };
  if (is_default()) {
    bool missing = !set || !value.known || (op[0] == ':' && value.text.empty());
    if (!missing) return value;
    Field other = expand_one(p.first);
    if (!other.known || (!value.known && set && other.text.empty()))
      return value.known ? other : (other.known ? value : other);
    if (op.ends_with('=')) set_variable(std::string(p.text), other, true, false);
    return other;
  }
  if (op == ":+" || op == "+") {
    if (value.known && value.text.empty() && set) return {};
    return expand_one(p.first);
  }
  if (op == ":?" || op == "?") {
    if (p.first != kNoShell) expand_one(p.first);  // what it computes
    return value;
  }
  std::optional<long> from, length = 1L << 30;
  if (op == ":") {  // also of what is unknown: bash computes them all the same
    from = number(p.first);
    if (p.second != kNoShell) length = number(p.second);
  }
  if (!value.known) {
    for (ShellId word : {p.first, p.second})
      if (word != kNoShell && op != ":") expand_one(word);
    return value;
  }
  Field out = value;
  if (op == "len") {
    out.text = cat(value.text.size());
  } else if (op == ":") {
    if (!from || !length) return unknown();
    long size = static_cast<long>(value.text.size());
    long begin = *from < 0 ? size + *from : *from;
    if (begin < 0 || begin > size) return Field{};
    long end = *length < 0 ? size + *length : std::min(size, begin + std::min(*length, size));
    out.text =
        end > begin ? value.text.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)) : "";
  } else if (op[0] == '^' || op[0] == ',') {
    if (p.first != kNoShell) expand_one(p.first);
    out.text = change_case(value.text, op);
  } else if (op[0] == '#' || op[0] == '%') {
    Field pattern = expand_one(p.first);
    if (!pattern.known || value.text.size() > 1024 || pattern.text.size() > 256) return unknown();
    out.text = remove_match(value.text, pattern.text, op);
  } else if (op[0] == '/') {
    Field pattern = expand_one(p.first);
    Field to = p.second == kNoShell ? Field{} : expand_one(p.second);
    if (!pattern.known || !to.known) return unknown();
    auto text = replace(value.text, pattern, to, op);
    if (!text) return unknown();
    out.text = *text;
  } else if (op == "@") {
    Field how = expand_one(p.first);
    if (how.text == "P") {  // prompts are expanded: commands in the value run
      Call c;
      c.at = fixed_.value_or(p.begin);
      evaluate_text(cat(": \"", value.text, "\""), c);
    } else if (how.text == "U" || how.text == "L") {
      out.text = change_case(value.text, how.text == "U" ? "^^" : ",,");
    } else if (how.text == "E") {
      out.text = decode_escapes(value.text);
    }
  } else {
    return unknown();
  }
  return out;
}

}  // namespace hotcell::bash
