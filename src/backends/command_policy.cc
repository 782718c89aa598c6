#include "backends/command_policy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/strings.h"
#include "parse/shell.h"
#include "sys/file.h"

namespace hotcell::backends {
namespace {

using Words = std::vector<std::optional<std::string>>;  // nullopt: known only when it runs

template <std::size_t N>
bool one_of(std::string_view word, const std::array<std::string_view, N>& list) {
  return std::find(list.begin(), list.end(), word) != list.end();
}

// Never meant by a program that does its work in a folder.
constexpr std::array<std::string_view, 30> kBlocked = {"sudo", "su", "doas", "pkexec", "shutdown", "reboot", "halt", "poweroff", "init", "telinit", "mount", "umount",
                                                       "swapon", "swapoff", "insmod", "rmmod", "modprobe", "kexec", "fdisk", "sfdisk", "parted", "wipefs", "blkdiscard", "chroot",
                                                       "nsenter", "unshare", "pivot_root", "useradd", "passwd", "crontab"};
constexpr std::array<std::string_view, 7> kShells = {"sh", "bash", "dash", "zsh", "ksh", "ash", "fish"};
constexpr std::array<std::string_view, 11> kRuns = {"sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "python3", "python", "perl", "node"};
constexpr std::array<std::string_view, 4> kFetches = {"curl", "wget", "fetch", "aria2c"};
// What only goes before another command.
constexpr std::array<std::string_view, 13> kBefore = {"env", "nice", "ionice", "nohup", "timeout", "stdbuf", "setsid", "time", "command", "exec", "builtin", "xargs", "busybox"};
// Of the shell itself, without effect outside of it.
constexpr std::array<std::string_view, 24> kOwn = {":", "true", "false", "cd", "pwd", "echo", "printf", "exit", "return", "set", "shift", "local", "export", "unset", "readonly",
                                                   "declare", "test", "[", "[[", "break", "continue", "wait", "read", "let"};
constexpr std::array<std::string_view, 39> kLooks = {"ls", "cat", "head", "tail", "grep", "egrep", "fgrep", "rg", "find", "wc", "which", "stat", "du", "df", "tree", "sort", "uniq", "cut", "tr", "diff",
                                                     "cmp", "comm", "basename", "dirname", "realpath", "readlink", "date", "whoami", "id", "uname", "printenv", "sleep", "seq", "nl", "od", "md5sum",
                                                     "sha1sum", "sha256sum", "git"};
constexpr std::array<std::string_view, 9> kGitLooks = {"status", "log", "diff", "show", "blame", "rev-parse", "ls-files", "describe", "shortlog"};
constexpr std::array<std::string_view, 21> kMutates = {"tee", "rm", "rmdir", "mv", "cp", "ln", "touch", "mkdir", "truncate", "dd", "install", "chmod", "chown", "chgrp", "mkfifo", "mknod",
                                                       "shred", "unlink", "rename", "patch", "rsync"};
constexpr std::string_view kTasks = "node npm npx yarn pnpm bun git ls cat head tail grep find wc echo pwd which env mkdir cp mv touch tsc eslint prettier jest vitest mocha";

std::string base_name(std::string_view path) { return std::string(path.substr(path.rfind('/') + 1)); }

// A name that decides what another name means, or what is run beside the program.
bool is_steering(std::string_view name) {
  return name == "PATH" || name == "IFS" || name == "ENV" || name == "BASH_ENV" || name == "PROMPT_COMMAND" || name == "NODE_OPTIONS" || name == "PAGER" || name == "EDITOR" ||
         name.starts_with("LD_") || name.starts_with("GIT_") || name.starts_with("PYTHON") || name.starts_with("PERL");
}

// The root, a folder directly below it or all that is in one, somebody's home: nothing that a task owns. `..` is followed as text.
bool is_far(std::string_view path) {
  if (path.starts_with('~') || path == "..") return true;
  if (!path.starts_with('/')) return false;
  std::vector<std::string_view> parts;
  for (auto part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    if (part == ".." && !parts.empty()) parts.pop_back();
    else if (part != "..") parts.push_back(part);
  }
  if (parts.size() != 2) return parts.size() < 2;
  return parts[0] != "tmp" && parts[0] != "work" && parts[1].find_first_of("*?[") != parts[1].npos;
}

bool has_flag(const Words& words, char letter, std::string_view longer) {
  return std::any_of(words.begin() + 1, words.end(), [&](const auto& w) {
    if (!w || !w->starts_with('-') || w->size() < 2) return false;
    if ((*w)[1] == '-') return w->size() > 3 && longer.starts_with(std::string_view(*w).substr(2, w->find('=') == w->npos ? w->npos : w->find('=') - 2));
    return w->find(letter, 1) != w->npos;
  });
}

std::vector<std::string> operands(const Words& words) {
  std::vector<std::string> out;
  bool all = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "--" && !all) all = true;
    else if (words[i] && (all || !words[i]->starts_with('-') || words[i] == "-")) out.push_back(*words[i]);
  }
  return out;
}

// Each takes a copy of the rest: env env env … of a whole command line would take minutes.
constexpr int kMostBefore = 32;
// Of all scripts together, those in scripts counted again; a file that reads itself would otherwise never end.
constexpr std::size_t kMostText = 4 << 20;
constexpr std::size_t kMostScript = 1 << 20;
constexpr std::size_t kMostFilled = 64 << 10;  // x=$x$x doubles
constexpr std::size_t kMostUnread = 8;

class Judge {
 public:
  Judge(const CommandPolicy& policy, const ScriptReader& read) : policy_(policy), read_(read) {}

