// Scripts for three shells from the tables, so that no option can be forgotten in one of them.
#include "cli/completion.h"

#include <algorithm>
#include <set>

#include "base/strings.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/say.h"
#include "hotcell/layer.h"
#include "hotcell/policy.h"

namespace hotcell {

namespace {

// The words worth offering after an option: its choices, or names that the program itself knows.
std::string value_words(const OptionSpec& o) {
  std::string out;
  auto add = [&](std::string_view word) { out += cat(out.empty() ? "" : " ", word); };
  if (!o.choices.empty()) {
    for (auto word : split(o.choices, '|')) add(word);
  } else if (o.id == Opt::kRequire) {
    add("all");
    for (auto word : kLayerNames) add(word);
  } else if (o.id == Opt::kProfile) {
    for (auto word : preset_names()) add(word);
  }
  return out;
}

bool offered(const OptionSpec& o, Command command) { return !o.hidden && applies(o, command); }

std::string command_words() {
  std::string out;
  for (const auto& c : commands()) out += cat(out.empty() ? "" : " ", c.name);
  return out;
}

std::string following_words(const CommandSpec& c) {
  if (c.id == Command::kHelp) return command_words();
  std::string out(c.words);
  for (char& ch : out) {
    if (ch == '|') ch = ' ';
  }
  return out;
}

bool has_verbs(Command command) {
  return std::any_of(verbs().begin(), verbs().end(), [&](const VerbSpec& v) { return v.command == command; });
}

// For `case` in bash and zsh: the verb, and the word behind the cell's name.
std::string verb_pattern(const VerbSpec& verb, std::string_view before) {
  return cat("'", before, verb.name, verb.name.find(' ') == verb.name.npos ? " '*" : "'");
}

bool takes_files(const CommandSpec& c) {
  return c.program_follows || c.id == Command::kVerify || c.id == Command::kProfile || c.id == Command::kConfig;
}

// Single quotes of a POSIX shell.
std::string quoted_text(std::string_view text) {
  std::string out = "'";
  for (char c : text) {
    if (c == '\'') out += "'\\''";
    else out += c;
  }
  return out + "'";
}

// Inside _arguments, brackets and colons are syntax.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_spec(const OptionSpec& o, std::string_view name) {
  std::string spec = cat(o.repeatable ? "*" : "", name, "[", zsh_text(o.help), "]");
  if (o.value.empty()) return quoted_text(spec);
  spec += cat(":", zsh_text(o.value), ":");
  auto words = value_words(o);
  if (!words.empty()) spec += cat("(", words, ")");
  else if (o.complete == Complete::kFolder) spec += "_files -/";
  else if (o.complete != Complete::kNothing) spec += "_files";
  return quoted_text(spec);
}

std::string zsh_arguments(const CommandSpec& c, auto&& wanted) {
  std::string out = "      _arguments -S";
  for (const auto& o : options()) {
    if (o.hidden || !wanted(o)) continue;
    out += cat(" \\\n        ", zsh_spec(o, o.name));
    if (!o.short_name.empty()) out += cat(" \\\n        ", zsh_spec(o, o.short_name));
  }
  auto next = following_words(c);
  if (!next.empty()) out += cat(" \\\n        ", quoted_text(cat("1:word:(", next, ")")));
  if (takes_files(c)) out += " \\\n        '*:file:_files'";
  return out + "\n      ;;\n";
}

// The verbs after which fish offers the option; none: after the command, since all of them read it or there are none.
std::string fish_verbs(const OptionSpec& o, Command command) {
  std::set<std::string_view> reading;
  bool all = true;
  for (const auto& v : verbs()) {
    if (v.command != command) continue;
    if (applies(o, v)) reading.insert(v.name.substr(0, v.name.find(' ')));
    else all = false;
  }
  std::string out;
  for (auto name : reading) out += cat(" ", name);
  return all ? std::string() : out;
}

}  // namespace

