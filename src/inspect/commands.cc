#include "inspect/commands.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/strings.h"
#include "inspect/command_tools.h"
#include "inspect/command_words.h"
#include "inspect/decode.h"
#include "inspect/hosts.h"
#include "parse/shell.h"

namespace hotcell::inspect {

namespace {

constexpr int kDepth = 4;

constexpr std::array<std::string_view, 24> kSensitive = {
    "id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", ".ssh/", "/etc/passwd", "/etc/shadow", "/etc/sudoers", ".aws/credentials",
    ".aws/config", ".netrc", ".git-credentials", ".npmrc", ".pypirc", ".docker/config.json", ".kube/config", "/proc/self/environ",
    "/environ", "credentials.json", "service-account", ".bash_history", ".gnupg", ".pgpass", "wallet.dat"};

bool is_word_end(std::string_view s, std::size_t at) {
  return at >= s.size() || !(std::isalnum(static_cast<unsigned char>(s[at])) != 0 || s[at] == '_' || s[at] == '-');
}

class Walk {
 public:
  Walk(CommandPlace place, const std::vector<std::string>& allowed, std::vector<EgressHit>& to) : place_(place), allowed_(allowed), to_(to) {}

  // Offsets are those of the outermost text.
  void read(std::string_view text, int depth, std::optional<std::pair<std::size_t, std::size_t>> outer) {
    if (depth > kDepth || text.size() > kLongestCommand) return;
    ShellScript s = parse_shell(std::string(text));
    Pipelines outside = std::exchange(pipelines_, {});
    Variables variables;
    bool sensitive = false;
    for (ShellId n = 0; n < s.nodes.size(); ++n) sensitive = takes_sensitive(s, n, variables) || sensitive;
    variables.clear();
    for (ShellId n = 0; n < s.nodes.size(); ++n) {
      const ShellNode& node = s.nodes[n];
      note_assignments(s, node, variables);
      auto place = outer ? *outer : std::pair<std::size_t, std::size_t>{node.begin, node.end};
      redirects(s, node, variables, sensitive, place);
      if (node.kind == ShellNodeKind::kSimple) command(s, n, variables, sensitive, depth, place);
    }
    pipelines_ = std::move(outside);
  }

 private:
  // alias x=curl; cp /usr/bin/curl x: a program under another name.
  void note_names(const Words& words) {
    if (names_.size() > 64) return;
    if (words[0] == "alias") {
      for (std::size_t i = 1; i < words.size(); ++i)
        if (auto equals = words[i].find('='); equals != std::string::npos && equals > 0) names_[words[i].substr(0, equals)] = words[i].substr(equals + 1);
    } else if (words[0] == "hash" && words.size() > 3 && words[1] == "-p") {
      names_[words[3]] = std::string(file_of(words[2]));
    } else if (words[0] == "cp" || words[0] == "ln" || words[0] == "mv" || words[0] == "install") {
      Words operands;
      std::copy_if(words.begin() + 1, words.end(), std::back_inserter(operands), [](const auto& w) { return !w.starts_with('-'); });
      if (words[0] == "install" && operands.size() == 3) operands.erase(operands.begin());  // -m 755
      if (operands.size() != 2) return;
      std::string_view from = file_of(operands[0]), to = file_of(operands[1]);
      if (reaches_network(from) && !to.empty()) names_[std::string(to)] = std::string(from);
    }
  }