  CommandVerdict take() { return std::move(verdict_); }

  void command(Words words, int depth = 0) {
    // What stands before another command is looked at with it, not instead of it.
    for (int before = 0; !words.empty() && words[0] && one_of(base_name(*words[0]), kBefore); ++before) {
      if (before == kMostBefore) return refuse("unreadable", "more commands one before the other than anybody needs");
      Words inner = behind(words);
      if (inner.empty()) break;
      if (base_name(*words[0]) == "xargs") {
        if (policy_.keep_files) refuse("file_mutation", "xargs: what it is given is known only when it runs");
        if (inner[0] && (is_deep(inner) || one_of(base_name(*inner[0]), kShells))) unread(cat("xargs: what ", base_name(*inner[0]), " is given"));
      }
      words = std::move(inner);
    }
    if (words.empty()) return;
    if (!words[0]) {
      if (policy_.mode != ShellMode::kFull) refuse("unreadable", "a command whose name is known only when it runs");
      return unread("a command whose name is known only then");
    }
    const std::string name = base_name(*words[0]);
    never_meant(name, words);
    if (policy_.keep_files) mutation(name, words);
    if (one_of(name, kShells)) return shell(name, words, depth);
    if (name == "eval" || name == "source" || name == "." || name == "trap" || name == "alias") {
      if (policy_.mode != ShellMode::kFull) return refuse("unreadable", cat(name, ": code that is not in sight"));
      return hidden(name, words, depth);
    }
    if (name == "cd" || name == "pushd") enter(words);
    if (name == "export" || name == "local" || name == "readonly" || name == "declare" || name == "typeset" || name == "read" || name == "unset") named(words);
    if (functions_.contains(name) || one_of(name, kOwn)) return;
    // A script that is started by its own name.
    if (words[0]->find('/') != words[0]->npos)
      if (auto text = read(*words[0]); text && text->starts_with("#!") && one_of(interpreter(*text), kShells)) {
        if (policy_.mode == ShellMode::kDisabled) return refuse("shell", cat(name, ": no shell is started here"));
        script(*std::move(text), depth + 1);
      }
    if (policy_.mode == ShellMode::kReadOnly) read_only(name, words);
    if (policy_.mode == ShellMode::kTaskScoped && std::find(policy_.allowed.begin(), policy_.allowed.end(), name) == policy_.allowed.end())
      refuse("not_allowed", cat(name, " is not one of the commands of this task"));
  }

