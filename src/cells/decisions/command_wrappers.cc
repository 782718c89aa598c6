// Commands whose words are another command. How each reads its options is data; one that is not in its row makes the line
// unclear, since what follows might be its value and not the command.
#include <algorithm>
#include <array>

#include "base/strings.h"
#include "cells/decisions/command_lister.h"

namespace hotcell::cells {
namespace {

using Words = std::vector<CommandWord>;

struct Wrapper {
  std::string_view name;
  std::string_view flags, valued;           // letters of short options, without and with a value
  std::string_view long_flags, long_valued; // separated by blanks
  int before = 0;                           // words between the options and the command
  bool passes = true;                       // by itself it changes nothing that matters; false: it is judged as well
  bool assigns = false;                     // NAME=VALUE before the command
  bool more = false;                        // words are added that nobody knows yet
};

constexpr std::array kWrappers = {
    Wrapper{"env", "i0v", "uC", "ignore-environment null debug default-signal ignore-signal block-signal list-signal-handling", "unset chdir", 0, true, true},
    Wrapper{"nice", "0123456789", "n", "", "adjustment", 0},
    Wrapper{"ionice", "t", "cn", "ignore", "class classdata", 0},
    Wrapper{"nohup", "", "", "", "", 0},
    Wrapper{"setsid", "cfw", "", "ctty fork wait", "", 0},
    Wrapper{"time", "pvaq", "fo", "portability verbose append quiet", "format output", 0},
    Wrapper{"timeout", "v", "ks", "foreground preserve-status verbose", "kill-after signal", 1},
    Wrapper{"stdbuf", "", "ioe", "", "input output error", 0},
    Wrapper{"chrt", "abdfior", "", "all-tasks batch deadline fifo idle other rr reset-on-fork", "", 1},
    Wrapper{"taskset", "ac", "", "all-tasks cpu-list", "", 1},
    Wrapper{"command", "p", "", "", "", 0},
    Wrapper{"builtin", "", "", "", "", 0},
    Wrapper{"exec", "cl", "a", "", "", 0},
    Wrapper{"busybox", "", "", "", "", 0},
    Wrapper{"toybox", "", "", "", "", 0},
    Wrapper{"xargs", "0rtpxo", "nLPsIEda", "null no-run-if-empty verbose interactive exit open-tty", "max-args max-lines max-procs max-chars replace arg-file delimiter eof",
            0, true, false, true},
    Wrapper{"sudo", "ABbEeHiKklNnPSsv", "CDghpRrTtUu", "askpass background preserve-env edit set-home login non-interactive stdin shell validate",
            "user group prompt host chdir chroot close-from role type command-timeout other-user", 0, false, true},
    Wrapper{"doas", "nsL", "uCa", "", "", 0, false},
    Wrapper{"chroot", "", "", "skip-chdir", "userspec groups", 1, false},
    Wrapper{"unshare", "mipnuUCTrcf", "RwSG", "mount uts ipc net pid user cgroup time fork map-root-user map-current-user", "root wd setuid setgid map-user map-group", 0, false},
    Wrapper{"strace", "fFcCdhikqrtTvVxXyYzZn", "abeEIoOpPsSu", "follow-forks", "", 0, false},
    Wrapper{"flock", "sxnuFov", "wE", "shared exclusive nonblock unlock no-fork close verbose", "timeout conflict-exit-code", 1, false},
};

constexpr std::array<std::string_view, 7> kShells = {"bash", "sh", "dash", "zsh", "ksh", "ash", "rbash"};

bool is_one_of(std::string_view word, std::string_view list) {
  auto all = split(list, ' ');
  return !word.empty() && std::find(all.begin(), all.end(), word) != all.end();
}

bool is_assignment(const CommandWord& w) {
  auto equals = w.text.find('=');
  return equals != w.text.npos && equals > 0 && std::all_of(w.text.begin(), w.text.begin() + static_cast<std::ptrdiff_t>(equals), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// Where the options end, or words.size(). `strange`: one that is not known, or whose text is not.
std::size_t after_options(const Wrapper& w, const Words& words, std::size_t at, bool& strange) {
  for (; at < words.size(); ++at) {
    const std::string& text = words[at].text;
    if (!words[at].fixed) return strange = true, at;
    if (text == "--") return at + 1;
    if (text.size() < 2 || text[0] != '-') return at;
    if (text[1] == '-') {
      auto equals = text.find('=');
      std::string_view name = std::string_view(text).substr(2, equals == text.npos ? equals : equals - 2);
      if (is_one_of(name, w.long_valued)) {
        if (equals == text.npos) ++at;
      } else if (!is_one_of(name, w.long_flags)) {
        strange = true;
      }
      continue;
    }
    for (std::size_t i = 1; i < text.size(); ++i) {
      if (w.valued.find(text[i]) != w.valued.npos) {
        if (i + 1 == text.size()) ++at;
        break;
      }
      if (w.flags.find(text[i]) == w.flags.npos) strange = true;
    }
  }
  return std::min(at, words.size());
}

}  // namespace

bool is_harmless_variable(std::string_view name) {
  static constexpr std::array<std::string_view, 24> kHarmless = {
      "LANG", "LANGUAGE", "TZ", "CI", "DEBUG", "VERBOSE", "TERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "NODE_ENV", "RUST_BACKTRACE",
      "RUST_LOG", "GOOS", "GOARCH", "CGO_ENABLED", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "SOURCE_DATE_EPOCH", "MAKELEVEL", "TESTING"};
  return name.starts_with("LC_") || std::find(kHarmless.begin(), kHarmless.end(), name) != kHarmless.end();
}

std::string_view base_name(std::string_view program) {
  auto slash = program.rfind('/');
  return slash == program.npos ? program : program.substr(slash + 1);
}

bool CommandLister::text(const Words& words, std::size_t from) {
  std::string all;
  for (std::size_t i = from; i < words.size(); ++i) {
    if (!words[i].fixed) return unclear("the text of the command inside is not known before it runs"), false;
    all += cat(i == from ? "" : " ", words[i].text);
  }
  script(all);
  return true;
}

bool CommandLister::wrapper(const Words& words, std::size_t name, std::string_view base) {
  auto w = std::find_if(kWrappers.begin(), kWrappers.end(), [&](const Wrapper& row) { return row.name == base; });
  if (w == kWrappers.end()) return false;
  bool strange = false;
  std::size_t at = after_options(*w, words, name + 1, strange);
  Words inner;
  if (w->assigns)
    for (; at < words.size() && is_assignment(words[at]); ++at)
      if (!is_harmless_variable(std::string_view(words[at].text).substr(0, words[at].text.find('=')))) inner.push_back(words[at]);
  at += static_cast<std::size_t>(w->before);
  if (strange) unclear(cat("an option of ", base, " that is not known here"));
  if (at >= words.size()) return false;  // prints, or does nothing: judged by itself
  std::size_t inner_name = inner.size();
  inner.insert(inner.end(), words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  if (w->more) inner.push_back({"...", false});
  if (base == "flock" && inner[inner_name].text == "-c") text(words, at + 1);
  else command(std::move(inner), inner_name);
  return w->passes;
}

bool CommandLister::shell(const Words& words, std::size_t name) {
  const std::string in = out_.in;
  const bool plain = shell_text(words, name);
  out_.in = in;  // wherever it went, who has started it stays
  return plain;
}

bool CommandLister::shell_text(const Words& words, std::size_t name) {
  bool plain = true;
  for (std::size_t i = name + 1; i < words.size(); ++i) {
    const std::string& option = words[i].text;
    if (!words[i].fixed) return unclear("what the shell is told is not known before it runs"), false;
    if (option == "--login" || option == "--norc" || option == "--noprofile" || option == "--posix") continue;
    if (option.size() < 2 || (option[0] != '-' && option[0] != '+')) return false;  // a script's file: by its own rule
    if (option.starts_with("--")) {
      plain = false;  // --rcfile reads code of its own
      if (option.find('=') == option.npos) ++i;
      continue;
    }
    if (option[0] == '-' && option.find('c') != option.npos) {
      // -o and -O in the same word take theirs from the words before the text.
      auto valued = std::count_if(option.begin(), option.end(), [](char c) { return c == 'o' || c == 'O'; });
      std::size_t at = i + 1 + static_cast<std::size_t>(valued);
      while (at < words.size() && words[at].fixed && words[at].text.starts_with('-') && words[at].text.size() > 1) ++at, plain = false;
      if (at >= words.size()) return false;
      if (!words[at].fixed) return unclear("the text that the shell runs is not known before"), false;
      script(words[at].text);
      return plain;
    }
    if (option.find('o') != option.npos || option.find('O') != option.npos) ++i;
  }
  // Nothing but options: it reads its standard input.
  if (!feeds_) return false;
  std::optional<std::string> given = std::move(fed_);
  fed_.reset();
  feeds_ = false;
  if (!given) return unclear("the text that the shell is fed is not known before"), false;
  script(*given);
  return plain;
}

void CommandLister::find_actions(const Words& words, std::size_t name) {
  for (std::size_t i = name + 1; i < words.size(); ++i) {
    const std::string& t = words[i].text;
    if (t == "-delete") unclear("find removes what it finds");
    if (t.starts_with("-fprint") || t == "-fls") {
      if (i + 1 < words.size()) writes(words[i + 1], true);
    }
    if (t != "-exec" && t != "-execdir" && t != "-ok" && t != "-okdir") continue;
    Words inner;
    for (++i; i < words.size() && words[i].text != ";" && words[i].text != "+"; ++i) {
      inner.push_back(words[i]);
      if (words[i].text.find("{}") != std::string::npos) inner.back().fixed = false;
    }
    command(std::move(inner), 0);
  }
}

// cd, as it is written. Where that does not say where it leads, the names that follow are taken as they are.
void CommandLister::goes_to(const Words& words, std::size_t name) {
  std::size_t at = name + 1;
  while (at < words.size() && words[at].fixed && words[at].text.size() > 1 && words[at].text[0] == '-') ++at;
  if (at == words.size()) return out_.in.clear();  // home, which is the workspace
  const std::string& to = words[at].text;
  if (!words[at].fixed || to == "-" || to.starts_with('+') || out_.in.size() + to.size() > 4096) return out_.in.clear();
  out_.in = to.starts_with('/') || out_.in.empty() ? to : cat(out_.in, "/", to);
}

// Only what is plain to see: what must not be changed is guarded where changes leave the cell, not here.
void CommandLister::written_by(const Words& words, std::size_t name, std::string_view base) {
  static constexpr std::array<std::string_view, 15> kAll = {"rm", "rmdir", "unlink", "shred", "mv", "tee", "touch", "mkdir", "truncate", "chmod", "chown", "chgrp", "mkfifo", "mknod", "setfacl"};
  static constexpr std::array<std::string_view, 5> kLast = {"cp", "ln", "install", "rsync", "scp"};
  bool all = std::find(kAll.begin(), kAll.end(), base) != kAll.end(), last = std::find(kLast.begin(), kLast.end(), base) != kLast.end();
  bool in_place = (base == "sed" || base == "perl") && std::any_of(words.begin() + static_cast<std::ptrdiff_t>(name), words.end(), [](const CommandWord& w) {
    return w.text.starts_with("--in-place") || (w.text.size() > 1 && w.text[0] == '-' && w.text[1] != '-' && w.text.find('i') != w.text.npos);
  });
  const CommandWord* final_word = nullptr;
  for (std::size_t i = name + 1; i < words.size(); ++i) {
    const std::string& t = words[i].text;
    if (base == "dd" && t.starts_with("of=")) writes({t.substr(3), words[i].fixed}, true);
    if (last && t.starts_with("--target-directory=")) writes({t.substr(19), words[i].fixed}, false);
    if (last && t == "-t" && i + 1 < words.size()) writes(words[i + 1], false);
    if (t.starts_with('-')) continue;
    if (all || in_place) writes(words[i], false);
    final_word = &words[i];
  }
  if (last && final_word != nullptr) writes(*final_word, false);
}

bool CommandLister::inside(const Words& words, std::size_t name) {
  std::string_view base = base_name(words[name].text);
  written_by(words, name, base);
  if (base == "cd" || base == "pushd") return goes_to(words, name), false;
  if (base == "popd") return out_.in.clear(), false;
  if (std::find(kShells.begin(), kShells.end(), base) != kShells.end()) return shell(words, name);
  if (base == "eval") return words.size() > name + 1 && text(words, name + 1);
  if (base == "find") return find_actions(words, name), false;
  if (base == "trap" || base == "su" || base == "script" || base == "watch") {
    // The text stands somewhere among the words: each that could be it is read as one.
    for (std::size_t i = name + 1; i < words.size(); ++i) {
      if (!words[i].fixed) unclear("the text of the command inside is not known before it runs");
      else if (words[i].text.find(' ') != std::string::npos || base == "trap" || base == "watch") script(words[i].text);
    }
    return false;
  }
  if (base == "alias") {
    for (std::size_t i = name + 1; i < words.size(); ++i)
      if (auto equals = words[i].text.find('='); equals != std::string::npos) script(words[i].text.substr(equals + 1));
    return false;
  }
  if (base == "parallel" || base == "ssh") return unclear(cat("what ", base, " runs is not followed")), false;
  return wrapper(words, name, base);
}

}  // namespace hotcell::cells