  bool takes_sensitive(const ShellScript& s, ShellId n, Variables& variables) const {
    const ShellNode& node = s.nodes[n];
    note_assignments(s, node, variables);
    bool found = false;
    std::string name, before;
    for (ShellId i = 0; i < node.word_count && node.kind == ShellNodeKind::kSimple; ++i) {
      std::string w = expand(s, node.words + i, variables);
      if (i == 0) name = w;
      if (name == "kubectl" && (w == "secret" || w == "secrets" || w.starts_with("secret/"))) found = true;
      found = found || (names_sensitive_data(w) && !only_handles(name) && !names_a_key(before));
      before = w;
      if (i == 0 && node.word_count == 1) found = found || w == "env" || w == "printenv" || w == "set" || w == "history";
      if (place_ != CommandPlace::kMentioned) found = found || has_secret_variable(w);
    }
    for (ShellId i = node.redirects; i < node.redirects + node.redirect_count; ++i)
      if (s.redirects[i].op == ShellRedirectOp::kRead) found = found || names_sensitive_data(expand(s, s.redirects[i].target, variables));
    return found;
  }

  // What changes or lists a file without reading it.
  static bool only_handles(std::string_view name) {
    static constexpr std::array<std::string_view, 14> kNames = {"chmod", "chown", "ssh-keygen", "ssh-add", "ssh-copy-id", "mkdir", "touch",
                                                                "ls", "test", "[", "rm", "cd", "stat", "export"};
    return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
  }
  // The key a connection is made with stays here.
  static bool names_a_key(std::string_view flag) {
    static constexpr std::array<std::string_view, 13> kFlags = {"-i", "-o", "--key", "--cert", "--cacert", "-E", "--private-key", "-e",
                                                                "--rsh", "--certificate", "--netrc-file", "-CAfile", "-S"};
    return std::find(kFlags.begin(), kFlags.end(), flag) != kFlags.end();
  }

  void redirects(const ShellScript& s, const ShellNode& node, const Variables& variables, bool sensitive,
                 std::pair<std::size_t, std::size_t> place) {
    for (ShellId i = node.redirects; i < node.redirects + node.redirect_count; ++i) {
      const ShellRedirect& r = s.redirects[i];
      if (r.op == ShellRedirectOp::kHereDocument || r.target == kNoShell) continue;
      std::string target = expand(s, r.target, variables);
      for (std::string_view prefix : {"/dev/tcp/", "/dev/udp/"}) {
        if (!std::string_view(target).starts_with(prefix)) continue;
        std::string host = target.substr(prefix.size(), target.find('/', prefix.size()) - prefix.size());
        bool shell = node.word_count > 0 && is_shell(expand(s, node.words, variables));
        report({address_of(host).host, r.op != ShellRedirectOp::kRead, false, shell}, prefix, sensitive, place);
      }
    }
  }

  static bool is_shell(std::string_view name) {
    if (auto slash = name.rfind('/'); slash != name.npos) name.remove_prefix(slash + 1);
    static constexpr std::array<std::string_view, 9> kShells = {"sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "iex", "Invoke-Expression"};
    return std::find(kShells.begin(), kShells.end(), name) != kShells.end();
  }

  // Programs that run the program in their words.
  static bool unwrap(Words& words) {
    bool more_words = false;  // xargs adds what it reads
    static constexpr std::array<std::string_view, 20> kWrappers = {
        "sudo", "doas", "env", "nohup", "time", "timeout", "xargs", "exec", "command", "builtin", "busybox", "nice", "stdbuf",
        "watch", "setsid", "ionice", "proxychains", "proxychains4", "torsocks", "unbuffer"};
    for (int i = 0; i < 6 && !words.empty(); ++i) {
      if (auto slash = words[0].rfind('/'); slash != words[0].npos) words[0].erase(0, slash + 1);
      if (words[0] == "find") {
        auto run = std::find_if(words.begin(), words.end(), [](const auto& w) { return w == "-exec" || w == "-execdir" || w == "-ok" || w == "-okdir"; });
        if (run == words.end() || run + 1 == words.end()) return more_words;
        words.erase(words.begin(), run + 1);
        while (!words.empty() && (words.back() == ";" || words.back() == "+")) words.pop_back();
        more_words = true;
        continue;
      }
      if (std::find(kWrappers.begin(), kWrappers.end(), words[0]) == kWrappers.end()) return more_words;
      more_words = more_words || words[0] == "xargs";
      std::string wrapper = words[0];
      std::size_t k = 1;
      while (k < words.size() && (words[k].starts_with('-') || words[k].find('=') != std::string::npos ||
                                  (wrapper == "timeout" && k == 1) || is_flag_value(words, k))) ++k;
      if (k >= words.size()) return more_words;
      words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(k));
    }
    return more_words;
  }

