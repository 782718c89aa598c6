// Commands that run text: shells, eval, other interpreters, and programs that start another by an option.
#include "base/strings.h"
#include "languages/bash/facts_analyser.h"
#include "languages/bash/facts_text.h"

namespace hotcell::bash {
namespace {

std::string source_of(const Field& f) {
  if ((f.taint & kNetwork) != 0) return "network";
  if ((f.taint & kDecoded) != 0) return "decoded";
  if (f.process != kNoShell || (f.taint & kSubstitution) != 0)
    return (f.taint & kHarmlessTool) != 0 ? "tool" : "output";
  if ((f.taint & kInput) != 0) return "input";
  if (f.origin.starts_with("file ")) return "file";
  if (!f.origin.empty()) return "environment";
  return "unknown";
}

std::string without_version(std::string name) {
  while (name.size() > 1 && ((name.back() >= '0' && name.back() <= '9') || name.back() == '.')) name.pop_back();
  return name;
}

}  // namespace

// Text that a shell will run.
void Analyser::code_from(const Field& f, std::string_view by, const Call& c, Fields arguments) {
  if (f.known) {
    if ((f.taint & (kDecoded | kNetwork)) != 0) construct("pipe-to-interpreter", cat("decoded: ", by), c);
    evaluate_text(f.text, c, std::move(arguments));
    return;
  }
  std::string from = source_of(f);
  // What is known around the unknown is still read.
  std::string text = f.text;
  bool only_assigns = true, partly = false;
  const std::string stand_in = f.outside.empty() ? "__unknown__" : cat("${", f.outside, "}");
  for (std::size_t at = 0; (at = text.find(kUnknown, at)) != std::string::npos; at += stand_in.size())
    text.replace(at, kUnknown.size(), stand_in);
  if (trim(text) != stand_in && text.size() < kTextCap && f.process == kNoShell) {
    ShellScript parsed = parse_shell(text);
    for (const ShellNode& n : parsed.nodes) {
      if (n.kind != ShellNodeKind::kSimple || n.word_count == 0) continue;
      auto name = parsed.plain(n.words);
      partly = true;
      if (name && one_of(*name, " set export declare local readonly typeset echo printf unset ")) continue;
      only_assigns = only_assigns && name && name->find("__unknown__=") == 0;
    }
    for (const ShellAssignment& a : parsed.assignments) partly = partly || !a.name.empty();
    evaluate_text(text, c, std::move(arguments));
  } else {
    only_assigns = false;
  }
  if (from == "network" || from == "decoded")
    construct("pipe-to-interpreter", cat(from, ": ", by), c);
  else if (only_assigns && partly)
    construct("dynamic-eval", cat("assignment: ", by), c);
  else
    construct("dynamic-eval", cat(from, ": ", by, " ", f.text.substr(0, 100)), c);
}

void Analyser::evaluate(Args words, const Call& c) {
  Field code;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (i == 1 && words[i].text == "--") continue;
    if (!code.text.empty())
      code.text += ' ';
    else
      code.origin = words[i].origin;
    code.text += words[i].text;
    if (code.outside.empty()) code.outside = words[i].outside;
    code.known = code.known && words[i].known;
    code.taint |= words[i].taint;
  }
  if (code.text.size() > kTextCap) return construct("nested-evaluation", "too long to follow", c);
  if (!code.text.empty()) code_from(code, "eval", c);
}