  void script(std::string text, int depth) {
    if (!verdict_.allowed) return;  // nothing in it makes that better
    if (depth > 8) return refuse("unreadable", "shells in shells");
    text_ += text.size() + 64;
    if (text_ > kMostText) return refuse("unreadable", "more text of scripts than anybody needs");
    ShellScript s = parse_shell(std::move(text));
    if (s.error && policy_.mode != ShellMode::kFull) return refuse("unreadable", cat("the script cannot be read: ", s.error->what));
    if (s.error) unread(cat("the script from byte ", s.error->at, " on: ", s.error->what));
    for (const auto& node : s.nodes)
      if (node.kind == ShellNodeKind::kFunction) functions_.insert(std::string(node.name));
    std::map<ShellId, std::string> outer_input = std::exchange(input_, {});
    std::vector<std::pair<ShellId, std::string>> outside;  // where a subshell ends, and the folder it was started in
    for (ShellId i = 0; i < s.nodes.size(); ++i) {
      for (; !outside.empty() && i >= outside.back().first; outside.pop_back()) folder_ = outside.back().second;
      if (s.nodes[i].kind == ShellNodeKind::kSubshell || s.nodes[i].kind == ShellNodeKind::kSubstitution) outside.emplace_back(s.nodes[i].after, folder_);
      node(s, i, depth);
    }
    if (!outside.empty()) folder_ = outside.front().second;
    input_ = std::move(outer_input);
  }

 private:
  void refuse(std::string_view category, std::string reason) {
    if (!verdict_.allowed) return;
    verdict_.allowed = false;
    verdict_.category = std::string(category);
    verdict_.reason = std::move(reason);
  }

  void unread(std::string what) {
    auto& list = verdict_.unread;
    if (list.size() < kMostUnread && std::find(list.begin(), list.end(), what) == list.end()) list.push_back(std::move(what));
  }

  std::optional<std::string> read(const std::string& path) const { return read_ ? read_(path) : std::nullopt; }

  // "#!/usr/bin/env -S bash -e" → bash
  static std::string interpreter(std::string_view text) {
    auto words = split(text.substr(2, std::min(text.find('\n'), text.size()) - 2), ' ');
    std::string found;
    for (auto word : words) {
      word = trim(word);
      if (word.empty() || word.starts_with('-')) continue;
      found = base_name(word);
      if (found != "env") break;
    }
    return found;
  }

  // All of it when every word is known.
  static std::optional<std::string> joined(const Words& words, std::size_t from) {
    std::string out;
    for (std::size_t i = from; i < words.size(); ++i) {
      if (!words[i]) return std::nullopt;
      out += cat(i == from ? "" : " ", *words[i]);
    }
    return out;
  }

  // Code in words or in another file.
  void hidden(const std::string& name, const Words& words, int depth) {
    if (name == "eval") {
      auto text = joined(words, 1);
      return text ? script(*std::move(text), depth + 1) : unread("eval of what is known only then");
    }
    if (words.size() < 2 || name == "alias") return name == "alias" && words.size() > 1 ? unread("alias: another meaning of a name") : void();
    if (name == "trap") return words[1] ? script(*words[1], depth + 1) : unread("trap of what is known only then");
    auto text = words[1] ? read(at(*words[1])) : std::nullopt;
    return text ? script(*std::move(text), depth + 1) : unread(cat(name, " ", words[1].value_or("…"), ": a script that is not in sight"));
  }

