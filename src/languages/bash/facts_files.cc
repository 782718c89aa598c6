// Which paths well-known commands read and write.
#include <fnmatch.h>

#include "base/strings.h"
#include "languages/bash/facts_analyser.h"
#include "languages/bash/facts_text.h"

namespace hotcell::bash {
namespace {

bool interesting(std::string_view path) {
  return path.starts_with('/') || path.starts_with('~') || path == ".." || path.starts_with("../");
}

bool below(std::string_view path, std::string_view folder) {
  return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

// Options that take the next word, so that it is no path.
std::string_view valued_options(std::string_view name) {
  if (name == "head" || name == "tail") return " -n -c --lines --bytes ";
  if (one_of(name, " grep egrep fgrep rg ")) return " -e -m -A -B -C -f --include --exclude --color -g -t ";
  if (name == "cut") return " -d -f -c -b ";
  if (name == "sort") return " -k -t -S -T -o ";
  if (one_of(name, " cp mv ln install ")) return " -t -S -m -o -g --target-directory ";
  if (one_of(name, " chmod chown touch mkdir ")) return " -m -d -t -r --reference --date ";
  if (name == "truncate") return " -s --size -r ";
  if (name == "shred") return " -n -s --iterations --size ";
  if (one_of(name, " awk gawk ")) return " -F -v -f ";
  if (name == "diff" || name == "paste" || name == "od" || name == "stat" || name == "column")
    return " -U -d -t -A -N -j -w -c -f --format -s ";
  if (name == "tree" || name == "du") return " -L -P -I -d --max-depth ";
  if (name == "ls") return " -I -w -T ";
  if (name == "split" || name == "csplit") return " -l -b -n -a -C ";
  if (name == "fallocate") return " -l -o ";
  return "";
}

// Options whose value is a file that is written: short ones by their letter, also at the end of a cluster (-uo FILE),
// long ones by any beginning that says which (--outp FILE).
struct Outputs {
  std::string_view names, letters, words;
};
constexpr Outputs kOutputs[] = {
    {" sort shuf iconv gpg gpg2 strace ltrace time gtime pandoc dot xmllint objcopy ld as c++ clang clang++ gcc g++ cc "
     "tcc rustc bison flex "
     "yacc tree msgfmt ",
     "o", " --output --output-file "},
    {" curl ", "oDc", " --output --dump-header --cookie-jar --trace --trace-ascii --stderr --etag-save "},
    {" wget wget2 ", "OoaP", " --output-document --output-file --append-output --directory-prefix --save-cookies "},
    {" aria2c ", "od", " --out --dir --log "},
    {" tcpdump tshark dumpcap ", "w", " --write "},
    {" ssh-keygen ", "f", ""},
    {" csplit ", "f", " --prefix "},
    {" cp mv ln install ", "t", " --target-directory "},
    {" perf ", "o", " --output "},
    {" patch ", "or", " --output --reject-file "},
    {" go ", "o", ""},
    {" rsync ", "", " --log-file --backup-dir --partial-dir --temp-dir "},
    {" gawk awk ", "", " --dump-variables --profile --pretty-print --lint "},
    {" git ", "o", " --output --separate-git-dir "},
    {" unzip 7z ", "d", ""},
    {" screen ", "", " -Logfile "},
};
// Single words in front of a file, as openssl and nmap have them.
constexpr std::pair<std::string_view, std::string_view> kWordOptions[] = {
    {" openssl ", " -out -keyout -writerand -certout "},
    {" nmap masscan ", " -oN -oX -oG -oA -oS "},
    {" keytool ", " -keystore -file "},
    {" ffmpeg convert magick ", " -report "},
};

// How many letters of `word` are the option's name, when it is an output option of the program; 0: it is none.
std::size_t output_option(std::string_view name, std::string_view word) {
  for (const auto& [names, words] : kWordOptions)
    if (one_of(name, names) && one_of(word, words)) return word.size();
  for (const Outputs& o : kOutputs) {
    if (!one_of(name, o.names)) continue;
    if (word.starts_with("--")) {
      std::string_view option = word.substr(0, word.find('='));
      if (option.size() < 4) continue;
      for (std::size_t at = o.words.find(option); at != o.words.npos; at = o.words.find(option, at + 1))
        if (at > 0 && o.words[at - 1] == ' ') return option.size();
    } else if (word.size() > 1 && word[0] == '-' && !o.letters.empty()) {
      // -oFILE, -o FILE, -uo FILE: what stands before the letter are letters of other options.
      std::size_t at = word.find_first_of(o.letters, 1);
      // -qO/etc/x: behind the letter there is a path, or nothing.
      bool cluster =
          at != word.npos && (at == 1 || at + 1 == word.size() || word[at + 1] == '/' || word[at + 1] == '~');
      for (std::size_t i = 1; cluster && i < at; ++i) cluster = isalpha(static_cast<unsigned char>(word[i])) != 0;
      if (cluster) return at + 1;
    }
  }
  return 0;
}

}  // namespace

void Analyser::output_files(const std::string& name, Args words, const Call& c) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (w == "--") break;
    std::size_t option = w.size() > 1 && w[0] == '-' ? output_option(name, w) : 0;
    if (option == 0 || (name == "curl" && w == "-O")) continue;
    Field file = option < w.size() ? words[i] : i + 1 < words.size() ? words[i + 1] : Field{};
    if (option < w.size()) {
      file.text = w.substr(option + (w[option] == '=' ? 1 : 0));
      if (!file.known && file.text.starts_with(kUnknown)) file.origin = file.outside;
    }
    if (!file.text.empty() && file.text != "-") write_path(file, c);
  }
}

