#include "parse/shell.h"

#include "base/strings.h"
#include "parse/shell_parser.h"

namespace hotcell {

ShellParser::ShellParser(std::string text) {
  s_.texts.push_back(std::move(text));
  std::string_view t = s_.texts.front();
  // bash drops NUL bytes and goes on, so a name with one in it is another name than it looks.
  std::size_t nul = t.find('\0');
  c_.text = t;
  c_.end = static_cast<std::uint32_t>(std::min(nul, t.size()));
}

ShellScript ShellParser::run() {
  ShellId program = open(ShellNodeKind::kProgram);
  list();
  if (!at_end()) unexpected_here();
  if (!failed_ && !pending_.empty()) fail("here-document is not finished");
  if (!failed_ && c_.end < s_.texts.front().size()) fail("a NUL byte in the text");
  close(program);
  return std::move(s_);
}

bool ShellParser::looking_at(std::string_view s) const {
  return !failed_ && c_.pos + s.size() <= c_.end && c_.text.substr(c_.pos, s.size()) == s;
}

void ShellParser::fail_at(std::uint32_t at, std::string_view what) {
  if (!failed_) s_.error = ShellError{at, std::string(what)};
  failed_ = true;
}

void ShellParser::skip_blanks() {
  for (;;) {
    if (shell_blank(cur()))
      ++c_.pos;
    else if (cur() == '\\' && peek(1) == '\n')
      c_.pos += 2;
    else
      break;
  }
  if (cur() == '#')
    while (!at_end() && cur() != '\n') ++c_.pos;
}

void ShellParser::skip_newlines() {
  skip_blanks();
  while (cur() == '\n') {
    newline();
    skip_blanks();
  }
}

void ShellParser::newline() {
  ++c_.pos;
  std::vector<Pending> pending;
  pending.swap(pending_);
  for (const Pending& p : pending)
    if (!failed_) read_here_document(p);
}

void ShellParser::read_here_document(const Pending& p) {
  std::uint32_t begin = c_.pos, stop = kNoShell;
  std::uint32_t at = begin;
  while (at < c_.end) {
    std::size_t nl = c_.text.find('\n', at);
    auto line_end = static_cast<std::uint32_t>(std::min<std::size_t>(nl, c_.end));
    std::string_view line = slice(at, line_end);
    if (p.strip_tabs)
      while (line.starts_with('\t')) line.remove_prefix(1);
    std::uint32_t next = std::min(line_end + 1, c_.end);
    if (line == p.delimiter) {
      stop = at;
      at = next;
      break;
    }
    at = next;
  }
  // A shell would run it with a warning; where the text ends is then not what its writer thought.
  if (stop == kNoShell) return fail("here-document is not finished");
  Parts parts;
  if (p.quoted) {
    ShellPart body{.kind = ShellPartKind::kLiteral, .quoted = true, .begin = place(begin), .end = place(stop)};
    body.text = slice(begin, stop);
    if (p.strip_tabs) {
      std::string text;
      bool line_start = true;
      for (char c : body.text) {
        if (!(line_start && c == '\t')) text += c;
        line_start = c == '\n' || (line_start && c == '\t');
      }
      body.text = keep(std::move(text));
    }
    parts.push_back(body);
  } else {
    std::uint32_t end = c_.end;
    c_.end = stop;
    read_parts(Mode::kHere, "", parts);
    c_.end = end;
  }
  s_.here_documents[p.slot] = store(ShellWord{place(begin), place(stop), 0, 0}, parts);
  c_.pos = at;
}

ShellId ShellParser::open(ShellNodeKind kind) {
  ShellNode n;
  n.kind = kind;
  n.begin = here();
  s_.nodes.push_back(n);
  return static_cast<ShellId>(s_.nodes.size() - 1);
}

void ShellParser::close(ShellId node) {
  // Parents are filled in here: the nodes inside that nobody has claimed yet are this one's children.
  auto after = static_cast<ShellId>(s_.nodes.size());
  s_.nodes[node].after = after;
  s_.nodes[node].end = std::max(s_.nodes[node].begin, here());
  for (ShellId n = node + 1; n < after; n = s_.nodes[n].after) s_.nodes[n].parent = node;
}

void ShellParser::close(ShellId node, Lists& lists) {
  ShellNode& n = s_.nodes[node];
  auto move_all = [](auto& from, auto& to, ShellId& first, ShellId& count) {
    first = static_cast<ShellId>(to.size());
    count = static_cast<ShellId>(from.size());
    to.insert(to.end(), from.begin(), from.end());
  };
  move_all(lists.words, s_.words, n.words, n.word_count);
  move_all(lists.assignments, s_.assignments, n.assignments, n.assignment_count);
  move_all(lists.redirects, s_.redirects, n.redirects, n.redirect_count);
  close(node);
}

ShellId ShellParser::store(ShellWord word, const Parts& parts) {
  word.parts = static_cast<ShellId>(s_.parts.size());
  word.count = static_cast<ShellId>(parts.size());
  s_.parts.insert(s_.parts.end(), parts.begin(), parts.end());
  s_.words.push_back(word);
  return static_cast<ShellId>(s_.words.size() - 1);
}

std::string_view ShellParser::keep(std::string text) {
  s_.texts.push_back(std::move(text));
  return s_.texts.back();
}

std::optional<std::string> ShellScript::plain(ShellId word) const {
  std::string out;
  const ShellWord& w = words[word];
  for (ShellId i = w.parts; i < w.parts + w.count; ++i) {
    const ShellPart& p = parts[i];
    bool bracket = p.kind == ShellPartKind::kGlob && w.count == 1;  // the command `[`
    if (p.kind != ShellPartKind::kLiteral && p.kind != ShellPartKind::kBrace && !bracket) return std::nullopt;
    out += p.text;
  }
  return out;
}

ShellScript parse_shell(std::string text) { return ShellParser(std::move(text)).run(); }

}  // namespace hotcell