  // As far as it is known where the script has gone. Without that a relative name is the task's own.
  std::string at(const std::string& path) const { return folder_.empty() || path.starts_with('/') || path.starts_with('~') ? path : cat(folder_, folder_.ends_with('/') ? "" : "/", path); }
  void enter(const Words& words) {
    auto places = operands(words);
    bool known = words.size() > 1 && std::all_of(words.begin(), words.end(), [](const auto& w) { return w.has_value(); });
    folder_ = known && places.size() == 1 && places[0] != "-" ? at(places[0]) : std::string();
    if (!folder_.starts_with('/') && !folder_.starts_with('~')) folder_.clear();
  }

  // export A=b, read A: what is said of a variable by a command.
  void named(const Words& words) {
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (!words[i]) continue;
      auto equals = words[i]->find('=');
      if (equals == words[i]->npos) {
        if (words[0] == "read" || words[0] == "unset") values_.erase(*words[i]);
      } else {
        values_[words[i]->substr(0, equals)] = words[i]->substr(equals + 1);
      }
    }
  }

  // What `$(echo …)` says, where that is all there is in it.
  std::optional<std::string> said_inside(const ShellScript& s, ShellId i) const {
    std::optional<std::string> out;
    for (ShellId c = i + 1; c < s.nodes[i].after; ++c) {
      if (s.nodes[c].kind == ShellNodeKind::kPipeline) continue;
      if (s.nodes[c].kind != ShellNodeKind::kSimple || out) return std::nullopt;
      out = said_by(words_of(s, s.nodes[c]));
      if (!out || s.nodes[c].redirect_count > 0) return std::nullopt;
    }
    return out;
  }
  static std::optional<std::string> said_by(const Words& words) {
    if (words.size() < 2 || !words[0]) return std::nullopt;
    const std::string name = base_name(*words[0]);
    if (name == "echo") return joined(words, words[1] && (words[1] == "-n" || words[1] == "-e") ? 2 : 1);
    if (name == "printf" && words.size() == 2 && words[1] && words[1]->find_first_of("%\\") == words[1]->npos) return words[1];
    if (name == "printf" && words.size() == 3 && (words[1] == "%s" || words[1] == "%s\\n")) return words[2];
    return std::nullopt;
  }

  // A word with variables that were given a value in sight, as what they say.
  std::optional<std::string> filled(const ShellScript& s, const ShellWord& word) const {
    std::string out;
    for (ShellId p = word.parts; p < word.parts + word.count; ++p) {
      const ShellPart& part = s.parts[p];
      if (part.kind == ShellPartKind::kParameter) {
        auto it = values_.find(std::string(part.text));
        if (!part.op.empty() || part.index != kNoShell || it == values_.end()) return std::nullopt;
        out += it->second;
      } else if (part.kind == ShellPartKind::kCommand) {
        auto said = part.node == kNoShell ? std::nullopt : said_inside(s, part.node);
        if (!said) return std::nullopt;
        out += *said;
      } else if (part.kind == ShellPartKind::kProcess || part.kind == ShellPartKind::kArithmetic) {
        return std::nullopt;
      } else {
        out += part.text;
      }
      if (part.kind != ShellPartKind::kLiteral && out.size() > kMostFilled) return std::nullopt;
    }
    return out;
  }

  Words words_of(const ShellScript& s, const ShellNode& n) const {
    Words out;
    for (ShellId w = n.words; w < n.words + n.word_count; ++w) {
      // A tilde is a place of its own, whatever it stands for.
      const auto& word = s.words[w];
      auto text = s.plain(w);
      if (!text && word.count > 0 && s.parts[word.parts].kind == ShellPartKind::kTilde) text = s.text().substr(word.begin, word.end - word.begin);
      // Patterns say where they look: /* is the root's.
      bool glob = !text;
      for (ShellId p = word.parts; p < word.parts + word.count; ++p) glob = glob && (s.parts[p].kind == ShellPartKind::kLiteral || s.parts[p].kind == ShellPartKind::kGlob);
      if (glob) text = s.text().substr(word.begin, word.end - word.begin);
      if (!text) {
        text = filled(s, word);
        // What is not quoted becomes as many words as it has.
        if (text && word.count == 1 && !s.parts[word.parts].quoted && text->find_first_of(" \t\n") != text->npos) {
          for (auto piece : split(*text, ' '))
            if (!trim(piece).empty()) out.emplace_back(std::string(trim(piece)));
          continue;
        }
      }
      out.push_back(std::move(text));
    }
    return out;
  }