void Analyser::read_path(const Field& f, const Call& c) {
  if (!f.known) {
    // The folder in front of what is unknown tells enough: /etc/$x
    std::size_t cut = f.text.find(kUnknown);
    if (cut == std::string::npos || cut < 2 || !interesting(f.text)) return;
  } else if (f.text.starts_with("/dev/tcp/") || f.text.starts_with("/dev/udp/")) {
    return construct("dev-tcp", f.text, c);
  }
  std::string path = normalise_path(f.text, st_.folder);
  // The last part must say something of the name: all of a folder is many things besides its secrets.
  const auto last = path.substr(path.rfind('/') + 1);
  if (f.known && path.find_first_of("*?[") != std::string::npos && last.find_first_not_of("*?") != std::string::npos &&
      interesting(path))
    for (const char* secret : {"/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/passwd", "~/.ssh/id_rsa",
                               "~/.aws/credentials", "~/.netrc", "/proc/self/environ"})
      if (path.find_first_not_of("/*?") != std::string::npos && ::fnmatch(path.c_str(), secret, FNM_PATHNAME) == 0)
        say(FactKind::kReadPath, secret, "", c.at);
  if (interesting(path)) say(FactKind::kReadPath, std::move(path), "", c.at);
}

// What the whole content of a file is shown or taken by, when only the environment says which file.
void Analyser::shown_file(const Field& f, const Call& c) {
  if (!f.known && !f.origin.empty() && f.text == kUnknown && f.process == kNoShell)
    construct("read-by-environment", cat("$", f.origin), c);
}

void Analyser::write_path(const Field& f, const Call& c) {
  bool nothing =
      f.known && (one_of(f.text, " /dev/null /dev/stdout /dev/stderr /dev/tty ") || f.text.starts_with("/dev/fd/"));
  if (!nothing && !f.text.empty()) construct("writes-file", f.text.substr(0, 200), c);
  if (!f.known) {
    if (!f.origin.empty() && f.text.starts_with(kUnknown))
      return construct("write-by-environment", cat("$", f.origin), c);
    std::size_t cut = f.text.find(kUnknown);
    if (cut == std::string::npos || cut < 2 || !interesting(f.text)) return;
  }
  if (f.text.empty()) return;
  std::string path = normalise_path(f.text, st_.folder);
  // A part of the name that begins with a dot: ls does not show it.
  for (std::size_t at = 0; at < path.size();
       at = path.find('/', at) == std::string::npos ? path.size() : path.find('/', at) + 1)
    if (path[at] == '.' && at + 1 < path.size() && path[at + 1] != '.' && path[at + 1] != '/') {
      construct("hidden-file", path, c);
      break;
    }
  if (path.starts_with(".git/hooks/") || path.find("/.git/hooks/") != std::string::npos)
    return say(FactKind::kWritePath, std::move(path), "", c.at);
  if (!interesting(path)) return;
  bool device = below(path, "/dev") &&
                !one_of(path, " /dev/null /dev/stdout /dev/stderr /dev/tty /dev/stdin /dev/zero /dev/full ") &&
                !below(path, "/dev/fd") && !below(path, "/dev/shm") && !below(path, "/dev/pts");
  if (device) construct("device-write", path, c);
  say(FactKind::kWritePath, std::move(path), "", c.at);
}