std::string bash_completion() {
  std::string out =
      "# bash completion for hotcell: source <(hotcell completion bash)\n"
      "_hotcell() {\n"
      "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} i\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n";
  out += cat("    COMPREPLY=($(compgen -W '", command_words(), " --help --version' -- \"$cur\"))\n    return\n  fi\n");
  // Behind `--` the words are the program's.
  out +=
      "  for ((i = 2; i < COMP_CWORD; i++)); do\n"
      "    if [[ ${COMP_WORDS[i]} == -- ]]; then\n"
      "      ((i == COMP_CWORD - 1)) && COMPREPLY=($(compgen -c -- \"$cur\")) || COMPREPLY=($(compgen -f -- "
      "\"$cur\"))\n"
      "      return\n"
      "    fi\n"
      "  done\n"
      "  case $prev in\n";
  for (const auto& o : options()) {
    if (o.hidden || o.value.empty()) continue;
    auto words = value_words(o);
    std::string reply;
    if (!words.empty()) reply += cat(" COMPREPLY+=($(compgen -W '", words, "' -- \"$cur\"));");
    if (o.complete == Complete::kFolder) reply += " COMPREPLY+=($(compgen -d -- \"$cur\"));";
    else if (o.complete != Complete::kNothing) reply += " COMPREPLY+=($(compgen -f -- \"$cur\"));";
    out += cat("    ", o.name, ")", reply, " return ;;\n");
  }
  out += "  esac\n  local words=''\n  case $command in\n";
  for (const auto& c : commands()) {
    std::string words = following_words(c);
    for (const auto& o : options()) {
      if (offered(o, c.id)) words += cat(" ", o.name);
    }
    out += cat("    ", c.name, ") words='", words, "' ;;\n");
  }
  out += "  esac\n  ((COMP_CWORD > 2)) && case \"$command ${COMP_WORDS[2]} ${COMP_WORDS[4]:-}\" in\n";
  for (const auto& v : verbs()) {
    std::string words;
    for (const auto& o : options()) {
      if (!o.hidden && applies(o, v)) words += cat(words.empty() ? "" : " ", o.name);
    }
    out += cat("    ", verb_pattern(v, cat(command_spec(v.command).name, " ")), ") words='", words, "' ;;\n");
  }
  out +=
      "  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
      "  [[ $cur != -* && $command =~ ^(run|explain|verify|profile|config)$ ]] && "
      "COMPREPLY+=($(compgen -f -- \"$cur\"))\n"
      "}\n"
      "complete -o filenames -F _hotcell hotcell\n";
  return out;
}

std::string zsh_completion() {
  std::string out =
      "#compdef hotcell\n"
      "# zsh completion for hotcell: put this into a folder of $fpath as _hotcell\n"
      "_hotcell() {\n"
      "  if ((CURRENT == 2)); then\n"
      "    local -a commands=(\n";
  for (const auto& c : commands()) out += cat("      ", quoted_text(cat(c.name, ":", zsh_text(c.summary))), "\n");
  out +=
      "    )\n    _describe command commands\n    return\n  fi\n  local command=$words[2]\n  shift words\n  "
      "((CURRENT--))\n"
      "  case $command in\n";
  for (const auto& c : commands()) {
    out += cat("    ", c.name, ")\n");
    if (has_verbs(c.id)) {
      out += "      case \"$words[2] $words[4]\" in\n";
      for (const auto& v : verbs()) {
        if (v.command != c.id) continue;
        out += cat("      ", verb_pattern(v, ""), ")\n");
        out += zsh_arguments(c, [&](const OptionSpec& o) { return applies(o, v); });
      }
      out += "      *)\n";
    }
    out += zsh_arguments(c, [&](const OptionSpec& o) { return applies(o, c.id); });
    if (has_verbs(c.id)) out += "      esac\n      ;;\n";
  }
  out += "  esac\n}\n_hotcell \"$@\"\n";
  return out;
}

std::string fish_completion() {
  std::string out =
      "# fish completion for hotcell: hotcell completion fish | source\ncomplete -c hotcell -n __fish_use_subcommand "
      "-f\n";
  for (const auto& c : commands()) {
    out += cat("complete -c hotcell -n __fish_use_subcommand -a ", c.name, " -d ", quoted_text(c.summary), "\n");
    std::string here = cat("complete -c hotcell -n '__fish_seen_subcommand_from ", c.name, "'");
    auto next = following_words(c);
    if (!next.empty()) out += cat(here, " -a ", quoted_text(next), "\n");
    for (const auto& o : options()) {
      if (!offered(o, c.id)) continue;
      auto after = fish_verbs(o, c.id);
      out += here;
      if (!after.empty()) (out.pop_back(), out += cat("; and __fish_seen_subcommand_from", after, "'"));
      if (o.name.starts_with("--")) out += cat(" -l ", o.name.substr(2));
      else out += cat(" -s ", o.name.substr(1));
      if (!o.short_name.empty()) out += cat(" -s ", o.short_name.substr(1));
      if (!o.value.empty()) {
        auto words = value_words(o);
        out += o.complete == Complete::kNothing ? " -x" : " -r";
        if (!words.empty()) out += cat(" -a ", quoted_text(words));
      }
      out += cat(" -d ", quoted_text(o.help), "\n");
    }
  }
  return out;
}

int cmd_completion(Args args) {
  auto parsed = parse(Command::kCompletion, args);
  if (!parsed.ok()) return refuse(parsed.error());
  if (parsed.value().has(Opt::kHelp)) return print(help_text(Command::kCompletion));
  const auto& words = parsed.value().words;
  if (words.size() == 1 && words[0] == "bash") return print(bash_completion());
  if (words.size() == 1 && words[0] == "zsh") return print(zsh_completion());
  if (words.size() == 1 && words[0] == "fish") return print(fish_completion());
  return refuse(make_error(ErrorCode::kInvalid, "completion: expected bash, zsh or fish"));
}

}  // namespace hotcell