  static bool is_flag_value(const Words& words, std::size_t k) {
    static constexpr std::array<std::string_view, 11> kFlags = {"-u", "-n", "-I", "-P", "-L", "-s", "-k", "-d", "-g", "-C", "-a"};
    return k > 1 && std::find(kFlags.begin(), kFlags.end(), words[k - 1]) != kFlags.end() && !reaches_network(words[k]);
  }

  // ssh host < file; </dev/null is nothing.
  static bool is_fed(const ShellScript& s, const ShellNode& node, const Variables& variables) {
    for (ShellId i = node.redirects; i < node.redirects + node.redirect_count; ++i) {
      const ShellRedirect& r = s.redirects[i];
      if (r.op == ShellRedirectOp::kHereDocument || r.op == ShellRedirectOp::kHereString) return true;
      if (r.op == ShellRedirectOp::kRead && r.target != kNoShell && expand(s, r.target, variables) != "/dev/null") return true;
    }
    return false;
  }

  static bool is_piped(const ShellScript& s, ShellId n) {
    ShellId parent = s.nodes[n].parent;
    if (parent == kNoShell || s.nodes[parent].kind != ShellNodeKind::kPipeline) return false;
    return n != parent + 1;  // not the first of its pipeline
  }

  // The words of a command that may run what it is given, without sudo and the like; empty for any other.
  static Words running_words(const ShellScript& s, const ShellNode& node, const Variables& variables) {
    Words words;
    if (node.kind != ShellNodeKind::kSimple) return words;
    for (ShellId i = 0; i < std::min<ShellId>(node.word_count, 8); ++i) words.push_back(expand(s, node.words + i, variables));
    unwrap(words);
    bool runs = !words.empty() && (is_shell(words[0]) || is_interpreter(words[0]) || words[0] == "eval" || words[0] == "source" || words[0] == ".");
    return runs ? words : Words{};
  }
  // What such a command runs: its first word that is no flag. `-c` and the code behind it are flags here and code.
  static std::string code_of(const Words& words) {
    auto operand = std::find_if(words.begin() + 1, words.end(), [](const auto& w) { return !w.starts_with('-') || w == "-"; });
    return operand == words.end() ? std::string() : *operand;
  }

  // curl … | sh; not curl … | python3 -m json.tool. Of each pipeline the last that runs what it reads is looked for once.
  bool is_piped_to_shell(const ShellScript& s, ShellId n, const Variables& variables) {
    ShellId parent = s.nodes[n].parent;
    if (parent == kNoShell || s.nodes[parent].kind != ShellNodeKind::kPipeline) return false;
    auto [known, isnew] = pipelines_.last_shell.try_emplace(parent, parent);
    for (ShellId k = s.nodes[parent].after; isnew && k-- > parent + 1;) {
      Words words = running_words(s, s.nodes[k], variables);
      if (words.empty() || !(is_shell(words[0]) || (is_interpreter(words[0]) && (words.size() == 1 || words[1] == "-")))) continue;
      known->second = k;
      break;
    }
    return known->second > n;
  }

  static bool holds_command(const ShellScript& s, ShellId word) {
    if (word >= s.words.size()) return false;
    const ShellWord& w = s.words[word];
    for (ShellId i = w.parts; i < w.parts + w.count; ++i)
      if (s.parts[i].kind == ShellPartKind::kCommand || s.parts[i].kind == ShellPartKind::kProcess) return true;
    return false;
  }

