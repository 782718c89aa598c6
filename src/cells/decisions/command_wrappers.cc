// Commands whose words are another command. How each reads its options is data; one that is not in its row makes the line
// unclear, since what follows might be its value and not the command.
#include <algorithm>
#include <array>
#include <optional>

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
  std::string_view folder = {};             // of the valued options, those that say where it runs: a letter, a word
};

constexpr std::array kWrappers = {
    Wrapper{"env", "i0v", "uC", "ignore-environment null debug default-signal ignore-signal block-signal list-signal-handling", "unset chdir", 0, true, true, false, "C chdir"},
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
            "user group prompt host chdir chroot close-from role type command-timeout other-user", 0, false, true, false, "D chdir"},
    Wrapper{"doas", "nsL", "uCa", "", "", 0, false},
    Wrapper{"chroot", "", "", "skip-chdir", "userspec groups", 1, false},
    Wrapper{"unshare", "mipnuUCTrcf", "RwSG", "mount uts ipc net pid user cgroup time fork map-root-user map-current-user", "root wd setuid setgid map-user map-group", 0, false, false, false, "w wd"},
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

struct Options {
  std::size_t after = 0;                   // where they end, or words.size()
  bool strange = false;                    // one that is not known, or whose text is not
  std::vector<CommandWord> folders;        // that it goes to, one after the other
};

Options read_options(const Wrapper& w, const Words& words, std::size_t at) {
  Options out;
  // `value`: what follows in the same word; nullopt: the next word is it.
  auto take = [&](std::string_view option, std::optional<std::string> value) {
    if (!value) ++at;
    if (!is_one_of(option, w.folder)) return;
    if (value) out.folders.push_back({*value, true});
    else if (at < words.size()) out.folders.push_back(words[at]);
  };
  for (; at < words.size(); ++at) {
    const std::string& text = words[at].text;
    if (!words[at].fixed) {
      out.strange = true;
      break;
    }
    if (text == "--") {
      ++at;
      break;
    }
    if (text.size() < 2 || text[0] != '-') break;
    if (text[1] == '-') {
      auto equals = text.find('=');
      std::string_view name = std::string_view(text).substr(2, equals == text.npos ? equals : equals - 2);
      if (is_one_of(name, w.long_valued)) take(name, equals == text.npos ? std::nullopt : std::optional(text.substr(equals + 1)));
      else if (!is_one_of(name, w.long_flags)) out.strange = true;
      continue;
    }
    for (std::size_t i = 1; i < text.size(); ++i) {
      if (w.valued.find(text[i]) != w.valued.npos) {
        take(std::string_view(text).substr(i, 1), i + 1 == text.size() ? std::nullopt : std::optional(text.substr(i + 1)));
        break;
      }
      if (w.flags.find(text[i]) == w.flags.npos) out.strange = true;
    }
  }
  out.after = std::min(at, words.size());
  return out;
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
  const Options options = read_options(*w, words, name + 1);
  std::size_t at = options.after;
  Words inner;
  if (w->assigns)
    for (; at < words.size() && is_assignment(words[at]); ++at)
      if (!is_harmless_variable(std::string_view(words[at].text).substr(0, words[at].text.find('=')))) inner.push_back(words[at]);
  at += static_cast<std::size_t>(w->before);
  if (options.strange) unclear(cat("an option of ", base, " that is not known here"));
  if (at >= words.size()) return false;  // prints, or does nothing: judged by itself
  std::size_t inner_name = inner.size();
  inner.insert(inner.end(), words.begin() + static_cast<std::ptrdiff_t>(at), words.end());
  if (w->more) inner.push_back({"...", false});
  auto run = [&] {
    for (const auto& folder : options.folders) {
      if (folder.fixed) out_.in.go_for_certain(folder.text);
      else out_.in.go_anywhere();
    }
    if (base == "flock" && inner[inner_name].text == "-c") text(words, at + 1);
    else command(std::move(inner), inner_name);
  };
  // These two are the shell itself; exec is, to its end.
  if (base == "command" || base == "builtin") run();
  else if (base == "time") {
    const Whereabouts was = out_.in;
    run();
    out_.in.join(was);
  } else apart(run);
  return w->passes;
}

