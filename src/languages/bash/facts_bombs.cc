// Programs that multiply without end: functions and scripts that start themselves in the background or on both sides of
// a pipe, and loops without end that start something each time.
#include "base/strings.h"
#include "languages/bash/facts_analyser.h"
#include "languages/fact_list.h"

namespace hotcell::bash {
namespace {

struct Edges {
  std::map<std::string, int> plain, many;  // whom a body calls, and whom in a way that leaves two running
};

}  // namespace

void Analyser::look_for_bombs() {
  std::vector<ShellId> functions;
  for (ShellId n = 0; n < s_.nodes.size(); ++n)
    if (s_.nodes[n].kind == ShellNodeKind::kFunction) functions.push_back(n);
  std::map<std::string, Edges> graph;
  auto look = [&](ShellId from, ShellId to, Edges& edges) {
    for (ShellId n = from; n < to; ++n) {
      const ShellNode& node = s_.nodes[n];
      if (node.kind != ShellNodeKind::kPipeline) continue;
      std::map<std::string, int> stages_by_name;
      for (ShellId stage : stages(n)) {
        const ShellNode& command = s_.nodes[stage];
        if (command.kind != ShellNodeKind::kSimple || command.word_count == 0) continue;
        auto name = s_.plain(command.words);
        const ShellWord& w = s_.words[command.words];
        bool self = !name && w.count == 1 && s_.parts[w.parts].kind == ShellPartKind::kParameter &&
                    (s_.parts[w.parts].text == "0" || s_.parts[w.parts].text == "BASH_SOURCE");
        if (self) name = "$0";
        if (name && is_shell(base_name(*name)) && command.word_count == 2) {
          const ShellWord& second = s_.words[command.words + 1];
          if (second.count == 1 && s_.parts[second.parts].text == "0") name = "$0";
        }
        if (name && name->size() < 200) ++stages_by_name[*name];
      }
      for (const auto& [name, count] : stages_by_name) {
        ++edges.plain[name];
        if (node.background || count > 1) ++edges.many[name];
        // A group in the background: { f; f; } &
        for (ShellId p = node.parent; p != kNoShell && p > from; p = s_.nodes[p].parent)
          if (s_.nodes[p].kind == ShellNodeKind::kPipeline && s_.nodes[p].background) ++edges.many[name];
      }
    }
  };
  if (functions.size() <= 2000)
    for (ShellId f : functions) look(f + 1, s_.nodes[f].after, graph[std::string(s_.nodes[f].name)]);
  std::size_t steps = 0;
  for (ShellId f : functions) {
    if (functions.size() > 2000) break;
    std::string self(s_.nodes[f].name);
    for (const auto& [callee, count] : graph[self].many) {
      // Does the callee lead back here?
      std::set<std::string> seen{callee};
      std::vector<std::string> left{callee};
      bool back = callee == self;
      while (!back && !left.empty() && ++steps < 20000) {
        std::string at = left.back();
        left.pop_back();
        auto it = graph.find(at);
        if (it == graph.end()) continue;
        for (const auto& [next, n] : it->second.plain) {
          back = back || next == self;
          if (seen.insert(next).second) left.push_back(next);
        }
      }
      Call c;
      c.at = s_.nodes[f].begin;
      if (back) construct("fork-bomb", cat("function ", self, " starts itself again and again"), c);
    }
  }
  Edges top;
  look(0, static_cast<ShellId>(s_.nodes.size()), top);
  if (top.many.contains("$0")) {
    Call c;
    construct("fork-bomb", "the script starts itself again and again", c);
  }
}

// f() { local s="$1$1"; f "$s"; }: the call stands in the body itself, behind nothing that might not happen or end it.
bool Analyser::calls_itself(ShellId function) const {
  const ShellNode& f = s_.nodes[function];
  for (ShellId n = function + 1; n < f.after && n < function + 200; ++n) {
    const ShellNode& node = s_.nodes[n];
    if (node.kind != ShellNodeKind::kSimple || node.word_count == 0) continue;
    auto name = s_.plain(node.words);
    if (name && one_of(*name, " return exit exec break ")) return false;
    if (name && *name == f.name) {
      for (ShellId up = node.parent; up != kNoShell && up != function; up = s_.nodes[up].parent) {
        const ShellNode& p = s_.nodes[up];
        bool plain =
            p.kind == ShellNodeKind::kGroup || (p.kind == ShellNodeKind::kPipeline && p.op == ';' && !p.background);
        if (!plain) return false;
      }
      return true;
    }
  }
  return false;
}

// while [ $i -lt 10 ]; do echo $i; done: a test of variables that the body only reads.
bool Analyser::condition_stays(ShellId node) const {
  const ShellNode& n = s_.nodes[node];
  if (n.kind != ShellNodeKind::kWhile && n.kind != ShellNodeKind::kUntil) return false;
  std::string_view text = s_.text().substr(n.begin, std::min<std::size_t>(n.end - n.begin, 4000));
  std::size_t open = text.find('['), close = text.find(']', open), body = text.find("do", close);
  if (open == text.npos || close == text.npos || body == text.npos || open > 16) return false;
  std::string_view test = text.substr(open, close - open), rest = text.substr(body + 2);
  if (test.find_first_of("`(") != test.npos || test.find(" -") == test.npos || test.find("$") == test.npos)
    return false;
  for (std::string_view op : {" -f ", " -e ", " -d ", " -r ", " -s ", " -S ", " -p ", " -t ", "$#", "$?", "$!", "$1",
                              "$@", "SECONDS", "RANDOM"})
    if (test.find(op) != test.npos) return false;
  for (std::string_view word :
       {"eval", "source", "shift", "read", "getopts", ". ", "let ", "mapfile", "printf -v", "kill", "return", "exec"})
    if (rest.find(word) != rest.npos) return false;
  for (const auto& [name, body_of] : st_.functions)
    if (rest.find(name) != rest.npos) return false;
  bool any = false;
  // while [ $i -gt 0 ]; do i=$((i+1)): each turn leads further away.
  auto moves_away = [&](std::string_view name) {
    bool up = test.find(" -gt ") != test.npos || test.find(" -ge ") != test.npos,
         down = test.find(" -lt ") != test.npos || test.find(" -le ") != test.npos;
    if (n.kind == ShellNodeKind::kUntil) std::swap(up, down);
    std::string body_text;
    for (char ch : rest)
      if (ch != ' ' && ch != '$') body_text += ch;
    std::string set = cat(name, "=");
    std::size_t first = body_text.find(set);
    if (first == std::string::npos || body_text.find(set, first + 1) != std::string::npos) return false;
    std::string_view step = std::string_view(body_text).substr(first + set.size());
    return (up && step.starts_with(cat("((", name, "+"))) || (down && step.starts_with(cat("((", name, "-")));
  };
  for (std::size_t at = test.find('$'); at != test.npos; at = test.find('$', at + 1)) {
    std::size_t begin = at + 1 + (at + 1 < test.size() && test[at + 1] == '{' ? 1 : 0), end = begin;
    while (end < test.size() && is_word_char(test[end])) ++end;
    std::string_view name = test.substr(begin, end - begin);
    if (name.empty()) return false;
    any = true;
    if (moves_away(name)) return true;
    for (std::size_t i = rest.find(name); i != rest.npos; i = rest.find(name, i + 1)) {
      bool whole = (i == 0 || !is_word_char(rest[i - 1])) &&
                   (i + name.size() == rest.size() || !is_word_char(rest[i + name.size()]));
      bool read = i > 0 && (rest[i - 1] == '$' || (rest[i - 1] == '{' && i > 1 && rest[i - 2] == '$'));
      if (whole && !read) return false;
    }
  }
  return any;
}

void Analyser::endless_loop(ShellId node) {
  const ShellNode& n = s_.nodes[node];
  if (n.kind != ShellNodeKind::kWhile && n.kind != ShellNodeKind::kUntil && n.kind != ShellNodeKind::kForArithmetic)
    return;
  bool endless = false, first = true, background = false, ends = false;
  if (n.kind == ShellNodeKind::kForArithmetic && n.word_count == 1) {
    std::string_view head = s_.text().substr(s_.words[n.words].begin, s_.words[n.words].end - s_.words[n.words].begin);
    std::size_t a = head.find(';'), b = head.find(';', a == std::string_view::npos ? a : a + 1);
    std::string_view condition = b == std::string_view::npos ? "x" : trim(head.substr(a + 1, b - a - 1));
    endless = condition.empty() || condition == "1" || condition == "true";
    // i > 0; i++ and i < 9; i--
    std::string_view step = b == std::string_view::npos ? std::string_view() : trim(head.substr(b + 1));
    bool up = step.find("++") != step.npos || step.find("+=") != step.npos,
         down = step.find("--") != step.npos || step.find("-=") != step.npos;
    std::size_t sign = condition.find_first_of("<>");
    if (sign != condition.npos && sign > 0 && step.find(trim(condition.substr(0, sign))) != step.npos)
      endless = endless || (condition[sign] == '>' && up) || (condition[sign] == '<' && down);
    first = false;
  }
  std::size_t seen = 0;
  for (ShellId i = node + 1; i < n.after && ++seen < 500; ++i) {
    const ShellNode& inner = s_.nodes[i];
    if (inner.kind == ShellNodeKind::kPipeline && inner.background) background = true;
    if (first && inner.kind == ShellNodeKind::kArithmetic) {
      const ShellWord& w = s_.words[inner.words];
      endless = w.count == 1 && (trim(s_.parts[w.parts].text) == "1" || trim(s_.parts[w.parts].text) == "true");
      first = false;
    }
    if (inner.kind == ShellNodeKind::kTest && first) first = false;
    if (inner.kind != ShellNodeKind::kSimple || inner.word_count == 0) continue;
    auto name = s_.plain(inner.words);
    if (first) {
      auto argument = inner.word_count > 1 ? s_.plain(inner.words + 1) : std::nullopt;
      std::string_view never = n.kind == ShellNodeKind::kUntil ? " false " : " true : ";
      endless =
          name && (one_of(*name, never) || (*name == "[" && inner.word_count == 3 && argument && *argument != "-n"));
      first = false;
      continue;
    }
    bool waited_for = inner.parent == kNoShell || !s_.nodes[inner.parent].background;
    if (name && waited_for && one_of(*name, " sleep break exit return wait read exec inotifywait nc select usleep "))
      ends = true;
  }
  if (!endless && !ends && seen < 500 && condition_stays(node)) endless = true;
  if (!endless || ends || seen >= 500) return;
  Call c;
  c.at = n.begin;
  c.node = node;
  construct(background ? "fork-bomb" : "endless-loop",
            background ? "a loop without end starts a process each time" : "a loop without end or pause", c);
}

}  // namespace hotcell::bash