void Analyser::source(Args words, const Call& c) {
  if (words.size() < 2) return;
  const Field& f = words[1];
  bool from_input = f.text == "/dev/stdin" || f.text == "/proc/self/fd/0" || f.text == "/dev/fd/0";
  if (f.process != kNoShell) {
    if (auto text = output_of_list(f.process); text && text->known) return code_from(*text, "source", c);
    construct("pipe-to-interpreter", cat(source_of(f), ": source"), c);
  } else if (from_input && c.input != nullptr && c.input->has_value()) {
    code_from(**c.input, "source", c);
  } else if (auto behind = descriptor(f); behind) {
    if (behind->known || behind->text.find('\n') != std::string::npos) return code_from(*behind, "source", c);
    if (behind->origin.starts_with("file ")) {  // exec 3< x.sh: as if that file were named
      Field file;
      file.text = behind->origin.substr(5);
      return source(std::vector<Field>{words[0], std::move(file)}, c);
    }
    construct("pipe-to-interpreter", cat(source_of(*behind), ": source"), c);
  } else if (f.known) {
    if (!run_written_file(f, c)) {
      st_.sourced = true;
      read_path(f, c);
    }
  } else if (!f.origin.empty() || (f.taint & kSubstitution) != 0) {
    construct("dynamic-source", joined(words), c);
  }
}

bool Analyser::reads_stdin(const std::string& name, Args words) const {
  bool shell = is_shell(name);
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (w == "-" || w == "/dev/stdin" || w == "-s" || w == "/proc/self/fd/0" || w == "/dev/fd/0") return true;
    if (!w.starts_with('-') && !w.starts_with('+')) return false;
    if (w == "--") return i + 1 >= words.size();
    if (one_of(w, " -O +O -o +o --rcfile --init-file "))
      ++i;
    else if (shell ? (!w.starts_with("--") && w.find('c') != std::string::npos)
                   : one_of(w, " -c -e -E -m -r -pe -ne -p --eval --version -V --help -h -n -lane -ane -f "))
      return false;
  }
  return true;
}

void Analyser::shell_program(const std::string& name, Args words, const Call& c) {
  bool code = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (w.size() > 1 && (w[0] == '-' || w[0] == '+')) {
      if (w[1] != '-' && w.find('c') != std::string::npos) code = true;
      if (w == "--command") code = true;
      if (one_of(w, " -O +O -o +o --rcfile --init-file ")) {
        if (w.ends_with("file") && i + 1 < words.size()) source(words.subspan(i), c);
        ++i;
      }
      if (w == "-s") break;
      continue;
    }
    if (code) {
      Fields arguments;
      for (std::size_t k = i + 2; k < words.size(); ++k) arguments.push_back(words[k]);
      return code_from(words[i], cat(name, " -c"), c, std::move(arguments));
    }
    if (w == "-" || w == "/dev/stdin" || w == "/proc/self/fd/0" || w == "/dev/fd/0") break;
    if (words[i].process != kNoShell || descriptor(words[i])) return source(words.subspan(i - 1), c);
    if ((words[i].taint & kSelf) != 0) return;
    if (words[i].known) read_path(words[i], c);
    if (run_written_file(words[i], c)) return;
    return construct("runs-script", joined(words), c);
  }
  if (code) return construct("dynamic-eval", cat("input: ", name, " -c"), c);
  if (c.input == nullptr || !c.input->has_value()) return;
  const Field& in = **c.input;
  if (in.known) return code_from(in, name, c);
  if (in.process != kNoShell) return source(std::vector<Field>{words[0], in}, c);
  if (in.text != kUnknown && in.text.find('\n') != std::string::npos) return code_from(in, name, c);
  construct("pipe-to-interpreter", cat(source_of(in), ": ", name), c);
}

void Analyser::inline_code(std::string_view name, const Field& code, const Call& c) {
  construct("inline-code", cat(name, ": ", code.text.substr(0, 4000), code.known ? "" : " (not constant)"), c);
  // Shell commands in the other language's own call for them.
  for (std::string_view call : {"system(", "popen(", "exec(", "shell_exec(", "passthru(", "execSync(", "getoutput(",
                                "check_output(", "os.execute("}) {
    std::size_t at = code.text.find(call);
    if (at == std::string::npos) continue;
    at += call.size();
    while (at < code.text.size() && (code.text[at] == ' ' || code.text[at] == '\\')) ++at;
    if (at >= code.text.size() || (code.text[at] != '"' && code.text[at] != '\'')) continue;
    std::string text;
    char quote = code.text[at];
    for (std::size_t i = at + 1; i < code.text.size() && code.text[i] != quote; ++i) {
      if (code.text[i] == '\\' && i + 1 < code.text.size()) ++i;
      text += code.text[i];
    }
    evaluate_text(text, c);
  }
}

