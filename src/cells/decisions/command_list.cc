#include "cells/decisions/command_list.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "cells/decisions/command_lister.h"

namespace hotcell::cells {
namespace {

CommandWord word_of(const ShellScript& s, ShellId id) {
  const ShellWord& w = s.words[id];
  CommandWord out;
  bool open = false, braces = false;
  for (ShellId i = w.parts; i < w.parts + w.count; ++i) {
    const ShellPart& p = s.parts[i];
    switch (p.kind) {
      case ShellPartKind::kLiteral:
        // {1..9} is several words, too
        if (open && !p.quoted && p.text.find("..") != p.text.npos) braces = true;
        out.text += p.text;
        break;
      case ShellPartKind::kBrace:
        if (p.text == "{") open = true;
        if (open && p.text == ",") braces = true;
        out.text += p.text;
        break;
      case ShellPartKind::kParameter:
        out.fixed = false;
        out.text += p.op.empty() && p.index == kNoShell ? cat("$", p.text) : cat("${", p.text, "...}");
        break;
      case ShellPartKind::kGlob:
        if (w.count != 1 || p.text != "[") out.fixed = false;  // alone it is the command `[`
        out.text += p.text;
        break;
      case ShellPartKind::kTilde:
        out.fixed = false;
        out.text += p.text;
        break;
      case ShellPartKind::kCommand:
        out.fixed = false;
        out.text += "$(...)";
        break;
      case ShellPartKind::kProcess:
        out.fixed = false;
        out.text += cat(p.text, "(...)");
        break;
      case ShellPartKind::kArithmetic:
        out.fixed = false;
        out.text += "$((...))";
        break;
    }
  }
  if (braces) out.fixed = false;
  return out;
}

bool is_number_text(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '`'; });
}

bool only_numbers(const ShellScript& s, ShellId word) {
  if (word == kNoShell) return true;
  CommandWord w = word_of(s, word);
  return w.fixed && is_number_text(w.text);
}

bool is_device_of_nobody(std::string_view path) {
  return path == "/dev/null" || path == "/dev/stdout" || path == "/dev/stderr" || path == "/dev/tty" || path.starts_with("/dev/fd/");
}

// What becomes of a folder that is gone to inside a node, once it is over.
enum class Folder : std::uint8_t {
  kStays,  // the shell is there
  kApart,  // a process of its own was
  kMaybe,  // it may not have run
  kLater,  // a function's body
};

Folder folder_of(const ShellScript& s, ShellId i, const std::vector<ShellId>& parts) {
  using Kind = ShellNodeKind;
  const ShellNode& node = s.nodes[i];
  if (node.kind == Kind::kSubshell || node.kind == Kind::kSubstitution || node.kind == Kind::kCoproc) return Folder::kApart;
  if (node.kind == Kind::kPipeline && node.background) return Folder::kApart;
  if (node.parent < s.nodes.size() && s.nodes[node.parent].kind == Kind::kPipeline && parts[node.parent] > 1)
    // The last part is the shell itself in some shells, and in bash when it is told so.
    return node.after == s.nodes[node.parent].after ? Folder::kMaybe : Folder::kApart;
  if (node.kind == Kind::kFunction) return Folder::kLater;
  // Behind && and ||; and what a redirection that fails keeps from being run.
  if ((node.kind == Kind::kPipeline && node.op != ';') || node.redirect_count > 0) return Folder::kMaybe;
  const bool stays = node.kind == Kind::kProgram || node.kind == Kind::kPipeline || node.kind == Kind::kSimple || node.kind == Kind::kGroup;
  return stays ? Folder::kStays : Folder::kMaybe;
}

bool is_going(std::string_view name) { return name == "cd" || name == "pushd" || name == "popd" || name == "command" || name == "builtin"; }
bool is_loop(ShellNodeKind kind) {
  using Kind = ShellNodeKind;
  return kind == Kind::kWhile || kind == Kind::kUntil || kind == Kind::kFor || kind == Kind::kForArithmetic || kind == Kind::kSelect;
}

// Whether each round of a loop may begin elsewhere than the one before.
bool goes_round(const ShellScript& s, ShellId loop, const std::vector<ShellId>& parts) {
  for (ShellId i = loop + 1; i < s.nodes[loop].after && i < s.nodes.size();) {
    const ShellNode& node = s.nodes[i];
    if (folder_of(s, i, parts) == Folder::kApart) {
      i = node.after;
      continue;
    }
    for (ShellId w = node.words; node.kind == ShellNodeKind::kSimple && w < node.words + node.word_count; ++w) {
      const std::string text = word_of(s, w).text;
      if (is_going(text) || text.find("cd ") != text.npos || text.find("pushd") != text.npos || text.find("popd") != text.npos) return true;
    }
    ++i;
  }
  return false;
}

}  // namespace