  void node(const ShellScript& s, ShellId i, int depth) {
    const ShellNode& n = s.nodes[i];
    if (n.kind == ShellNodeKind::kPipeline) pipeline(s, i);
    if (n.kind == ShellNodeKind::kFunction) bomb(s, i);
    for (ShellId a = n.assignments; a < n.assignments + n.assignment_count; ++a)
      if (is_steering(s.assignments[a].name) && (policy_.mode == ShellMode::kReadOnly || policy_.mode == ShellMode::kTaskScoped))
        refuse("unreadable", cat(s.assignments[a].name, ": decides what other words mean"));
    if (n.kind == ShellNodeKind::kFor || n.kind == ShellNodeKind::kSelect) values_.erase(std::string(n.name));
    // Before a command it is that command's alone.
    for (ShellId a = n.assignments; a < n.assignments + n.assignment_count && n.word_count == 0; ++a) {
      const auto& set = s.assignments[a];
      auto value = set.array || set.append || set.index != kNoShell || set.value == kNoShell ? std::nullopt : filled(s, s.words[set.value]);
      if (value) values_[std::string(set.name)] = *std::move(value);
      else values_.erase(std::string(set.name));
    }
    for (ShellId r = n.redirects; r < n.redirects + n.redirect_count; ++r) redirect(s, s.redirects[r]);
    if (n.kind != ShellNodeKind::kSimple || n.word_count == 0) return;
    Words words = words_of(s, n);
    if (words[0] && (one_of(base_name(*words[0]), kRuns) || words[0] == "eval" || words[0] == "source" || words[0] == ".") && fetched_inside(s, i))
      refuse("blocked_command", cat(*words[0], " runs what the network says"));
    given_.reset();
    if (auto piped = input_.find(i); piped != input_.end()) given_ = piped->second;
    for (ShellId r = n.redirects; r < n.redirects + n.redirect_count; ++r) {
      const auto& from = s.redirects[r];
      if (from.op == ShellRedirectOp::kHereString && from.target != kNoShell) given_ = filled(s, s.words[from.target]);
      if (from.op != ShellRedirectOp::kHereDocument || from.target >= s.here_documents.size() || s.here_documents[from.target] == kNoShell) continue;
      given_ = filled(s, s.words[s.here_documents[from.target]]);
    }
    command(std::move(words), depth);
    given_.reset();
  }

  void redirect(const ShellScript& s, const ShellRedirect& r) {
    using Op = ShellRedirectOp;
    if (r.op == Op::kRead || r.op == Op::kReadDup || r.op == Op::kHereDocument || r.op == Op::kHereString || r.target == kNoShell) return;
    auto to = s.plain(r.target);
    if (r.op == Op::kWriteDup && to && (to == "-" || to->find_first_not_of("0123456789-") == to->npos)) return;
    if (to && (to == "/dev/null" || to == "/dev/stdout" || to == "/dev/stderr" || to == "/dev/tty")) return;
    verdict_.writes = true;
    if (to && to->starts_with("/dev/")) refuse("blocked_command", cat("writes to the device ", printable(*to)));
    if (policy_.keep_files || policy_.mode == ShellMode::kReadOnly)
      refuse(policy_.keep_files ? "file_mutation" : "not_read_only", cat("writes to ", to ? printable(*to) : std::string("a file that is known only when it runs")));
  }