  // Whether it runs, as its code, as what it reads or through a pipe, a word of which this is true.
  template <typename InText, typename InWord>
  bool runs_what_has(const ShellScript& s, ShellId n, const Variables& variables, InText in_text, InWord in_word) {
    const ShellNode& node = s.nodes[n];
    Words words = running_words(s, node, variables);
    if (words.empty()) {
      if (node.kind != ShellNodeKind::kSimple || node.word_count < 2) return false;
      std::string name = expand(s, node.words, variables);
      if (name != "echo" && name != "printf") return false;
      for (ShellId i = 1; i < node.word_count; ++i)
        if (in_word(node.words + i)) return is_piped_to_shell(s, n, variables);
      return false;
    }
    if (in_text(code_of(words))) return true;
    for (ShellId i = node.redirects; i < node.redirects + node.redirect_count; ++i)
      if (s.redirects[i].op == ShellRedirectOp::kHereString && in_word(s.redirects[i].target)) return is_shell(words[0]) || is_interpreter(words[0]);
    return false;
  }

  // curl … | sh, sh -c "$(curl …)", bash <(curl …), echo "$(curl …)" | sh, sh <<< "$(curl …)"
  bool feeds_shell(const ShellScript& s, ShellId n, const Variables& variables) {
    if (is_piped_to_shell(s, n, variables)) return true;
    ShellId parent = s.nodes[n].parent;
    for (int depth = 0; parent != kNoShell && depth < 16; ++depth, parent = s.nodes[parent].parent)
      if (runs_what_has(s, parent, variables, [](const std::string& w) { return w.find('\x01') != w.npos; },
                        [&](ShellId w) { return holds_command(s, w); })) return true;
    return false;
  }

  static std::string_view file_of(std::string_view word) {
    word = word.substr(0, word.find_first_of("?#"));
    return word.substr(word.rfind('/') == word.npos ? 0 : word.rfind('/') + 1);
  }

  // curl -o x https://…; sh x: what was fetched is run further on.
  static bool is_run_later(const ShellScript& s, ShellId n, Words fetch, const Variables& variables) {
    constexpr int kNear = 64;  // commands that are looked at
    const ShellNode& from = s.nodes[n];
    for (ShellId i = from.redirects; i < from.redirects + from.redirect_count; ++i)
      if (s.redirects[i].op == ShellRedirectOp::kWrite && s.redirects[i].target != kNoShell) fetch.push_back(expand(s, s.redirects[i].target, variables));
    int seen = 0;
    for (ShellId k = from.after; k < s.nodes.size() && seen < kNear; ++k) {
      const ShellNode& node = s.nodes[k];
      if (node.kind != ShellNodeKind::kSimple || node.word_count == 0) continue;
      ++seen;
      Words words = running_words(s, node, variables);
      std::string run = words.empty() ? expand(s, node.words, variables) : code_of(words);
      if (words.empty() && run.find('/') == run.npos) continue;
      std::string_view file = file_of(run);
      if (file.size() >= 2 && std::any_of(fetch.begin() + 1, fetch.end(), [&](const auto& w) { return !w.starts_with('-') && file_of(w) == file; })) return true;
    }
    return false;
  }

  // x=$(curl …); eval "$x": what was fetched into a variable is run further on.
  bool is_run_by_name(const ShellScript& s, ShellId n) {
    constexpr int kNear = 64;  // commands that are looked at
    std::vector<std::string> names;
    ShellId set = s.nodes[n].parent;
    for (int depth = 0; set != kNoShell && depth < 16; ++depth, set = s.nodes[set].parent) {
      const ShellNode& node = s.nodes[set];
      for (ShellId i = node.assignments; i < node.assignments + node.assignment_count; ++i)
        if (holds_command(s, s.assignments[i].value))
          names.push_back(cat("$", s.assignments[i].name));
      if (!names.empty()) break;
    }
    if (names.empty()) return false;
    auto named = [&](const std::string& w) {
      return std::any_of(names.begin(), names.end(), [&](const auto& name) {
        auto at = w.find(name);
        return at != w.npos && is_word_end(w, at + name.size());
      });
    };
    int seen = 0;
    for (ShellId k = s.nodes[set].after; k < s.nodes.size() && seen < kNear; ++k) {
      if (s.nodes[k].kind != ShellNodeKind::kSimple || s.nodes[k].word_count == 0) continue;
      ++seen;
      if (named(expand(s, s.nodes[k].words, {})) || runs_what_has(s, k, {}, named, [&](ShellId w) { return named(expand(s, w, {})); })) return true;
    }
    return false;
  }