bool CommandLister::shell(const Words& words, std::size_t name) {
  bool plain = false;
  apart([&] { plain = shell_text(words, name); });
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
    const std::string t = words[i].text;
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
    const bool there = t.ends_with("dir");
    apart([&] {
      if (there) out_.in.lose();  // in the folder of each that is found
      command(std::move(inner), 0);
    });
  }
}

// cd, pushd and popd, as they are written. Where that does not say where it leads, the names that follow are taken as they are.
void CommandLister::goes(const Words& words, std::size_t name) {
  const std::string& how = words[name].text;
  const Whereabouts was = out_.in;
  bool strange = false;
  std::size_t at = name + 1;
  for (; at < words.size() && words[at].fixed && words[at].text.size() > 1 && words[at].text[0] == '-'; ++at)
    strange = strange || (words[at].text != "--" && words[at].text.find_first_not_of("LPe", 1) != std::string::npos);
  strange = strange || at + 1 < words.size();   // an error, to some shells
  const bool given = at < words.size(), known = given && words[at].fixed && !words[at].text.empty();
  const std::string to = given ? words[at].text : std::string();
  if (how == "popd") {
    if (strange || given) out_.in.swap();
    else out_.in.pop();
  } else if (how == "pushd") {
    if (!given || to.starts_with('+') || to == "-") out_.in.swap();
    else if (known) {
      if (strange) out_.in.go(to);  // pushd -n: where a popd leads
      out_.in.push(to);
    }
    else out_.in.go_anywhere();
  } else if (!given) {
    out_.in.go_home();
  } else if (to == "-") {
    out_.in.go_back();
  } else if (!known || to.starts_with('+')) {
    out_.in.go_anywhere();
  } else {
    out_.in.go(to);
  }
  if (strange) out_.in.join(was);
  been_.join(out_.in);
}

// After these a cd leads elsewhere than it says.
void CommandLister::turns_cd(const Words& words, std::size_t name) {
  static constexpr std::array<std::string_view, 4> kVariables = {"HOME=", "CDPATH=", "OLDPWD=", "PWD="};
  static constexpr std::array<std::string_view, 5> kSetters = {"export", "declare", "typeset", "readonly", "local"};
  const std::string_view program = name < words.size() ? std::string_view(words[name].text) : std::string_view();
  const bool sets = std::find(kSetters.begin(), kSetters.end(), program) != kSetters.end(), renames = program == "alias" || program == "enable";
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& text = words[i].text;
    if (i < name || sets)
      for (auto variable : kVariables)
        if (text.starts_with(variable)) out_.in.set_adrift();
    const std::string_view word = std::string_view(text).substr(0, text.find('='));
    if (renames && (word == "cd" || word == "pushd" || word == "popd" || word == "command" || word == "builtin")) out_.in.set_adrift();
  }
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
  // With a slash it is a program, which takes nobody along.
  const std::string& said = words[name].text;
  if (said == "cd" || said == "pushd" || said == "popd") return goes(words, name), false;
  if (std::find(kShells.begin(), kShells.end(), base) != kShells.end()) return shell(words, name);
  if (base == "eval") return words.size() > name + 1 && text(words, name + 1);
  if (base == "find") return find_actions(words, name), false;
  if (base == "trap" || base == "su" || base == "script" || base == "watch") {
    // The text stands somewhere among the words: each that could be it is read as one.
    for (std::size_t i = name + 1; i < words.size(); ++i) {
      auto read = [&] { script(words[i].text); };
      if (!words[i].fixed) unclear("the text of the command inside is not known before it runs");
      else if (base == "trap") later(read);
      else if (words[i].text.find(' ') != std::string::npos || base == "watch") apart(read);
    }
    return false;
  }
  if (base == "alias") {
    for (std::size_t i = name + 1; i < words.size(); ++i)
      if (auto equals = words[i].text.find('='); equals != std::string::npos) later([&] { script(words[i].text.substr(equals + 1)); });
    return false;
  }
  if (base == "parallel" || base == "ssh") return unclear(cat("what ", base, " runs is not followed")), false;
  return wrapper(words, name, base);
}

}  // namespace hotcell::cells