bool Analyser::interpreter(const std::string& name, Args words, const Call& c) {
  if (is_shell(name)) return shell_program(name, words, c), true;
  std::string kind = without_version(name);
  if (one_of(kind, " sed gsed awk gawk mawk nawk ")) return text_tool(kind, words, c), true;
  static constexpr std::pair<std::string_view, std::string_view> kCode[] = {
      {" python pypy ", " -c "},
      {" perl ", " -e -E -pe -ne -le -nle -ple -lne -i -pi -lane -ane -MO "},
      {" ruby ", " -e -ne -pe "},
      {" node nodejs ", " -e --eval -p --print -pe "},
      {" deno ", " eval "},
      {" bun ", " -e "},
      {" php ", " -r -R -B "},
      {" lua luajit ", " -e "},
      {" expect ", " -c "},
      {" Rscript julia guile jrunscript ", " -e -c "},
      {" octave ", " --eval "},
      {" osascript ", " -e "},
      {" vim vi nvim ex view ", " -c --cmd -sc -Esc -esc -sEc "},
      {" emacs ", " --eval "},
      {" make gmake ", " --eval "}};
  for (const auto& [names, options] : kCode) {
    if (!one_of(kind, names)) continue;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string& w = words[i].text;
      bool attached = w.size() > 2 && w.starts_with("-c") && kind.starts_with("py");
      if (attached || w.starts_with("--eval=")) {
        Field code = words[i];
        code.text = w.substr(attached ? 2 : 7);
        return inline_code(kind, code, c), true;
      }
      bool clustered = (kind == "perl" || kind == "ruby") && w.size() > 1 && w[0] == '-' && w[1] != '-' &&
                       (w.ends_with('e') || w.ends_with('E'));
      if ((one_of(w, options) || clustered) && i + 1 < words.size()) return inline_code(kind, words[i + 1], c), true;
      if (!w.starts_with('-') && kind != "make" && kind != "vim" && kind != "vi") break;
    }
  }
  if (kind == "make" || kind == "gmake") {
    if (!makefile(words, c) && c.input != nullptr && c.input->has_value()) make_text((**c.input).text, c);
    return true;
  }
  if (kind == "dc") return calculator(words, c), true;
  if (kind == "python" || kind == "pypy")
    for (std::size_t i = 1; i < words.size() && words[i].text.starts_with('-'); ++i)
      if (words[i].text == "-m") python_module(words, i + 1, c);
  bool takes_code = one_of(kind,
                           " python pypy perl ruby node nodejs deno bun php lua luajit tclsh expect guile octave julia "
                           "at batch ed ex vim bc ");
  if (takes_code && kind != "bc" && reads_stdin(name, words) && c.input != nullptr && c.input->has_value()) {
    const Field& in = **c.input;
    if (kind == "at" || kind == "batch")
      code_from(in, name, c);
    else if (in.process == kNoShell && (in.known || in.text.find('\n') != std::string::npos))
      inline_code(kind, in, c);
    else
      construct("pipe-to-interpreter", cat(source_of(in), ": ", name), c);
  }
  if (takes_code && !one_of(kind, " at batch ed ex vim bc ") && written_program(kind, words, c)) return true;
  for (std::size_t i = 1; i < words.size(); ++i)
    if (words[i].process != kNoShell && takes_code && i == 1)
      construct("pipe-to-interpreter", cat(source_of(words[i]), ": ", name), c);
  return true;
}

