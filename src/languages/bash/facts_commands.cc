// What a command does: names through aliases, functions and wrappers, then what is inside.
#include "base/strings.h"
#include "languages/bash/facts_analyser.h"
#include "languages/bash/facts_text.h"

namespace hotcell::bash {
namespace {

enum Kind : unsigned { kBuiltin = 1, kWrapper = 2, kInterpreter = 4, kByOption = 8, kFiles = 16, kHosts = 32 };

unsigned kinds_of(const std::string& name) {
  static const std::unordered_map<std::string, unsigned> table = [] {
    std::unordered_map<std::string, unsigned> t;
    auto add = [&](unsigned kind, std::string_view names) {
      for (std::string_view n : split(names, ' '))
        if (!n.empty()) t[std::string(n)] |= kind;
    };
    add(kBuiltin,
        "eval source . alias cd pushd declare local export readonly typeset read mapfile readarray printf set shift "
        "unset trap "
        "enable history fc jobs bind complete compgen let test [ hash wait getopts");
    add(kWrapper,
        "command builtin exec nohup setsid nice ionice chrt taskset stdbuf timeout env sudo doas su pkexec runuser "
        "strace ltrace watch "
        "xargs parallel flock script chroot nsenter unshare busybox toybox find time gtime caffeinate chronic unbuffer "
        "fakeroot setarch "
        "linux32 linux64 numactl dbus-run-session xvfb-run start-stop-daemon systemd-run torsocks proxychains "
        "proxychains4 valgrind perf "
        "hyperfine rlwrap ssh cpulimit capsh ip gdb entr choom prlimit setpriv softlimit unshare doas sg newgrp coproc "
        "ld.so "
        "ld-linux-x86-64.so.2 ld-linux.so.2 ld-linux-aarch64.so.1 run-parts aa-exec bwrap firejail scriptreplay fd "
        "fdfind");
    add(kInterpreter,
        "sh bash zsh dash ksh ksh93 mksh lksh ash hush fish rbash rzsh tcsh csh yash pwsh posh python python2 python3 "
        "pypy pypy3 perl "
        "perl5 ruby node nodejs deno bun php lua luajit lua5.3 lua5.4 tclsh wish expect guile awk gawk mawk nawk sed "
        "gsed Rscript octave julia "
        "osascript jshell jrunscript ed ex vim vi nvim emacs view at batch bc dc crontab make gmake");
    add(kByOption,
        "tar bsdtar gtar git rsync zip split sort man less more vim vi nvim ex gdb make gmake scp sftp ssh wget apt "
        "apt-get tcpdump nmap mysql sqlite3 "
        "psql expect socat nc ncat netcat openssl curl dpkg date docker jq sed emacs screen tmux find cpio pip pip3 "
        "npm npx yarn "
        "ansible rpm yum dnf snap gcc g++ cc cmake cargo go journalctl systemctl top crash ftp nslookup mail mutt");
    add(kFiles,
        "cat tac head tail less more nl od hexdump xxd strings cp mv rm rmdir unlink chmod chown chgrp dd tee ln touch "
        "mkdir truncate shred install "
        "sed gsed sort uniq split csplit ls dir vdir stat file wc grep egrep fgrep rg awk gawk diff cmp cut paste tar "
        "bsdtar zip gzip curl wget tree du "
        "readlink md5sum sha1sum sha256sum base64 rsync scp find mkfifo mknod chattr setfacl setfattr source . cpio "
        "fallocate "
        "iconv tr rev od jq column bzip2 xz gunzip unzip nano vim vi ed ex patch openssl gpg git sponge xargs visudo "
        "ncat less mapfile shuf strace ltrace gcc g++ cc clang clang++ tcc rustc ld as sqlite3 script ssh-keygen "
        "tcpdump "
        "tshark dumpcap rename prename mmv 7z ar gpg2 aria2c perf gtime pandoc dot xmllint bison flex wget2 nmap "
        "masscan");
    add(kHosts,
        "curl wget wget2 aria2c nc ncat netcat socat telnet ftp sftp tftp scp ssh rsync lftp git ping ping6 dig host "
        "nslookup nmap traceroute "
        "lynx w3m links http https axel hping3 masscan openssl arping svn hg ssh-copy-id mosh rlogin rsh whois drill "
        "smbclient mount "
        "redis-cli mysql psql");
    return t;
  }();
  auto it = table.find(name);
  if (it != table.end()) return it->second;
  return name.starts_with("python") || name.starts_with("perl5") || name.starts_with("ruby") || name.starts_with("lua")
             ? static_cast<unsigned>(kInterpreter)
             : 0U;
}

// As the plugin's set-up file has it; and cd, which restricted shells refuse.
bool is_off_when_restricted(std::string_view name) {
  return one_of(name, " exec eval source . command builtin trap ulimit umask enable cd ");
}

}  // namespace

std::string Analyser::command_name(const Field& f, const Call& c) {
  if (f.known) {
    bool pattern = f.glob && f.text != "[" && f.text != "]" && f.text.find_first_of("*?[") != std::string::npos;
    if (!pattern) return base_name(f.text);
    construct("glob-command", f.text, c);
    return known_program(f.text);
  }
  std::size_t slash = f.text.rfind('/');
  // "$here"/tool: which tool is known, where it lies is not.
  if (slash != std::string::npos && f.process == kNoShell && f.text.find("$…", slash) == std::string::npos &&
      slash + 1 < f.text.size())
    return f.text.substr(slash + 1);
  if ((f.taint & kSelf) != 0) return "$0";
  if (f.origin == "_") {  // the last word of the command before
    construct("dynamic-command", "the last word of the command before", c);
    return {};
  }
  std::string why = (f.taint & kNetwork) != 0        ? "from the network"
                    : (f.taint & kDecoded) != 0      ? "decoded"
                    : (f.taint & kSubstitution) != 0 ? "output of a command"
                    : (f.taint & kInput) != 0        ? "read from input"
                    : !f.origin.empty()              ? cat("environment variable ", f.origin)
                                                     : "not constant";
  construct("dynamic-command", why, c);
  return {};
}

// For a profile that lists commands: whatever is not a function of the script or a builtin that bash -r still has.
void Analyser::runs_command(const std::string& spelled, const std::string& shown, const Call& c) {
  construct(cat("command:", spelled.substr(0, 256)), shown, c);
}

// Parameters that nothing sets are empty: r$@m is rm, and so is the second word of `$x rm`. Only for the word that names
// the command: in an argument they are what the caller gives.
void Analyser::run_without_unset(Args words, Call c) {
  const Field& f = words[0];
  if (f.known || f.glob || f.taint != kNoTaint || f.process != kNoShell) return;
  Fields rest(words.begin(), words.end());
  std::string& text = rest[0].text;
  for (std::size_t at = text.find(kUnknown); at != std::string::npos; at = text.find(kUnknown, at))
    text.erase(at, kUnknown.size());
  rest[0].known = true;
  if (text.empty()) rest.erase(rest.begin());
  if (rest.empty() || !rest[0].known) return;
  ++c.depth;
  run_command(rest, c);
}

// The script says by a variable where these ask, and with what configuration.
bool Analyser::pointed_elsewhere(const std::string& name) const {
  auto sets = [&](const char* variable) { return st_.assigned.contains(variable); };
  if (name == "kubectl") return sets("KUBECONFIG");
  return one_of(name, " docker podman nerdctl ") && (sets("DOCKER_HOST") || sets("DOCKER_CONFIG") || sets("CONTAINER_HOST"));
}

void Analyser::run_command(Args words, Call c) {
  if (words.empty() || c.depth > 8) return;
  if (words[0].text.empty() && words[0].known) return;
  std::string name = command_name(words[0], c);
  std::string detail = joined(words);
  if (words[0].known && !name.empty() && words[0].text != name)
    detail = cat(name, std::string_view(detail).substr(std::min(detail.size(), words[0].text.size())));
  std::string said = name.empty() ? std::string(kUnknown) : only_looks(name, words) && !pointed_elsewhere(name) ? cat("looks:", name) : name;
  if (changes_machine(name, words)) construct("changes-machine", detail, c);
  say(FactKind::kCommand, std::move(said), std::move(detail), c.at);
  if (name.empty()) {
    runs_command(std::string(kUnknown), words[0].text, c);
    return run_without_unset(words, c);
  }
  // $0 with -c is the shell that runs the script, when it is run by its text.
  if (name == "$0" && words.size() > 2 && words[1].text.starts_with("-") &&
      words[1].text.find('c') != std::string::npos)
    return shell_program("bash", words, c);
  if ((words[0].known || words[0].text.starts_with("/proc/")) &&
      (words[0].text.starts_with("/proc/") || words[0].text.find("/../") != std::string::npos))
    construct("odd-command-path", words[0].text, c);
  if (!st_.aliases.empty() && words[0].text == name)
    if (auto it = st_.aliases.find(name); it != st_.aliases.end()) {
      std::string text = it->second;
      if (base_name(trim(text)) != name && !text.starts_with(name + " ")) {
        for (const Field& f : words.subspan(1)) {
          text += " '";
          for (char ch : f.text) text += ch == '\'' ? std::string("'\\''") : std::string(1, ch);
          text += '\'';
        }
        evaluate_text(std::move(text), c);
      }
    }
  if (words[0].text == name && !st_.functions.empty() && c.depth == 0 && call_function(name, words)) return;
  if (c.depth == 0 && kinds_of(name) == 0 && !is_builtin(name) && st_.functions.contains("command_not_found_handle")) {
    Fields handed(words.begin(), words.end());  // perhaps there is no such program
    handed.insert(handed.begin(), words[0]);
    call_function("command_not_found_handle", handed);
  }
  if (!is_builtin(name) || words[0].text != name || is_off_when_restricted(name)) runs_command(words[0].text, name, c);
  const bool perhaps_function = st_.sourced && words[0].text == name && kinds_of(name) == 0;
  if (!perhaps_function && (words[0].text != name || !is_builtin(name))) starts_program(name, c);
  if (words[0].text.find('/') != std::string::npos && run_written_file(words[0], c)) return;
  if (name == "echo" || name == "printf") shown(words, c);
  unsigned k = kinds_of(name);
  if (k == 0) return other_files(words, c);
  if ((k & kBuiltin) != 0 && shell_builtin(name, words, c)) return;
  if ((k & kInterpreter) != 0) interpreter(name, words, c);
  if ((k & kByOption) != 0) runs_program_by_option(name, words, c);
  if ((k & kFiles) != 0) files(name, words, c);
  if ((k & kHosts) != 0) hosts(name, words, c);
  if ((k & kWrapper) != 0) wrapper(name, words, c);
}

// A program nobody here knows: a path outside that it is given is taken to be read.
void Analyser::other_files(Args words, const Call& c) {
  static constexpr std::string_view kQuiet =
      " echo printf true false : test [ ] exit return which type basename dirname realpath pwd sleep seq expr logger "
      "date cd pushd popd "
      "break continue shift wait jobs fg bg times umask ulimit let getopts shopt tput clear kill trap set unset ";
  if (words.empty() || one_of(words[0].text, kQuiet) || st_.functions.contains(words[0].text)) return;
  for (std::size_t i = 1; i < words.size() && i < 64; ++i) {
    Field f = words[i];
    if (f.text.starts_with('-')) {
      std::size_t equals = f.text.find('=');
      if (equals == std::string::npos) continue;
      f.text = f.text.substr(equals + 1);
    }
    if (f.known && (f.text.starts_with('/') || f.text.starts_with("~/"))) read_path(f, c);
  }
}

bool Analyser::wrapper(const std::string& name, Args words, const Call& c) {
  if (name == "find" || name == "fd" || name == "fdfind") return find(words, c), true;
  if (name == "xargs") return xargs(words, c), true;
  Call inner = c;
  inner.depth = c.depth + 1;
  auto rest_from = [&](std::size_t i) {
    if (i < words.size()) run_command(words.subspan(i), inner);
  };
  if (name == "busybox" || name == "toybox") return rest_from(1), true;
  if (name == "run-parts") return run_parts(words, c), true;
  if (name == "watch" || name == "parallel") {
    std::size_t i = 1;
    while (i < words.size() && words[i].text.starts_with('-'))
      i += one_of(words[i].text, " -n --interval -j --jobs -S -a -I ") ? 2 : 1;
    Field code;
    if (name == "parallel" && i < words.size() && words[i].text.starts_with(":::")) {  // each argument is a command
      for (++i; i < words.size(); ++i) code_from(words[i], name, c);
      return true;
    }
    for (bool first = true; i < words.size() && !words[i].text.starts_with(":::"); ++i, first = false) {
      code.text += (first ? "" : " ") + words[i].text;
      code.known = code.known && words[i].known;
      code.taint |= words[i].taint;
    }
    if (code.text.empty() && name == "parallel" && c.input != nullptr && c.input->has_value()) code = **c.input;
    if (!code.text.empty()) code_from(code, name, c);
    return true;
  }
  if (name == "ip") {  // netns exec NAME command, vrf exec NAME command, -all netns exec command
    bool all = false;
    for (std::size_t i = 1; i < words.size(); ++i) {
      const std::string& w = words[i].text;
      all = all || w == "-a" || w == "-all";
      if (w == "-b" || (w.size() > 2 && std::string_view("-batch").starts_with(w)))
        construct("runs-command", joined(words), c);  // commands of a file
      if (w == "exec" && one_of(words[i - 1].text, " netns vrf ")) return rest_from(i + (all ? 1 : 2)), true;
    }
    return true;
  }
  struct Row {
    std::string_view names, valued;  // options that take the next word
    std::size_t skip;                // words that are not the command's
  };
  static constexpr Row kRows[] = {
      {" sudo doas pkexec ", " -u -g -p -C -c -D -h -R -r -t -T -U --user --group ", 0},
      {" env ", " -u -C --unset --chdir ", 0},
      {" timeout ", " -k -s --signal --kill-after ", 1},
      {" nice ", " -n ", 0},
      {" ionice chrt taskset ", " -c -n -p ", 0},
      {" stdbuf ", " -i -o -e ", 0},
      {" strace ltrace ", " -o -e -E -p -s -u -a -I -O -b -P -S -X -U ", 0},
      {" flock ", " -w -E --timeout ", 1},
      {" chroot ", " --userspec --groups ", 1},
      {" nsenter unshare ", " -t -S -G --target ", 0},
      {" exec ", " -a ", 0},
      {" ssh ", " -b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -B ", 1},
      {" perf ", "", 1},
      {" prlimit setpriv choom ", " -p -n ", 0},
      {" start-stop-daemon ", " -p -u -g -c -d --pidfile --chuid ", 0},
      {" time gtime ", " -f -o ", 0},
  };
  std::string_view valued;
  std::size_t skip = 0;
  for (const Row& r : kRows)
    if (one_of(name, r.names)) valued = r.valued, skip = r.skip;
  std::size_t i = 1;
  for (; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (name == "command" && (w == "-v" || w == "-V")) return true;
    if (w == "--") {
      ++i;
      break;
    }
    if ((name == "su" || name == "runuser" || name == "script" || name == "flock" || name == "sg" || name == "capsh" ||
         name == "newgrp") &&
        (w == "-c" || w == "--command" || w == "-qc" || w == "-lc")) {
      if (i + 1 < words.size()) code_from(words[i + 1], name, c);
      return true;
    }
    if (name == "env" && (w == "-S" || w == "--split-string") && i + 1 < words.size())
      return code_from(words[i + 1], name, c), true;
    if (name == "env" && (w.starts_with("-S") || w.starts_with("--split-string=") || w.starts_with("-vS"))) {
      Field code = words[i];
      code.text = w.substr(w.starts_with("-S") ? 2 : w.starts_with("-vS") ? 3 : 15);
      return code_from(code, name, c), true;
    }
    if ((name == "start-stop-daemon" || name == "gdb") && (w == "-x" || w == "--exec" || w == "-a" || w == "--args") &&
        i + 1 < words.size()) {
      ++i;
      break;
    }
    std::size_t equals = w.find('=');
    if ((name == "env" || name == "sudo") && equals != std::string::npos && equals > 0 && !w.starts_with('-')) {
      Field value = words[i];
      value.text = w.substr(equals + 1);
      special_variable(std::string_view(w).substr(0, equals), value, c.at);
      subscript(value, c);
      continue;
    }
    if (!w.starts_with('-') || w == "-") {
      // The kind of machine may stand first, or be left out.
      if (name == "setarch" &&
          one_of(w, " x86_64 i386 i486 i586 i686 linux32 linux64 uname26 aarch64 arm armv7l ppc s390x "))
        continue;
      if (skip == 0) break;
      --skip;
      continue;
    }
    if (!valued.empty() && one_of(w, valued)) ++i;
  }
  if (name == "su" || name == "runuser" || name == "script" || name == "sg" || name == "newgrp") return true;
  if (name == "ssh" || name == "capsh") {
    Field code;
    for (std::size_t k = i; k < words.size(); ++k) {
      code.text += (k > i ? " " : "") + words[k].text;
      code.known = code.known && words[k].known;
    }
    if (!code.text.empty() && name == "ssh" && code.known) evaluate_text(code.text, c);
    return true;
  }
  if ((name == "ionice" || name == "chrt" || name == "taskset") && i + 1 < words.size() && !words[i].text.empty() &&
      words[i].text.find_first_not_of("0123456789abcdefx,-") == std::string::npos)
    ++i;
  rest_from(i);
  return true;
}

void Analyser::find(Args words, const Call& c) {
  Fields roots;
  std::size_t i = 1;
  for (; i < words.size() && (!words[i].text.starts_with('-') || one_of(words[i].text, " -L -H -P ")) &&
         words[i].text != "(" && words[i].text != "!";
       ++i)
    if (!words[i].text.starts_with('-')) roots.push_back(words[i]);
  if (roots.empty()) roots.emplace_back().text = ".";
  bool deletes = false, by_name = false;
  for (; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (w == "-delete") deletes = true;
    if (one_of(w, " -name -iname -path -regex ") && i + 1 < words.size())
      by_name |= words[i + 1].text.find_first_not_of(".*?/") != std::string::npos;
    if ((w == "-fprint" || w == "-fprintf" || w == "-fls" || w == "-fprint0") && i + 1 < words.size())
      write_path(words[i + 1], c);
    if (!one_of(w, " -exec -execdir -ok -okdir -x -X --exec --exec-batch ")) continue;
    std::size_t end = i + 1;
    while (end < words.size() && words[end].text != ";" && !(words[end].text == "+" && words[end - 1].text == "{}"))
      ++end;
    Fields inner;
    for (std::size_t k = i + 1; k < end; ++k) {
      inner.push_back(words[k]);
      // What is found below the root stands for {}.
      if (inner.back().text == "{}") {
        inner.back().text = roots[0].text;
        inner.back().known = roots[0].known;
      }
    }
    Call deeper = c;
    deeper.depth = c.depth + 1;
    bool removes = !inner.empty() && one_of(base_name(inner[0].text), " rm unlink shred rmdir ");
    deletes = deletes || removes;
    if (!inner.empty() && !removes)
      run_command(inner, deeper);
    else if (removes)
      say(FactKind::kCommand, base_name(inner[0].text), joined(inner), c.at);
    i = end;
  }
  if (deletes)
    for (Field r : roots) {
      if (by_name && one_of(r.text, " /tmp /tmp/ /var/tmp /var/tmp/ ")) r.text += "/named";  // some files of it
      recursive("recursive-delete", r, c);
    }
}

void Analyser::xargs(Args words, const Call& c) {
  std::size_t i = 1;
  bool nul = false;
  std::string replace;
  for (; i < words.size() && words[i].text.starts_with('-'); ++i) {
    const std::string& w = words[i].text;
    nul = nul || w == "-0" || w == "--null" || (w[1] != '-' && w.find('0') != std::string::npos);
    if (w == "-I" || w == "--replace")
      replace = i + 1 < words.size() ? words[i + 1].text : "{}";
    else if (w.starts_with("-I"))
      replace = w.substr(2);
    if (one_of(w, " -I -n -P -L -d -s -E -a --max-args --max-procs --delimiter --arg-file ")) ++i;
  }
  Fields inner(words.begin() + static_cast<long>(std::min(i, words.size())), words.end());
  if (inner.empty()) inner.emplace_back().text = "echo";
  Fields more;
  bool constant = c.input != nullptr && c.input->has_value() && (*c.input)->known;
  if (constant) {
    std::string_view text = (*c.input)->text;
    for (std::size_t at = 0; at < text.size() && more.size() < 256;) {
      std::size_t to =
          std::min(nul ? text.find('\0', at) : text.find_first_of(replace.empty() ? " \t\n" : "\n", at), text.size());
      if (to > at) more.emplace_back().text = text.substr(at, to - at);
      at = to + 1;
    }
  } else {
    more.push_back(unknown(
        {}, c.input != nullptr && c.input->has_value() ? (*c.input)->taint : static_cast<std::uint8_t>(kInput)));
  }
  if (replace.empty()) {
    inner.insert(inner.end(), more.begin(), more.end());
  } else {
    for (Field& f : inner) {
      std::size_t at = f.text.find(replace);
      if (at == std::string::npos || more.empty()) continue;
      f.text.replace(at, replace.size(), more[0].text);
      f.known = f.known && more[0].known;
      f.taint |= more[0].taint;
    }
  }
  Call deeper = c;
  deeper.depth = c.depth + 1;
  deeper.input = nullptr;
  run_command(inner, deeper);
}

}  // namespace hotcell::bash
