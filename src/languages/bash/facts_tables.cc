// Which programs are which.
#include <array>

#include "base/strings.h"
#include "languages/bash/facts_analyser.h"
#include "languages/bash/facts_text.h"

namespace hotcell::bash {

bool one_of(std::string_view word, std::string_view list) {
  if (word.empty() || word.find(' ') != std::string_view::npos) return false;
  for (std::size_t at = list.find(word); at != std::string_view::npos; at = list.find(word, at + 1))
    if (at > 0 && list[at - 1] == ' ' && at + word.size() < list.size() && list[at + word.size()] == ' ') return true;
  return false;
}

std::string base_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  std::size_t slash = path.rfind('/');
  return std::string(slash == std::string_view::npos || path.size() == 1 ? path : path.substr(slash + 1));
}

std::string joined(std::span<const Field> words) {
  std::string out;
  for (const Field& f : words) {
    if (!out.empty()) out += ' ';
    out += f.text.size() > 400 ? f.text.substr(0, 400) : f.text;
    if (out.size() > 1000) break;
  }
  return out;
}

namespace {

using Words = std::unordered_set<std::string_view>;

Words words_of(std::string_view list) {
  Words out;
  for (std::string_view w : split(list, ' '))
    if (!w.empty()) out.insert(w);
  return out;
}

}  // namespace

bool is_shell(std::string_view name) {
  static const Words words =
      words_of("sh bash zsh dash ksh ksh93 mksh lksh ash hush fish rbash rzsh tcsh csh yash pwsh elvish xonsh posh ");
  return words.contains(name);
}

bool is_interpreter(std::string_view name) {
  static const Words words = words_of(
      "sh bash zsh dash ksh ksh93 mksh lksh ash hush fish rbash rzsh tcsh csh yash pwsh elvish xonsh posh "
      "python pypy perl ruby node nodejs deno bun php lua luajit tclsh wish expect guile racket gforth "
      "Rscript R octave julia ghci erl elixir iex scala groovy jshell osascript awk gawk mawk nawk bc dc ed "
      "sed vim vi ex ");
  while (!name.empty() && ((name.back() >= '0' && name.back() <= '9') || name.back() == '.')) name.remove_suffix(1);
  return words.contains(name);
}

bool is_network(std::string_view name) {
  static const Words words = words_of(
      "curl wget wget2 aria2c nc ncat netcat nc.openbsd nc.traditional socat telnet ftp sftp tftp scp ssh "
      "rsync lftp lynx w3m links fetch http https httpie xh axel dig host nslookup drill GET lwp-request "
      "openssl_s_client ");
  return words.contains(name);
}

bool is_decoder(std::string_view name) {
  static const Words words = words_of(
      "base64 base32 basenc xxd uudecode openssl rev gunzip zcat bunzip2 bzcat xzcat unxz zstdcat gzip xz "
      "bzip2 zstd gpg lzma unlzma lz4 uncompress b64decode od hexdump ");
  return words.contains(name);
}

bool is_builtin(std::string_view name) {
  static const Words words = words_of(
      ". : [ alias bg bind break builtin caller cd command compgen complete compopt continue declare dirs disown echo "
      "enable eval exec exit "
      "export false fc fg getopts hash help history jobs kill let local logout mapfile popd printf pushd pwd read "
      "readarray readonly return "
      "set shift shopt source suspend test times trap true type typeset ulimit umask unalias unset wait");
  return words.contains(name);
}

bool is_everyday(std::string_view name) {
  static const Words words = words_of(
      "ls cat cd rm cp mv ln mkdir rmdir touch chmod chown ps kill top grep egrep sed awk find sort head tail less "
      "more echo printf pwd "
      "sudo su ssh scp curl wget git python python3 pip node npm bash sh vim nano man df du tar zip unzip ping whoami "
      "id date env "
      "export alias source test true false apt apt-get make gcc read exit type which");
  return words.contains(name);
}

bool acts_on_input(std::string_view name) {
  static const Words words =
      words_of("xargs parallel source . eval at batch ssh read mapfile crontab stdin busybox make gmake");
  return words.contains(name) || is_interpreter(name);
}

// Programs worth hiding behind a pattern. Their folders are tried, too, since patterns spell those as well.
std::string known_program(std::string_view pattern) {
  static constexpr std::array<std::string_view, 46> kNames = {
      "sh",   "bash",   "dash",    "zsh",   "ksh",  "rm",       "cat",    "nc",    "curl",  "wget", "python", "python3",
      "perl", "ruby",   "node",    "php",   "sudo", "su",       "dd",     "chmod", "chown", "mv",   "cp",     "ln",
      "kill", "pkill",  "mkfs",    "mount", "ssh",  "scp",      "env",    "find",  "xargs", "awk",  "sed",    "tar",
      "tee",  "base64", "busybox", "id",    "ls",   "shutdown", "reboot", "head",  "tail",  "git"};
  for (std::string_view folder : {"", "/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/", "./"})
    for (std::string_view name : kNames)
      if (pattern_matches(pattern, cat(folder, name))) return std::string(name);
  return {};
}

}  // namespace hotcell::bash