  // $(which curl), $(command -v curl)
  static std::string looked_up(const ShellScript& s, const ShellNode& node) {
    const ShellWord& w = s.words[node.words];
    ShellId inner = w.count == 1 ? s.parts[w.parts].node : kNoShell;
    for (ShellId k = inner; inner != kNoShell && k < s.nodes[inner].after; ++k) {
      const ShellNode& asks = s.nodes[k];
      if (asks.kind != ShellNodeKind::kSimple || asks.word_count < 2) continue;
      std::string how = expand(s, asks.words, {});
      if (how == "which" || how == "command" || how == "type") return expand(s, asks.words + asks.word_count - 1, {});
    }
    return "\x01";
  }

  void command(const ShellScript& s, ShellId n, const Variables& variables, bool sensitive, int depth,
               std::pair<std::size_t, std::size_t> place) {
    const ShellNode& node = s.nodes[n];
    Words words;
    for (ShellId i = 0; i < node.word_count; ++i) words.push_back(expand(s, node.words + i, variables));
    if (!words.empty() && words[0] == "\x01") words[0] = looked_up(s, node);
    bool more_words = unwrap(words);
    if (words.empty() || words[0].empty()) return;
    note_names(words);
    if (auto known = names_.find(words[0]); known != names_.end()) words[0] = known->second;
    // "$c evil" where c="curl -d": a value of several words is several words.
    if (words[0].find(' ') != std::string::npos && node.word_count > 0) {
      std::string first = words[0];
      words.erase(words.begin());
      std::vector<std::string> pieces;
      for (auto piece : split(first, ' '))
        if (!piece.empty()) pieces.emplace_back(piece);
      words.insert(words.begin(), pieces.begin(), pieces.end());
      more_words = unwrap(words) || more_words;
      if (words.empty() || words[0].empty()) return;
    }
    bool piped = is_piped(s, n);
    // https_proxy=http://… curl …: everything goes that way.
    for (ShellId i = node.assignments; i < node.assignments + node.assignment_count; ++i) {
      std::string_view name = s.assignments[i].name;
      if (name == "GIT_SSH_COMMAND" && s.assignments[i].value != kNoShell) read(expand(s, s.assignments[i].value, variables), depth + 1, place);
      if (s.assignments[i].value == kNoShell || !(name.ends_with("_proxy") || name.ends_with("_PROXY")) || name.starts_with("no") || name.starts_with("NO")) continue;
      std::string to = expand(s, s.assignments[i].value, variables);
      if (reaches_network(words[0]) && !to.empty()) report({address_of(to).host, true, false, false}, name, sensitive, place);
    }
    inner_code(s, node, variables, words, sensitive, depth, place);
    if (auto said = printed(words); said && is_piped_to_shell(s, n, variables)) read(*said, depth + 1, place);
    auto reaches = reaches_of(words, piped);
    if (reaches.empty() && more_words && takes_addresses(words[0])) reaches.push_back({"", true, false, false});
    if (reaches.empty() && (place_ == CommandPlace::kToRun || place_ == CommandPlace::kTyped)) reaches = data_addresses(words);
    if (reaches.empty()) return decoded_pipe(s, n, variables, words, depth, place);
    const bool runs = feeds_shell(s, n, variables), fed = is_fed(s, node, variables);
    const bool later = place_ == CommandPlace::kShown && !runs && (is_run_later(s, n, words, variables) || is_run_by_name(s, n));
    // -H "X: $(cat ~/.netrc)": whatever it says beside the address.
    bool computed = false;
    if (node.after > n + 1)
      for (auto [k, known] = std::pair(n + 1, variables); k < node.after && !computed; ++k) computed = takes_sensitive(s, k, known);
    for (Reach& reach : reaches) {
      reach.sends = reach.sends || computed;
      reach.plain = reach.plain && !fed;
      const std::size_t before = to_.size();
      report(reach, words[0], sensitive, place, runs || later);
      if (to_.size() > before) to_.back().runs = runs;
    }
    decoded_pipe(s, n, variables, words, depth, place);
  }