  // What is fetched and then run, with nothing but a pipe between.
  void pipeline(const ShellScript& s, ShellId i) {
    bool fetched = false;
    std::optional<std::string> said;
    for (ShellId c = i + 1; c < s.nodes[i].after; ++c) {
      if (s.nodes[c].parent == i && s.nodes[c].kind != ShellNodeKind::kSimple) said.reset();
      if (s.nodes[c].parent != i || s.nodes[c].kind != ShellNodeKind::kSimple) continue;
      Words words = words_of(s, s.nodes[c]);
      if (said) input_[c] = *said;
      said = said_by(words);
      for (int before = 0; before < kMostBefore && !words.empty() && words[0] && (one_of(base_name(*words[0]), kBefore) || words[0] == "sudo"); ++before) {
        Words inner = behind(words);
        if (inner.empty()) break;
        words = std::move(inner);
      }
      if (words.empty() || !words[0]) continue;
      if (fetched && one_of(base_name(*words[0]), kRuns)) refuse("blocked_command", cat(*words[0], " runs what the network says"));
      fetched = fetched || one_of(base_name(*words[0]), kFetches);
    }
  }

  static bool fetched_inside(const ShellScript& s, ShellId i) {
    for (ShellId c = i + 1; c < s.nodes[i].after; ++c) {
      if (s.nodes[c].kind != ShellNodeKind::kSimple || s.nodes[c].word_count == 0) continue;
      if (auto name = s.plain(s.nodes[c].words); name && one_of(base_name(*name), kFetches)) return true;
    }
    return false;
  }

  // A function that starts itself beside itself never ends.
  void bomb(const ShellScript& s, ShellId i) {
    for (ShellId c = i + 1; c < s.nodes[i].after; ++c) {
      if (s.nodes[c].kind != ShellNodeKind::kSimple || s.nodes[c].word_count == 0 || s.plain(s.nodes[c].words) != std::string(s.nodes[i].name)) continue;
      for (ShellId up = s.nodes[c].parent; up != kNoShell && up > i; up = s.nodes[up].parent)
        if (s.nodes[up].kind == ShellNodeKind::kPipeline && (s.nodes[up].background || s.nodes[up].after > c + 1 || up + 1 < c))
          return refuse("blocked_command", "a function that starts itself again and again");
    }
  }

  // The command behind one of kBefore: its options and their values passed over.
  static Words behind(const Words& words) {
    const std::string name = words[0] ? base_name(*words[0]) : "";
    constexpr std::array<std::string_view, 16> kTakes = {"-n", "-u", "-C", "-k", "-s", "-c", "-I", "-L", "-P", "-d", "-a", "-i", "-o", "-e", "-E", "-g"};
    std::size_t i = 1;
    for (; i < words.size(); ++i) {
      if (!words[i]) return {words.begin() + static_cast<std::ptrdiff_t>(i), words.end()};
      const std::string& w = *words[i];
      if (w == "--") {
        ++i;
        break;
      }
      if (name == "command" && (w == "-v" || w == "-V")) return {};
      if (w.starts_with('-') && w.size() > 1) {
        bool separate = one_of(w, kTakes) && !(name == "env" && w == "-i") && name != "command" && name != "exec" && name != "setsid";
        i += separate ? 1 : 0;
      } else if (!(name == "env" && w.find('=') != w.npos)) {
        break;
      }
    }
    if (name == "timeout" && i < words.size()) ++i;  // how long
    return i < words.size() ? Words(words.begin() + static_cast<std::ptrdiff_t>(i), words.end()) : Words{};
  }

  // Removes, or changes, all below what it is given.
  static bool is_deep(const Words& words) {
    const std::string name = words[0] ? base_name(*words[0]) : "";
    return (name == "rm" || name == "chmod" || name == "chown" || name == "chgrp") && (has_flag(words, 'r', "recursive") || has_flag(words, 'R', "recursive"));
  }