CommandList CommandLister::take() {
  been_.join(out_.in);
  for (std::size_t i : late_) {
    out_.writes[i].in = been_.shared();
    out_.writes[i].lost = been_.lost();
  }
  return std::move(out_);
}

void CommandLister::writes(CommandWord path, bool redirected) {
  if (later_ > 0) late_.push_back(out_.writes.size());
  out_.writes.push_back({std::move(path), redirected, out_.in.shared(), out_.in.lost()});
}

void CommandLister::leave_later(const Whereabouts& was) {
  if (out_.in == was) return;
  been_.join(out_.in);
  out_.in.join(was);
  out_.in.set_adrift();  // whenever it is run, that is where the shell is
}

void CommandLister::unclear(std::string why) {
  if (!out_.unclear) out_.unclear = std::move(why);
}

// The shell runs code that is in no place where code stands: the value of a variable that is used as a number may have an
// index, and that a command in it; ${x@P} expands its value once more. Whoever writes the line chose those values.
void CommandLister::puzzles(const ShellScript& s) {
  for (const ShellPart& p : s.parts) {
    if (p.kind == ShellPartKind::kArithmetic && !only_numbers(s, p.first)) unclear("arithmetic with variables can run commands");
    if (p.kind != ShellPartKind::kParameter) continue;
    if (p.op == "@" || p.op == "!") unclear(cat("${", p.text, "...} may expand its value once more"));
    if (p.op == ":" && (!only_numbers(s, p.first) || !only_numbers(s, p.second))) unclear("arithmetic with variables can run commands");
    if (p.index != kNoShell) {
      CommandWord index = word_of(s, p.index);
      if (index.text != "@" && index.text != "*" && !only_numbers(s, p.index)) unclear("an index with variables can run commands");
    }
  }
  for (const ShellAssignment& a : s.assignments)
    if (a.index != kNoShell && !only_numbers(s, a.index)) unclear("an index with variables can run commands");
  for (const ShellNode& n : s.nodes) {
    if (n.kind == ShellNodeKind::kArithmetic || n.kind == ShellNodeKind::kForArithmetic) unclear("arithmetic with variables can run commands");
    if (n.kind != ShellNodeKind::kTest) continue;
    static constexpr std::array<std::string_view, 8> kNumeric = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"};
    for (ShellId w = n.words; w < n.words + n.word_count; ++w)
      if (std::find(kNumeric.begin(), kNumeric.end(), word_of(s, w).text) != kNumeric.end()) unclear("[[ ]] takes variables for numbers, which can run commands");
  }
}

void CommandLister::redirects(const ShellScript& s, const ShellNode& node) {
  for (ShellId i = node.redirects; i < node.redirects + node.redirect_count; ++i) {
    const ShellRedirect& r = s.redirects[i];
    using Op = ShellRedirectOp;
    if (r.op == Op::kRead || r.op == Op::kReadDup || r.op == Op::kHereDocument || r.op == Op::kHereString || r.target == kNoShell) continue;
    CommandWord target = word_of(s, r.target);
    bool descriptor = r.op == Op::kWriteDup && target.fixed && (target.text == "-" || parse_u64(target.text.substr(0, target.text.find('-'))));
    if (descriptor || (target.fixed && is_device_of_nobody(target.text))) continue;
    // /dev/tcp and /dev/udp are bash's own, and no files.
    if (target.fixed && (target.text.starts_with("/dev/tcp/") || target.text.starts_with("/dev/udp/"))) unclear("a connection by way of a redirection");
    writes(std::move(target), true);
  }
}

std::optional<std::string> CommandLister::fed(const ShellScript& s, const ShellNode& node) const {
  for (ShellId i = node.redirects; i < node.redirects + node.redirect_count; ++i) {
    const ShellRedirect& r = s.redirects[i];
    ShellId word = kNoShell;
    if (r.op == ShellRedirectOp::kHereString) word = r.target;
    if (r.op == ShellRedirectOp::kHereDocument && r.target < s.here_documents.size()) word = s.here_documents[r.target];
    if (word == kNoShell || r.fd > 0) continue;
    CommandWord text = word_of(s, word);
    if (text.fixed) return text.text;
  }
  return std::nullopt;
}