  // sh -c, eval, ssh's remote command is not ours; python -c, perl -e, here-documents.
  void inner_code(const ShellScript& s, const ShellNode& node, const Variables& variables, const Words& words, bool sensitive,
                  int depth, std::pair<std::size_t, std::size_t> place) {
    if (words[0] == "eval") {
      read(join(Words(words.begin() + 1, words.end()), " "), depth + 1, place);
      return;
    }
    if (words[0] == "vim" || words[0] == "vi" || words[0] == "ed" || words[0] == "less")  // vim -c ':!curl …'
      for (const auto& w : words)
        if (auto bang = w.find('!'); bang != w.npos && bang < 2) read(w.substr(bang + 1), depth + 1, place);
    bool shell = is_shell(words[0]), interpreter = is_interpreter(words[0]) || words[0] == "awk" || words[0] == "gawk";
    if (!shell && !interpreter) return;
    std::vector<std::string> codes;
    std::string modules;
    bool took = false;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string& w = words[i];
      bool flag = w.size() >= 2 && w[0] == '-' && w[1] != '-';
      bool module = w.starts_with("-M") || w.starts_with("-I") || (w.starts_with("-r") && w.size() > 2);  // perl -MIO::Socket, ruby -rsocket
      bool takes = (flag && !module && (w.find_first_of("ceErR") != w.npos)) || w == "--eval" || w == "eval" || w == "--print" || w == "-Command";
      if (module) (modules += w.substr(2)) += "; ";
      if (takes && i + 1 < words.size()) codes.push_back(cat(modules, words[++i])), took = true;
      else if ((words[0] == "awk" || words[0] == "gawk") && !flag) codes.push_back(w);
    }
    for (ShellId i = node.redirects; i < node.redirects + node.redirect_count && !took; ++i) {
      const ShellRedirect& r = s.redirects[i];
      if (r.op == ShellRedirectOp::kHereString) codes.push_back(expand(s, r.target, variables));
      if (r.op == ShellRedirectOp::kHereDocument && r.target < s.here_documents.size())
        codes.push_back(expand(s, s.here_documents[r.target], variables));
    }
    for (const auto& code : codes) {
      if (shell) {
        read(code, depth + 1, place);
        continue;
      }
      const bool takes = names_sensitive_data(code), runs = runs_text(code);
      for (Reach reach : reaches_of_code(code)) {
        reach.sends = reach.sends || takes;
        const std::size_t before = to_.size();
        report(reach, words[0], sensitive || takes, place, runs);
        if (to_.size() > before) to_.back().runs = runs;
      }
      // os.system('curl …'), `curl …`: the same commands in quotes.
      if (code.size() < 4096) quoted_commands(code, depth, place);
    }
  }

  void quoted_commands(std::string_view code, int depth, std::pair<std::size_t, std::size_t> place) {
    for (std::size_t i = 0; i < code.size(); ++i) {
      if (code[i] != '\'' && code[i] != '"' && code[i] != '`') continue;
      std::size_t end = code.find(code[i], i + 1);
      if (end == code.npos) return;
      std::string_view inside = code.substr(i + 1, end - i - 1);
      std::string_view first = inside.substr(0, inside.find(' '));
      if (first.size() < inside.size() && reaches_network(first)) read(inside, depth + 1, place);
      i = end;
    }
  }