  void never_meant(const std::string& name, const Words& words) {
    if (one_of(name, kBlocked) || name.starts_with("mkfs") || std::find(policy_.blocked.begin(), policy_.blocked.end(), name) != policy_.blocked.end())
      return refuse("blocked_command", cat(name, " is not run here"));
    auto places = operands(words);
    if ((name == "chmod" || name == "chown" || name == "chgrp") && !places.empty()) places.erase(places.begin());  // to what, not of what
    for (auto& p : places) p = at(p);
    auto far = std::find_if(places.begin(), places.end(), [](const std::string& p) { return is_far(p); });
    const bool deep = is_deep(words);
    if (deep && far != places.end()) return refuse("blocked_command", cat(name, " of all below ", printable(*far)));
    if (deep && std::any_of(words.begin(), words.end(), [](const auto& w) { return !w; })) unread(cat("what ", name, " is given"));
    if (name == "find" && far != places.end())
      for (const auto& w : words)
        if (w && (*w == "-delete" || w->starts_with("-exec") || w->starts_with("-ok"))) return refuse("blocked_command", cat("find ", *w, " over ", printable(*far)));
    if (name == "dd" || name == "shred")
      for (const auto& w : words)
        if (w && (w->starts_with("of=/dev/") || (name == "shred" && w->starts_with("/dev/"))) && *w != "of=/dev/null") return refuse("blocked_command", cat(name, " to a device"));
  }

  void mutation(const std::string& name, const Words& words) {
    bool in_place = (name == "sed" || name == "perl") && has_flag(words, 'i', "in-place");
    bool inner = (name == "awk" || name == "gawk") && has_flag(words, 'i', "include");
    bool found = name == "find" && std::any_of(words.begin(), words.end(), [](const auto& w) { return w && (*w == "-delete" || w->starts_with("-exec") || w->starts_with("-ok") || w->starts_with("-fprint") || *w == "-fls"); });
    if (!one_of(name, kMutates) && !in_place && !inner && !found) return;
    verdict_.writes = true;
    refuse("file_mutation", cat(name, " changes files"));
  }

  void read_only(const std::string& name, const Words& words) {
    if (!one_of(name, kLooks)) return refuse("not_read_only", cat(name, " is not known to only look"));
    auto is = [&](auto fits) { return std::any_of(words.begin() + 1, words.end(), [&](const auto& w) { return !w ? false : fits(std::string_view(*w)); }); };
    bool writes = (name == "find" && is([](auto w) { return w == "-delete" || w.starts_with("-exec") || w.starts_with("-ok") || w.starts_with("-fprint") || w == "-fls"; })) ||
                  ((name == "sort" || name == "tree") && has_flag(words, 'o', "output")) || (name == "date" && has_flag(words, 's', "set")) ||
                  (name == "uniq" && operands(words).size() > 1) || (name == "rg" && is([](auto w) { return w.starts_with("--pre"); }));
    if (name == "git") {
      auto order = operands(words);
      writes = order.empty() || !one_of(order[0], kGitLooks) || is([](auto w) { return w == "-c" || w.starts_with("--output") || w.starts_with("--exec") || w.starts_with("--ext-diff") || w == "-O"; });
    }
    if (writes) refuse("not_read_only", cat(name, ": with these words it does more than look"));
  }

  void shell(const std::string& name, const Words& words, int depth) {
    if (policy_.mode == ShellMode::kDisabled) return refuse("shell", cat(name, ": no shell is started here"));
    if (depth > 8) return refuse("unreadable", "shells in shells");
    std::optional<std::string> input = std::exchange(given_, std::nullopt);
    std::size_t operand = words.size();
    for (std::size_t i = 1; i < words.size(); ++i) {
      operand = i;
      if (!words[i]) break;
      const std::string& w = *words[i];
      if (w == "-") {
        operand = i + 1;
        break;
      }
      if (!w.starts_with('-') && !w.starts_with('+')) break;
      operand = words.size();
      if (w == "-s") break;
      if (w.starts_with("--") || w.find('c') == w.npos) {
        i += w == "-o" || w == "+o" || w == "-O" || w == "+O" || w == "--rcfile" || w == "--init-file" ? 1 : 0;
        continue;
      }
      std::size_t from = i + 1;
      while (from < words.size() && words[from] && words[from]->starts_with('-')) ++from;
      if (from < words.size() && words[from]) return script(*words[from], depth + 1);
      operand = std::min(from, words.size());
      break;
    }
    // A file, or what it is given to read.
    std::optional<std::string> text = operand >= words.size() ? std::move(input) : words[operand] ? read(at(*words[operand])) : std::nullopt;
    if (text) return script(*std::move(text), depth + 1);
    if (policy_.mode != ShellMode::kFull) refuse("unreadable", cat(name, ": a script that is not in sight"));
    unread(cat(name, operand >= words.size() ? ": what it reads as its input" : ": a script that is not in sight"));
  }