bool git_key_runs(std::string key) {
  key = ascii_lower(key);
  return one_of(key,
                " core.fsmonitor core.sshcommand core.pager core.editor core.hookspath core.askpass core.gitproxy "
                "diff.external sequence.editor credential.helper gpg.program uploadpack.packobjectshook "
                "interactive.difffilter ") ||
         key.starts_with("alias.") || key.starts_with("pager.") || key.ends_with(".cmd") || key.ends_with(".command") ||
         key.ends_with(".textconv") || key.ends_with(".clean") || key.ends_with(".smudge") || key.starts_with("protocol.ext");
}

void Analyser::runs_program_by_option(const std::string& name, Args words, const Call& c) {
  struct Row {
    std::string_view names, option;  // the option's value is the text that runs
  };
  static constexpr Row kRows[] = {{" tar bsdtar gtar ", "--checkpoint-action=exec"},
                                  {" tar bsdtar gtar ", "--to-command"},
                                  {" tar gtar ", "--info-script"},
                                  {" tar gtar ", "--new-volume-script"},
                                  {" tar gtar ", "--rsh-command"},
                                  {" tar gtar ", "--use-compress-program"},
                                  {" tar gtar ", "-I"},
                                  {" tar gtar ", "-F"},
                                  {" rsync ", "-e"},
                                  {" rsync ", "--rsh"},
                                  {" zip ", "-TT"},
                                  {" zip ", "--unzip-command"},
                                  {" split ", "--filter"},
                                  {" sort ", "--compress-program"},
                                  {" man ", "-P"},
                                  {" man ", "--pager"},
                                  {" gdb ", "-ex"},
                                  {" gdb ", "--eval-command"},
                                  {" make gmake ", "--eval"},
                                  {" make gmake ", "SHELL"},
                                  {" scp sftp ", "-S"},
                                  {" wget ", "--use-askpass"},
                                  {" tcpdump ", "-z"},
                                  {" nmap ", "--script"},
                                  {" mysql ", "-e"},
                                  {" curl ", "--engine"},
                                  {" openssl ", "-engine"},
                                  {" screen ", "-X"},
                                  {" npx ", "-c"},
                                  {" ansible ", "-a"},
                                  {" rpm ", "--eval"},
                                  {" rpm ", "--pipe"},
                                  {" cpio ", "--rsh-command"},
                                  {" gcc g++ cc ", "-wrapper"},
                                  {" psql ", "-c"},
                                  {" sqlite3 ", "-cmd"},
                                  {" mail mutt ", "--exec"}};
  auto runs = [&](Field value) {
    std::string text = value.text;
    for (std::string_view prefix : {"!", ":!", ":shell ", "shell ", "\\!", ".shell ", ".system ", "exec ", "pipe|cmd="})
      if (text.starts_with(prefix)) text = text.substr(prefix.size());
    construct("runs-command", joined(words).substr(0, 300), c);
    value.text = text;
    if (value.known) evaluate_text(text, c);
  };
  // git config NAME VALUE, also behind options of git's own.
  bool git_stores = false;
  for (std::size_t i = 1; name == "git" && i < words.size(); ++i) {
    git_stores = words[i].text == "config";
    if (git_stores || !words[i].text.starts_with('-')) break;
    if (one_of(words[i].text, " -C -c --git-dir --work-tree --namespace --config-env ")) ++i;
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    for (const Row& r : kRows) {
      if (!w.starts_with(r.option) || !one_of(name, r.names)) continue;
      Field value;
      if (w == r.option && i + 1 < words.size() && r.option.starts_with('-'))
        value = words[i + 1];
      else if (w.size() > r.option.size() && w[r.option.size()] == '=')
        value = words[i], value.text = w.substr(r.option.size() + 1);
      else
        continue;
      bool plain_tool = one_of(base_name(value.text.substr(0, value.text.find(' '))),
                               " ssh gzip pigz bzip2 pbzip2 xz pixz zstd lz4 lzop zstdmt less more cat lzma ");
      if ((one_of(r.option, " -I --use-compress-program -e --rsh -P --pager --compress-program -F ")) && plain_tool &&
          value.text.find_first_of(";|&$`") == std::string::npos &&
          value.text.find("ProxyCommand") == std::string::npos)
        continue;
      runs(value);
    }
    if (name == "git") {
      std::size_t equals = w.find('=');
      if (w.starts_with("--exec-path=")) construct("runs-command", joined(words).substr(0, 300), c);
      if (w.starts_with("--config-env=") && git_key_runs(w.substr(13, w.find('=', 13) - 13)))
        construct("runs-command", joined(words).substr(0, 300), c);
      bool setting =
          i > 0 && (words[i - 1].text == "-c" || words[i - 1].text == "--config-env") && equals != std::string::npos;
      bool stored = words.size() > 3 && i + 1 < words.size() && git_stores;
      std::string key = w.substr(0, setting ? equals : std::string::npos);
      if (git_key_runs(key) && (setting || stored)) {
        Field value = setting ? words[i] : words[i + 1];
        if (setting) value.text = w.substr(equals + 1);
        bool harmless =
            one_of(value.text,
                   " true false cat less vim vi nano emacs ssh always never store cache osxkeychain manager ") ||
            value.text.empty() || (ascii_lower(key).starts_with("alias.") && !value.text.starts_with('!'));
        if (!harmless) runs(value);
      }
      if (w.starts_with("ext::")) {
        Field value = words[i];
        value.text = w.substr(5);
        runs(value);
      }
      if (w.starts_with("--upload-pack=") || w.starts_with("--receive-pack=") || w.starts_with("--exec=") ||
          w.starts_with("--open-files-in-pager=")) {
        Field value = words[i];
        value.text = w.substr(w.find('=') + 1);
        runs(value);
      }
      bool fetches =
          words.size() > 2 && one_of(words[1].text, " clone fetch pull ls-remote push fetch-pack send-pack ");
      if (fetches && i + 1 < words.size() &&
          (one_of(w, " --upload-pack --receive-pack --exec ") || (w == "-u" && words[1].text == "clone")))
        runs(words[i + 1]);
      if ((w == "-x" || w == "--exec") && words.size() > 2 && words[1].text == "rebase" && i + 1 < words.size())
        runs(words[i + 1]);
      if (words.size() > 3 &&
          ((words[1].text == "bisect" && words[2].text == "run") ||
           (words[1].text == "submodule" && words[2].text == "foreach")) &&
          i == 3)
        runs(words[3]);
    }
    bool after_o = words[i - 1].text == "-o" && one_of(name, " ssh scp sftp apt apt-get ");
    if (after_o || (w.starts_with("-o") && one_of(name, " ssh scp sftp "))) {
      for (std::string_view key : {"ProxyCommand", "LocalCommand", "KnownHostsCommand", "Pre-Invoke", "Post-Invoke"})
        if (std::size_t at = w.find(key); at != std::string::npos) {
          Field value = words[i];
          std::size_t equals = w.find_first_of("= ", at);
          value.text = equals == std::string::npos ? "" : w.substr(equals + 1);
          runs(value);
        }
    }
    if (one_of(name, " vim vi nvim ex view less more man emacs ") &&
        (w.starts_with(":!") || w.starts_with("+!") || w.starts_with("+:!") || w.find("system(") != std::string::npos ||
         w.find(":py") != std::string::npos)) {
      Field value = words[i];
      value.text = w.substr(std::min(w.find('!') + 1, w.size()));
      runs(value);
    }
    if (name == "sqlite3" && (w.starts_with(".shell") || w.starts_with(".system"))) runs(words[i]);
    bool exec_address = name == "socat" && (w.starts_with("EXEC:") || w.starts_with("SYSTEM:") ||
                                            w.starts_with("exec:") || w.starts_with("system:"));
    bool exec_option = one_of(name, " nc ncat netcat ") &&
                       (one_of(w, " -e -c --exec --sh-exec --lua-exec ") ||
                        (w[0] == '-' && w.size() > 2 && w[1] != '-' && w.find('e') != std::string::npos));
    if (exec_address || exec_option) construct("reverse-shell", joined(words), c);
  }
}

}  // namespace hotcell::bash