  // echo <base64> | base64 -d | sh
  void decoded_pipe(const ShellScript& s, ShellId n, const Variables& variables, const Words& words, int depth,
                    std::pair<std::size_t, std::size_t> place) {
    bool decodes = words[0] == "base64" || (words[0] == "openssl" && words.size() > 1) || words[0] == "xxd" || words[0] == "rev";
    ShellId parent = s.nodes[n].parent;
    if (!decodes || parent == kNoShell) return;
    if (!pipelines_.decoded.insert({parent, words[0][0]}).second) return;
    for (ShellId k = parent; k < s.nodes[parent].after; ++k) {
      const ShellNode& other = s.nodes[k];
      if (other.kind != ShellNodeKind::kSimple || k == n) continue;
      for (ShellId i = 1; i < other.word_count; ++i) {
        std::string w = expand(s, other.words + i, variables);
        auto decoded = words[0] == "xxd" ? decode_hex(w) : words[0] == "rev" ? std::optional(reversed(w)) : decode_base64(w);
        if (w.size() >= 12 && decoded) read(*decoded, depth + 1, place);
      }
    }
  }

  void report(const Reach& reach, std::string_view how, bool sensitive, std::pair<std::size_t, std::size_t> place, bool runs = false) {
    const std::string& host = reach.host;
    bool unknown = host.empty() || host.front() == '$' || host == "\x01";
    if (!unknown && is_local(host)) return;
    if (!unknown && is_allowed(host, allowed_)) return;
    if (!unknown && place_ != CommandPlace::kToRun && (reach.version || !looks_like_host(host))) return;
    std::string where = unknown ? "a host that cannot be told" : cat("'", printable(host.substr(0, 100)), "', which is not allowed");
    ThreatLevel level = ThreatLevel::kLow;
    std::string_view why;
    bool hidden = !unknown && (is_disguised_ip(host));
    bool data = !unknown && carries_data(host);
    // git clone URL, curl -o x URL take and bring nothing: it is what half of all instructions and of all build logs begin with.
    const bool shown = place_ == CommandPlace::kShown;
    bool only_takes = (shown || (place_ == CommandPlace::kTyped && how == "git")) && (!reach.sends || (shown && reach.plain)) && !runs;
    if (place_ != CommandPlace::kMentioned && !only_takes) level = reach.dns && !data ? ThreatLevel::kMedium : ThreatLevel::kHigh;
    if (shown && (hidden || data)) level = ThreatLevel::kHigh;
    if (shown && runs) why = "; what it fetches is run";
    if (hidden) level = std::max(level, ThreatLevel::kMedium), why = "; the address is disguised";
    if (data && (reach.dns || reach.sends || only_takes)) level = std::max(level, ThreatLevel::kMedium), why = "; its name carries data";
    if (!unknown && is_drop(host)) level = std::max(level, reach.sends ? ThreatLevel::kHigh : ThreatLevel::kMedium), why = "; anybody can read there what is left";
    if (reach.shell) level = ThreatLevel::kHigh, why = "; it hands over a shell";
    bool carries = reach.sends || reach.dns || data;
    if (sensitive && carries && !(unknown && place_ == CommandPlace::kMentioned)) {
      level = place_ != CommandPlace::kMentioned ? ThreatLevel::kCritical : ThreatLevel::kHigh;
      why = "; it carries sensitive data";
    }
    if (unknown && place_ == CommandPlace::kMentioned && !reach.shell) return;
    to_.push_back({level, cat(how, " reaches ", where, why), place.first, place.second, false});
  }