// root, system, home, below-home, tmp, parent, work, relative, unknown-below, unknown
std::string Analyser::target_class(const Field& f) const {
  if (!f.known) {
    if (f.text == kUnknown) return f.origin.empty() ? "unknown" : "environment";
    // "$x/"*: when $x is empty that is the root.
    if (f.text.starts_with(kUnknown) && !f.origin.empty()) {
      std::string rest = f.text.substr(kUnknown.size());
      if (rest == "/" || rest == "/*" || rest == "*") return "environment";
    }
    if (f.text.starts_with(kUnknown)) return "unknown";
  }
  std::string path = normalise_path(f.text, st_.folder);
  if (path == "/" || path == "/*" || path == "/.*" || path == "/**" || path == "/?*" || path == "/{*,.*}")
    return "root";
  if (below(path, "/tmp") || below(path, "/var/tmp") || below(path, "/dev/shm"))
    return path.ends_with("tmp") || path.ends_with("tmp/*") ? "tmp-whole" : "tmp";
  if (below(path, "/work") || below(path, "/workspace")) return "relative";
  if (path.starts_with('/')) return "system";
  if (path == "~" || path == "~/*" || path == "~/.*" || (path.starts_with('~') && path.find('/') == std::string::npos))
    return "home";
  if (path.starts_with('~')) return "below-home";
  if (path == ".." || path.starts_with("../")) return "parent";
  if (path == "." || path == "*" || path == ".*" || path == "./*") return "work";
  return "relative";
}

void Analyser::recursive(std::string_view construct_name, const Field& target, const Call& c) {
  std::string kind = target_class(target);
  construct(construct_name, cat(kind, ": ", target.text.substr(0, 200)), c);
  if (target.known) write_path(target, c);
}