  const CommandPolicy& policy_;
  const ScriptReader& read_;
  CommandVerdict verdict_;
  std::set<std::string> functions_;
  std::map<std::string, std::string> values_;  // of variables, in the order of the text
  std::map<ShellId, std::string> input_;       // of commands behind a pipe: what comes out of it
  std::optional<std::string> given_;           // input of the command that is looked at
  std::string folder_;                         // where `cd` has led; empty: not known, or not away
  std::size_t text_ = 0;
};

std::optional<std::string> text_of(int fd) {
  struct stat st {};
  if (::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || static_cast<std::size_t>(st.st_size) > kMostScript) return std::nullopt;
  std::string text(static_cast<std::size_t>(st.st_size), '\0');
  ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  if (got < 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(got));
  return text;
}

std::vector<std::string> list_of(std::string_view text) {
  std::vector<std::string> out;
  for (auto word : split(text, ' '))
    if (!word.empty()) out.emplace_back(word);
  return out;
}

}  // namespace

Result<CommandPolicy> command_policy(const Settings& settings) {
  CommandPolicy out;
  const std::string shell = settings.get("basic.shell"), writes = settings.get("basic.writes");
  if (shell == "disabled") out.mode = ShellMode::kDisabled;
  else if (shell == "read_only") out.mode = ShellMode::kReadOnly;
  else if (shell == "task_scoped") out.mode = ShellMode::kTaskScoped;
  else if (shell != "full") return make_error(ErrorCode::kInvalid, cat("basic.shell: ", printable(shell), " is not one of disabled, read_only, task_scoped, full"));
  if (writes != "off" && writes != "block_file_mutation") return make_error(ErrorCode::kInvalid, cat("basic.writes: ", printable(writes), " is not one of off, block_file_mutation"));
  out.keep_files = writes == "block_file_mutation";
  out.allowed = list_of(settings.said("basic.allow") ? settings.get("basic.allow") : std::string(kTasks));
  out.blocked = list_of(settings.get("basic.block"));
  return out;
}

CommandVerdict judge_command(const std::vector<std::string>& argv, const CommandPolicy& policy, const ScriptReader& read) {
  Judge judge(policy, read);
  judge.command(Words(argv.begin(), argv.end()));
  return judge.take();
}

Result<CommandVerdict> judge_request(const Request& request, const Settings& settings) {
  TRY_SET(CommandPolicy policy, command_policy(settings));
  return judge_command(request.argv, policy, [&](const std::string& path) -> std::optional<std::string> {
    std::string full = path.starts_with('/') ? path : cat(request.workdir.empty() ? "/work" : request.workdir, "/", path.starts_with("./") ? path.substr(2) : path);
    for (const auto& file : request.files) {
      if (full != cat("/work/", file.name)) continue;
      if (const auto* bytes = std::get_if<std::string>(&file.content)) return bytes->size() > kMostScript ? std::nullopt : std::optional(*bytes);
      return text_of(std::get<int>(file.content));
    }
    auto opened = sys::open(full.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY);
    return opened.ok() ? text_of(opened.value().get()) : std::nullopt;
  });
}

}  // namespace hotcell::backends