  // Of the script that is being read: what is to be found out once, however many commands a pipeline has.
  struct Pipelines {
    std::map<ShellId, ShellId> last_shell;
    std::set<std::pair<ShellId, char>> decoded;  // by which program: its first letter
  };
  Pipelines pipelines_;
  std::map<std::string, std::string, std::less<>> names_;  // what programs are called besides
  CommandPlace place_;
  const std::vector<std::string>& allowed_;
  std::vector<EgressHit>& to_;
};

}  // namespace

bool names_sensitive_data(std::string_view text) {
  for (auto s : kSensitive)
    if (text.find(s) != text.npos) return true;
  for (std::size_t at = text.find(".env"); at != text.npos; at = text.find(".env", at + 1)) {
    bool begins = at == 0 || !(std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0 || text[at - 1] == '_' || text[at - 1] == ')');
    if (begins && (is_word_end(text, at + 4) || text[at + 4] == '.')) return true;
  }
  for (auto suffix : {".pem", ".key", ".p12", ".pfx", ".kdbx"})
    if (std::string_view s = suffix; text.find(s) != text.npos && is_word_end(text, text.find(s) + s.size())) return true;
  return text.find("os.environ") != text.npos || text.find("process.env") != text.npos || text.find("%ENV") != text.npos;
}

bool is_command_text(std::string_view text) {
  static constexpr std::array<std::string_view, 57> kOthers = {
      "cat", "tar", "echo", "env", "printenv", "printf", "bash", "sh", "sudo", "exec", "zip", "gzip", "base64", "xxd", "find",
      "grep", "awk", "gh", "export", "eval", "cd", "head", "tail", "timeout", "nohup", "busybox", "java", "go", "make", "ls", "cp", "mv",
      "rm", "mkdir", "touch", "chmod", "sed", "cut", "sort", "gpg", "dd", "jq", "ps", "id", "whoami", "uname", "hostname", "ip", "sleep",
      "sqlite3", "kubectl", "gawk", "xargs", "command", "7z", "time", "source"};
  text = trim(text);
  if (text.empty() || text.size() > 8192 || std::count(text.begin(), text.end(), '\n') > 8) return false;
  // A program that is put together when it runs: $'\x63url', $a$b.
  if (text.size() > 2 && text[0] == '$' && (text[1] == '\'' || text[1] == '{' || std::isalpha(static_cast<unsigned char>(text[1])) != 0))
    return text.find('\n') == text.npos;
  std::string_view first = text.substr(0, text.find_first_of(" \t\n|;"));
  if (auto ifs = first.find("${IFS"); ifs != first.npos) first = first.substr(0, ifs);
  if (first == "$" || first == "#" || first == ">") return is_command_text(text.substr(1));
  if (first == ".") return text.starts_with(". <(") && text.find('\n') == text.npos;
  // A loop or a condition, and not a sentence that begins like one.
  if (first == "for" || first == "while" || first == "until") return text.find("; do") != text.npos || text.find("\ndo") != text.npos;
  // x=$(curl …); eval "$x"
  for (std::string_view open : {"=$(", "=\"$(", "=`"})
    if (auto at = first.find(open); at != first.npos && at > 0) return is_command_text(text.substr(at + open.size()));
  if (auto equals = first.find('='); equals != first.npos && equals > 0 && first.size() < text.size())
    return text.find('\n') == text.npos && is_command_text(text.substr(first.size() + (text[first.size()] == ';' ? 1 : 0)));
  if (auto slash = first.rfind('/'); slash != first.npos) first.remove_prefix(slash + 1);
  std::string name;
  for (char c : first)
    if (c != '\\' && c != '"' && c != '\'') name += c;
  if (std::any_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; }) && !name.starts_with("Invoke-")) return false;
  return reaches_network(name) || is_interpreter(name) || std::find(kOthers.begin(), kOthers.end(), name) != kOthers.end();
}

void find_egress(std::string_view script, CommandPlace place, const std::vector<std::string>& allowed, std::vector<EgressHit>& to) {
  Walk(place, allowed, to).read(script, 0, std::nullopt);
}

}  // namespace hotcell::inspect