void Analyser::files(const std::string& name, Args words, const Call& c) {
  output_files(name, words, c);
  std::vector<const Field*> operands;
  std::string flags;  // the letters of short options, and long ones between spaces
  std::string_view valued = valued_options(name);
  bool only_operands = false;
  const Field* output = nullptr;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const Field& word = words[i];
    const std::string& w = word.text;
    if (!only_operands && w == "--") {
      only_operands = true;
    } else if (!only_operands && w.size() > 1 && w[0] == '-') {
      if (w[1] == '-')
        flags += cat(" ", w, " ");
      else
        flags += w.substr(1);
      bool out = !(name == "curl" && w == "-O") && output_option(name, w) == w.size();
      if (out && i + 1 < words.size()) output = &words[i + 1];
      if ((!valued.empty() && one_of(w, valued)) || out) ++i;
    } else {
      operands.push_back(&words[i]);
    }
  }
  if (one_of(name, " cat tac head tail less more nl od hexdump xxd strings base64 base32 rev "))
    for (const Field* f : operands) shown_file(*f, c);
  bool recurse = flags.find('r') != std::string::npos || flags.find('R') != std::string::npos ||
                 flags.find("--recursive") != std::string::npos;
  if (name == "rm" || name == "unlink" || name == "rmdir" || name == "shred") {
    bool letters = false;  // -r among short options, not a letter of a long one
    for (const Field& f : words.subspan(1))
      letters = letters ||
                (f.text.size() > 1 && f.text[0] == '-' && f.text[1] != '-' &&
                 f.text.find_first_of("rR") != std::string::npos) ||
                f.text.starts_with("--r");
    for (const Field* f : operands) {
      if (letters && name == "rm")
        recursive("recursive-delete", *f, c);
      else {
        construct("delete", cat(target_class(*f), ": ", f->text.substr(0, 200)), c);
        write_path(*f, c);
      }
    }
  } else if (one_of(name, " chmod chown chgrp chattr setfacl ")) {
    for (std::size_t i = 1; i < operands.size(); ++i) {
      std::string kind = target_class(*operands[i]);
      if (recurse && (kind == "root" || kind == "system" || kind == "home"))
        construct("recursive-mode", cat(kind, ": ", joined(words)), c);
      write_path(*operands[i], c);
    }
    if (name == "chmod" && !operands.empty()) {
      const std::string& mode = operands[0]->text;
      bool digits = !mode.empty() && mode.find_first_not_of("01234567") == std::string::npos;
      bool set_id =
          (digits && mode.size() == 4 && mode[0] >= '2' && mode[0] != '1') ||
          (!digits && (mode.find("+s") != std::string::npos || mode.find("=s") != std::string::npos)) ||
          (!digits && mode.find('+') != std::string::npos && mode.find('s', mode.find('+')) != std::string::npos);
      if (set_id) construct("set-id", joined(words), c);
      bool open_to_all = digits && (mode.back() == '7' || mode.back() == '6' || mode.back() == '2');
      if (open_to_all || mode.find("o+w") != std::string::npos || mode.find("a+rwx") != std::string::npos ||
          mode == "ugo+rwx" || mode.find("a+w") != std::string::npos || mode == "a=rwx")
        construct("world-writable", joined(words), c);
    }
    if (name == "chown" && !operands.empty() &&
        (operands[0]->text.starts_with("root") || operands[0]->text.starts_with("0")))
      construct("chown-root", joined(words), c);
  } else if (name == "dd") {
    std::string all = joined(words);
    for (std::string_view device : {"if=/dev/zero", "if=/dev/urandom", "if=/dev/random"})
      if (all.find(device) != std::string::npos && all.find("count=") == std::string::npos &&
          all.find(" of=") != std::string::npos)
        construct("endless-copy", all, c);
    for (const Field& f : words.subspan(1)) {
      Field value = f;
      if (f.text.starts_with("of="))
        value.text = f.text.substr(3);
      else if (f.text.starts_with("if="))
        value.text = f.text.substr(3);
      else
        continue;
      // of="$x": the variable stands first in the value, though not in the word
      if (!value.known && c.node != kNoShell) {
        const ShellNode& n = s_.nodes[c.node];
        for (ShellId w = n.words; w < n.words + n.word_count; ++w) {
          const ShellWord& word = s_.words[w];
          if (word.count >= 2 && s_.parts[word.parts].text == f.text.substr(0, 3) &&
              s_.parts[word.parts + 1].kind == ShellPartKind::kParameter)
            value.origin = parameter(s_.parts[word.parts + 1]).origin;
        }
      }
      if (f.text[0] == 'o')
        write_path(value, c);
      else
        read_path(value, c);
    }
  } else if (one_of(name, " tee touch mkdir truncate mkfifo mknod fallocate sponge patch ")) {
    for (const Field* f : operands) write_path(*f, c);
    if (name == "mkfifo" && !operands.empty()) construct("named-pipe", joined(words), c);
  } else if (one_of(name, " cp mv ln install rsync scp ")) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      // A shell under another name, and a link to where the environment says.
      if (operands[i]->known && operands[i]->text.starts_with('/') && is_shell(base_name(operands[i]->text)) &&
          i + 1 < operands.size())
        construct("odd-command-path", joined(words), c);
      if (name == "ln" && !operands[i]->known && !operands[i]->origin.empty() &&
          operands[i]->text.starts_with(kUnknown))
        construct("write-by-environment", cat("$", operands[i]->origin), c);
      bool remote = (name == "rsync" || name == "scp") && operands[i]->text.find(':') != std::string::npos;
      bool last = i + 1 == operands.size() && output == nullptr && operands.size() > 1;
      if (remote) continue;
      if (last)
        write_path(*operands[i], c);
      else if (name == "mv") {
        std::string kind = target_class(*operands[i]);
        if (kind == "root" || kind == "home") construct("recursive-delete", cat(kind, ": ", joined(words)), c);
        write_path(*operands[i], c);
        read_path(*operands[i], c);
      } else
        read_path(*operands[i], c);
    }
    if (name == "rsync" && flags.find("--del") != std::string::npos && !operands.empty())
      recursive("recursive-delete", *operands.back(), c);
  } else if (name == "sed" || name == "gsed" || name == "awk" || name == "gawk") {
    bool in_place = flags.find('i') != std::string::npos && (name == "sed" || name == "gsed");
    bool program_by_option = flags.find('e') != std::string::npos && flags.find('i') == std::string::npos;
    for (std::size_t i = program_by_option ? 0 : 1; i < operands.size(); ++i) {
      if (in_place) write_path(*operands[i], c);
      read_path(*operands[i], c);
    }
  } else if (one_of(name, " grep egrep fgrep rg jq tr ")) {
    for (std::size_t i = 1; i < operands.size(); ++i) read_path(*operands[i], c);
  } else if (one_of(name, " rename prename mmv ")) {
    for (const Field* f : operands) write_path(*f, c);
  } else if (one_of(name, " zip 7z ar sqlite3 script ssh-keygen ")) {
    // The first file is the one that is made.
    std::size_t first = one_of(name, " 7z ar ") ? 1 : 0;
    for (std::size_t i = 1; name == "script" && i + 1 < words.size(); ++i)  // script -c COMMAND FILE
      if (words[i].text == "-c" || words[i].text == "-qc") first = 1;
    if (first < operands.size() && operands[first]->text != ":memory:" && name != "ssh-keygen")
      write_path(*operands[first], c);
    for (std::size_t i = first + 1; i < operands.size() && name != "sqlite3"; ++i) read_path(*operands[i], c);
    if (name == "sqlite3" && !operands.empty()) read_path(*operands[0], c);
  } else if (name == "openssl") {
    for (std::size_t i = 1; i + 1 < words.size(); ++i)
      if (one_of(words[i].text, " -in -inkey -CAfile -cert -key -kfile "))
        read_path(words[i + 1], c), shown_file(words[i + 1], c);
  } else if (name == "uniq" || name == "split" || name == "xxd" || name == "iconv") {
    if (!operands.empty()) read_path(*operands[0], c);
    if (operands.size() > 1 && name != "iconv") write_path(*operands[1], c);
  } else if (one_of(name, " tar bsdtar gzip bzip2 xz unzip gunzip cpio ")) {
    for (const Field* f : operands) {
      if (name == "tar" && f == operands[0] && operands.size() > 1 && !f->text.starts_with('/')) continue;
      read_path(*f, c);
    }
    // tar cf NAME …: the archive is written
    for (std::size_t i = 1; i + 1 < words.size(); ++i) {
      const std::string& w = words[i].text;
      bool letters = !w.starts_with("--") && w.size() < 12 && (w.starts_with('-') || i == 1);
      bool creates = flags.find('c') != std::string::npos || flags.find("--create") != std::string::npos ||
                     (!words[1].text.starts_with('-') && words[1].text.find('c') != std::string::npos);
      if (name.ends_with("tar") && creates && letters && w.ends_with('f')) write_path(words[i + 1], c);
    }
    for (std::size_t i = 1; i + 1 < words.size(); ++i)
      if (words[i].text == "-C" || words[i].text == "-d") write_path(words[i + 1], c);
  } else if (name == "curl" || name == "wget") {
    for (std::size_t i = 1; i < words.size(); ++i) {
      Field f = words[i];
      // What is fetched into a file cannot be read here; running that file is running it.
      bool named = one_of(words[i - 1].text, name == "curl" ? " -o --output " : " -O --output-document ");
      bool by_url = f.text.find("://") != std::string::npos && flags.find('O') != std::string::npos;
      if (name == "wget") by_url = f.text.find("://") != std::string::npos && flags.find('O') == std::string::npos;
      std::string file = named ? f.text : by_url ? base_name(f.text) : "";
      if (f.known && !file.empty() && file != "-" && st_.files.size() < 1000)
        st_.files[normalise_path(file, st_.folder)] = std::string(kUnknown);
      std::size_t at = f.text.find('@');
      bool data =
          i > 0 &&
          one_of(words[i - 1].text,
                 " -d --data --data-binary --data-raw --data-urlencode -F --form -T --upload-file --post-file ");
      if (f.text.starts_with("--post-file=")) at = 11, data = true;
      if (data && words[i - 1].text != "-T" && words[i - 1].text != "--upload-file" &&
          words[i - 1].text != "--post-file") {
        if (at == std::string::npos) continue;
        f.text = f.text.substr(at + 1);
      }
      if (data) read_path(f, c), construct("upload", joined(words), c);
      if (f.text.starts_with("file://")) {
        f.text = f.text.substr(7);
        read_path(f, c);
      }
    }
  } else if (name == "git") {
    for (std::size_t i = 1; i + 1 < words.size(); ++i)
      if (words[i].text == "-C") read_path(words[i + 1], c);
  } else if (name != "find" && name != "xargs" && name != "source" && name != ".") {
    for (const Field* f : operands) read_path(*f, c);
    if (one_of(name, " vim vi nano ed ex visudo "))
      for (const Field* f : operands) write_path(*f, c);
  } else if (name == "find") {
    for (const Field* f : operands) {
      if (f->text.starts_with('(') || f->text == "!") break;
      if (f == &words[1] || f == operands[0]) read_path(*f, c);
    }
  }
}

}  // namespace hotcell::bash
