#include <functional>

#include "base/strings.h"
#include "languages/analysers.h"
#include "languages/bash/facts_analyser.h"
#include "languages/bash/facts_text.h"
#include "languages/common/telling_words.h"

namespace hotcell {

std::vector<Fact> bash_facts(std::string_view text) {
  bash::State state;
  state.scripts.push_back(parse_shell(std::string(text)));
  bash::Analyser(state, state.scripts.back(), 0).run();
  if (state.exhausted)
    state.facts.push_back({FactKind::kUnreadable, "too many texts made of other texts to follow them all", "", 0, 0});
  return std::move(state.facts);
}

namespace bash {

void Analyser::run() {
  collect_names();
  if (depth_ == 0) {
    st_.facts.reserve(s_.nodes.size());
    look_for_bombs();
  }
  walk(0, static_cast<ShellId>(s_.nodes.size()));
  // Functions that nobody called: anything may be given to them.
  for (ShellId n = 0; n < s_.nodes.size(); ++n) {
    const ShellNode& node = s_.nodes[n];
    if (node.kind != ShellNodeKind::kFunction) continue;
    auto it = st_.functions.find(std::string(node.name));
    bool called = it != st_.functions.end() && it->second.script == &s_ && it->second.node == n && it->second.calls > 0;
    if (!called) walk(n + 1, node.after);
  }
  if (s_.error)
    say(FactKind::kUnreadable, cat("the shell cannot be read here: ", s_.error->what), "",
        fixed_.value_or(s_.error->at));
}

void Analyser::say(FactKind kind, std::string name, std::string detail, std::uint32_t at) {
  at = fixed_.value_or(at);
  std::size_t h = std::hash<std::string>()(name) * 31 + std::hash<std::string>()(detail);
  if (!st_.said.insert((h * 131 + at) * 16 + static_cast<std::size_t>(kind)).second) return;
  st_.facts.push_back({kind, std::move(name), std::move(detail), at, at + 1});
}

void Analyser::collect_names() {
  for (const ShellAssignment& a : s_.assignments) st_.assigned.emplace(a.name);
  for (const ShellPart& p : s_.parts)
    if (p.kind == ShellPartKind::kParameter && (p.op == ":=" || p.op == "=")) st_.assigned.emplace(p.text);
  for (const ShellNode& n : s_.nodes) {
    if (!n.name.empty() && n.kind != ShellNodeKind::kFunction) st_.assigned.emplace(n.name);
    if (n.kind != ShellNodeKind::kSimple || n.word_count < 2) continue;
    auto name = s_.plain(n.words);
    if (!name || !one_of(*name, " read declare local export typeset readonly getopts mapfile readarray printf let "))
      continue;
    bool by_value = one_of(*name, " declare local export typeset readonly let ");
    for (ShellId w = n.words + 1; w < n.words + n.word_count; ++w) {
      const ShellWord& word = s_.words[w];
      if (word.count == 0 || s_.parts[word.parts].kind != ShellPartKind::kLiteral) continue;
      std::string_view first = s_.parts[word.parts].text;
      std::size_t equals = first.find('=');
      if (equals != std::string_view::npos || !by_value) st_.assigned.emplace(first.substr(0, equals));
    }
  }
}

std::vector<ShellId> Analyser::stages(ShellId pipeline_node) const {
  std::vector<ShellId> out;
  for (ShellId n = pipeline_node + 1; n < s_.nodes[pipeline_node].after; n = s_.nodes[n].after) out.push_back(n);
  return out;
}

void Analyser::walk(ShellId from, ShellId to) {
  std::vector<std::pair<ShellId, std::string>> folders;  // a subshell's cd ends with it
  for (ShellId n = from; n < to; ++n) {
    const ShellNode& node = s_.nodes[n];
    while (!folders.empty() && n >= folders.back().first) {
      st_.folder = std::move(folders.back().second);
      folders.pop_back();
    }
    if (node.kind == ShellNodeKind::kSubshell || node.kind == ShellNodeKind::kSubstitution) {
      folders.emplace_back(node.after, st_.folder);
      Call c;
      c.at = node.begin;
      starts_program(node.kind == ShellNodeKind::kSubshell ? "( )" : "$( )", c);
    }
    if (node.kind == ShellNodeKind::kSimple || node.kind == ShellNodeKind::kTest || node.kind == ShellNodeKind::kCase)
      decisions(n);
    switch (node.kind) {
      case ShellNodeKind::kFunction: {
        std::string name(node.name);
        Call c;
        c.at = node.begin;
        if (declares_harm(name)) construct("declared-harm", name, c);
        if (calls_itself(n)) construct("endless-loop", "calls itself always", c);
        if (std::string low = ascii_lower(name); names_credential(low) || low.find("token") != low.npos)
          if (s_.text().substr(node.begin, std::min<std::size_t>(node.end - node.begin, 4000)).find("RANDOM") !=
              std::string_view::npos)
            construct("weak-random", name, c);
        if (is_everyday(name)) construct("shadowed-command", name, c);
        auto it = st_.functions.find(name);
        if (it == st_.functions.end() || it->second.node != n || it->second.script != &s_)
          st_.functions[name] = {&s_, n, 0};
        n = node.after - 1;
        break;
      }
      case ShellNodeKind::kPipeline:
        pipeline(n);
        break;
      case ShellNodeKind::kSimple:
        simple(n);
        break;
      case ShellNodeKind::kFor:
      case ShellNodeKind::kSelect:
        loop_variable(node);
        redirects(n);
        break;
      case ShellNodeKind::kCase:
        test_or_arithmetic(n);
        redirects(n);
        break;
      case ShellNodeKind::kCoproc:
        for (ShellId inner = n + 1; inner < node.after && inner < n + 64; ++inner)  // what others write to it
          if (s_.nodes[inner].kind == ShellNodeKind::kSimple) inputs_[inner] = unknown();
        redirects(n);
        break;
      case ShellNodeKind::kTest:
      case ShellNodeKind::kArithmetic:
      case ShellNodeKind::kForArithmetic:
        test_or_arithmetic(n);
        [[fallthrough]];
      case ShellNodeKind::kWhile:
      case ShellNodeKind::kUntil:
        endless_loop(n);
        [[fallthrough]];
      default:
        redirects(n);
    }
  }
  if (!folders.empty()) st_.folder = std::move(folders.front().second);
}

// Whether what happens at this node may also not happen: then a value it sets is one of several.
bool Analyser::conditional(ShellId node) const {
  for (ShellId n = s_.nodes[node].parent; n != kNoShell; n = s_.nodes[n].parent) {
    const ShellNode& p = s_.nodes[n];
    if (p.kind == ShellNodeKind::kProgram || p.kind == ShellNodeKind::kFunction) return false;
    if (p.kind == ShellNodeKind::kPipeline) {
      bool single = n + 1 < p.after && s_.nodes[n + 1].after == p.after;
      if (p.op == '|' || p.background || !single) return true;
    } else if (p.kind != ShellNodeKind::kGroup) {
      return true;
    }
  }
  return false;
}

void Analyser::set_variable(const std::string& name, Field value, bool conditional, bool append) {
  constexpr std::size_t kMost = 8;
  auto known = st_.variables.find(name);
  Variable& v = st_.variables[known == st_.variables.end() || known->second.refers.empty() ? name : known->second.refers];
  if (append && !v.array) {
    Field before = v.values.empty() ? Field{} : v.values.back();
    bool fits = before.text.size() + value.text.size() <= kTextCap && spend(before.text.size() + value.text.size());
    value.text = fits ? before.text + value.text : std::string(kUnknown);
    value.known = fits && before.known && value.known;
    value.taint |= before.taint;
    if (!before.text.empty()) value.origin = before.origin;
  }
  if (!conditional || v.array) v.values.clear();
  v.array = false;
  v.elements.clear();
  if (v.values.size() >= kMost) v.values.erase(v.values.begin());
  v.values.push_back(std::move(value));
}

void Analyser::assign(const ShellAssignment& a, ShellId node, bool local) {
  std::string name(a.name);
  if (a.array) {
    Fields elements;
    if (a.count > 0 && a.count < 256) {
      std::string_view all =
          s_.text().substr(a.begin, std::min<std::size_t>(s_.words[a.elements + a.count - 1].end - a.begin, 4000));
      Call c;
      c.at = a.begin;
      if (holds_personal_data(all)) construct("personal-data", name, c);
    }
    Call c;
    c.at = a.begin;
    for (ShellId w = a.elements; w < a.elements + a.count && elements.size() < 256; ++w) {
      const ShellWord& word = s_.words[w];
      bool keyed = word.count > 0 && s_.parts[word.parts].text == "[";  // [key]=value is not split
      for (Field& f : expand(w, !keyed)) {
        std::size_t close = f.text.starts_with('[') ? f.text.rfind("]=") : f.text.npos;
        if (close != f.text.npos) computes(std::string_view(f.text).substr(1, close - 1), c);  // a=([i]=1)
        if (st_.integers.contains(name)) computes(f.text, c);
        special_variable(name, f, a.begin);  // PROMPT_COMMAND=('…')
        elements.push_back(std::move(f));
      }
    }
    if (!a.append) st_.variables[name].elements.clear();
    Variable& now = st_.variables[name];
    now.array = true;
    now.values.clear();
    for (Field& f : elements)
      if (now.elements.size() < 256) now.elements.push_back(std::move(f));
    return;
  }
  Field value = expand_one(a.value);
  special_variable(name, value, a.begin);
  carried(name, value, a.begin);
  if (a.value != kNoShell) grown(a, node);
  Call c;
  c.at = a.begin;
  if (!subscript(value, c) && st_.integers.contains(name)) computes(value.text, c);
  if (a.index != kNoShell) {
    auto at = number(a.index);
    Variable& v = st_.variables[name];
    v.array = true;
    if (at && *at >= 0 && *at < 256) {
      if (v.elements.size() <= static_cast<std::size_t>(*at)) v.elements.resize(static_cast<std::size_t>(*at) + 1);
      Field& element = v.elements[static_cast<std::size_t>(*at)];
      if (a.append) {
        bool fits = element.text.size() + value.text.size() <= kTextCap && spend(element.text.size() + value.text.size());
        value.text = fits ? element.text + value.text : std::string(kUnknown);
        value.known = fits && element.known && value.known;
        value.taint |= element.taint;
      }
      element = std::move(value);
    }
    return;
  }
  set_variable(name, std::move(value), !local && conditional(node), a.append);
}

void Analyser::loop_variable(const ShellNode& n) {
  Variable v;
  for (ShellId w = n.words; w < n.words + n.word_count && v.values.size() < 8; ++w)
    for (Field& f : expand(w)) {
      Call c;
      c.at = n.begin;
      if (f.text.find('*') != std::string::npos) read_path(f, c);  // for f in /etc/*
      if (v.values.size() < 8) v.values.push_back(std::move(f));
    }
  if (v.values.empty() || n.kind == ShellNodeKind::kSelect) v.values.push_back(unknown());
  st_.variables[std::string(n.name)] = std::move(v);
}

void Analyser::evaluate_text(std::string text, const Call& c, Fields arguments) {
  if (depth_ >= 4) {
    construct("nested-evaluation", "code inside code inside code", c);
    return;
  }
  if (text.size() > kTextCap || !spend(text.size() * 4)) return construct("nested-evaluation", "too long to follow", c);
  st_.scripts.push_back(parse_shell(std::move(text)));
  if (st_.scripts.back().nodes.size() > st_.steps) return construct("nested-evaluation", "too much to follow", c);
  st_.steps -= st_.scripts.back().nodes.size();
  Analyser inner(st_, st_.scripts.back(), depth_ + 1, fixed_.value_or(c.at));
  if (!arguments.empty()) inner.set_arguments(std::move(arguments));
  inner.run();
}

bool Analyser::call_function(const std::string& name, Args words) {
  auto it = st_.functions.find(name);
  if (it == st_.functions.end()) return false;
  Function f = it->second;
  if (++it->second.calls > 8 || call_depth_ >= 6) return true;
  const ShellNode& node = f.script->nodes[f.node];
  if (node.after - f.node > st_.steps) {
    st_.exhausted = true;
    return true;
  }
  st_.steps -= node.after - f.node;
  Analyser inner(st_, *f.script, depth_, f.script == &s_ ? fixed_ : std::optional<std::uint32_t>(fixed_.value_or(0)));
  inner.call_depth_ = call_depth_ + 1;
  inner.set_arguments(Fields(words.begin() + 1, words.end()));
  inner.walk(f.node + 1, node.after);
  return true;
}

}  // namespace bash
}  // namespace hotcell