void CommandLister::simple(const ShellScript& s, const ShellNode& node) {
  std::vector<CommandWord> words;
  bool assigns_only = node.word_count == 0;
  for (ShellId i = node.assignments; i < node.assignments + node.assignment_count; ++i) {
    const ShellAssignment& a = s.assignments[i];
    bool own = assigns_only && ascii_lower(a.name) == a.name && !a.name.ends_with("_proxy");  // a variable of the line's own
    if (own || is_harmless_variable(a.name)) continue;
    CommandWord w{cat(a.name, a.append ? "+=" : "="), true};
    if (a.array) w.text += "(...)", w.fixed = false;
    if (a.value != kNoShell) {
      CommandWord value = word_of(s, a.value);
      w.text += value.text;
      w.fixed = value.fixed;
    }
    words.push_back(std::move(w));
  }
  std::size_t name = words.size();
  if (name + node.word_count > kMostWords) return unclear("a command of too many words");
  for (ShellId i = node.words; i < node.words + node.word_count; ++i) words.push_back(word_of(s, i));
  if (words.empty()) return;
  fed_ = fed(s, node);
  feeds_ = false;
  for (ShellId i = node.redirects; i < node.redirects + node.redirect_count; ++i)
    if (s.redirects[i].op == ShellRedirectOp::kHereDocument || s.redirects[i].op == ShellRedirectOp::kHereString) feeds_ = true;
  command(std::move(words), name);
  fed_.reset();
  feeds_ = false;
}

void CommandLister::script(std::string_view text) {
  if (depth_ >= kDeepest) return unclear("commands within commands, too deep to follow");
  ++depth_;
  ShellScript s = parse_shell(std::string(text));
  if (s.error) unclear(cat("it cannot be read as a shell would: ", printable(s.error->what)));
  if (text.find('\0') != text.npos) unclear("it has a NUL byte");
  puzzles(s);
  // Commands that are parts of a pipeline.
  std::vector<ShellId> parts(s.nodes.size(), 0);
  for (const ShellNode& node : s.nodes)
    if (node.parent < s.nodes.size() && s.nodes[node.parent].kind == ShellNodeKind::kPipeline) ++parts[node.parent];
  struct Entered {
    ShellId after;
    Folder ends;
    Whereabouts was;
  };
  std::vector<Entered> entered;
  auto leave = [&](ShellId next) {
    for (; !entered.empty() && entered.back().after <= next; entered.pop_back()) {
      const Entered& e = entered.back();
      if (e.ends == Folder::kLater) {
        --later_;
        leave_later(e.was);
      } else if (e.ends == Folder::kMaybe) {
        out_.in.join(e.was);
      } else {
        const bool adrift = out_.in.adrift();
        out_.in = e.was;
        if (adrift) out_.in.set_adrift();
      }
    }
  };
  for (ShellId i = 0; i < s.nodes.size(); ++i) {
    const ShellNode& node = s.nodes[i];
    leave(i);
    if (out_.commands.size() >= kMostCommands) {
      unclear("too many commands");
      break;
    }
    redirects(s, node);
    if (Folder ends = folder_of(s, i, parts); ends != Folder::kStays) {
      entered.push_back({node.after, ends, out_.in});
      if (ends == Folder::kLater) ++later_;
    }
    if (node.kind == ShellNodeKind::kFunction && is_going(node.name)) out_.in.set_adrift();
    if (is_loop(node.kind) && goes_round(s, i, parts)) out_.in.lose();
    if (node.kind == ShellNodeKind::kSimple) simple(s, node);
  }
  leave(kNoShell);
  --depth_;
}

void CommandLister::command(std::vector<CommandWord> words, std::size_t name) {
  if (words.empty()) return;
  turns_cd(words, name);
  if (out_.commands.size() >= kMostCommands || depth_ > 2 * kDeepest) return unclear("too many commands");
  std::size_t place = out_.commands.size();
  out_.commands.push_back({words, name, false});
  ++depth_;
  bool passes = name < words.size() && words[name].fixed && inside(words, name);
  --depth_;
  // With LD_PRELOAD or BASH_ENV before it no wrapper is only a wrapper.
  out_.commands[place].passes = passes && name == 0;
}

CommandList list_commands(std::string_view line, Whereabouts in) {
  CommandLister lister(std::move(in));
  lister.script(line);
  return lister.take();
}

std::string command_text(const ListedCommand& command) {
  std::string out;
  for (const auto& word : command.words) out += cat(out.empty() ? "" : " ", word.text);
  return out;
}

std::string shell_quoted(std::string_view word, bool first) {
  static constexpr std::array<std::string_view, 24> kReserved = {"if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
                                                                 "select", "in", "function", "time", "coproc", "{", "}", "!", "[[", "]]", "((", "))"};
  auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || std::string_view("_-./:@%+,").find(c) != std::string_view::npos;
  };
  bool safe = !word.empty() && std::all_of(word.begin(), word.end(), [&](char c) { return plain(c) || (c == '=' && !first); });
  if (safe && !(first && std::find(kReserved.begin(), kReserved.end(), word) != kReserved.end())) return std::string(word);
  std::string out = "'";
  for (char c : word) {
    if (c == '\'') out += "'\\''";
    else out += c;
  }
  return out + "'";
}

}  // namespace hotcell::cells
