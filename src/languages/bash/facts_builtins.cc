// The shell's own commands, and variables that change what other commands do.
#include "base/strings.h"
#include "languages/bash/facts_analyser.h"
#include "languages/bash/facts_text.h"

namespace hotcell::bash {

void Analyser::special_variable(std::string_view name, const Field& value, std::uint32_t at) {
  Call c;
  c.at = at;
  std::string detail = cat(name, "=", value.text.substr(0, 200));
  if (one_of(name, " KUBECONFIG DOCKER_HOST DOCKER_CONFIG CONTAINER_HOST ")) st_.assigned.emplace(name);
  if (name.starts_with("GIT_") && value.text != "/dev/null" && !value.text.empty()) {
    bool key = name.starts_with("GIT_CONFIG_KEY_") && git_key_runs(value.text);
    // GIT_EXEC_PATH=$(git --exec-path) is where they are anyway: what is not known is not called an attack.
    if (key || (value.known && one_of(name, " GIT_EXEC_PATH GIT_CONFIG_PARAMETERS ")))
      return construct("program-variable", detail, c);
    if (one_of(name, " GIT_EXEC_PATH GIT_CONFIG_PARAMETERS GIT_CONFIG_GLOBAL GIT_CONFIG_SYSTEM GIT_TEMPLATE_DIR "))
      return construct("runtime-variable", detail, c);
  }
  if (name.starts_with("BASH_FUNC_")) return construct("startup-variable", detail, c);
  if (one_of(name, " HOME USER LOGNAME SHELL HOSTNAME ")) return construct("account-variable", detail, c);
  if (one_of(name,
             " LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT PYTHONPATH PYTHONSTARTUP PERL5LIB PERL5OPT RUBYOPT RUBYLIB "
             "NODE_OPTIONS GLIBC_TUNABLES GCONV_PATH "
             "JAVA_TOOL_OPTIONS BASH_LOADABLES_PATH PYTHONHOME NODE_PATH "))
    construct(name.starts_with("LD_") ? "loader-variable" : "runtime-variable", detail, c);
  else if (name == "PATH") {
    // The folders that are put in front decide which program a name means.
    bool keeps = value.text.find(kUnknown) != std::string::npos;
    construct("path-variable", cat(keeps ? "extends " : "replaces ", detail), c);
  } else if (one_of(name, " HISTFILE HISTSIZE HISTFILESIZE HISTCONTROL HISTIGNORE ")) {
    if (value.text.empty() || value.text == "/dev/null" || value.text == "0") construct("history-tampering", detail, c);
  } else if (one_of(name, " BASH_ENV ENV PROMPT_COMMAND PS0 PS1 PS2 PS4 ")) {
    bool code = name == "PROMPT_COMMAND" || value.text.find("$(") != std::string::npos ||
                value.text.find('`') != std::string::npos;
    if (name == "BASH_ENV" || name == "ENV") {
      construct("startup-variable", detail, c);
    } else if (code) {
      construct("prompt-code", detail, c);
      if (value.known) evaluate_text(name == "PROMPT_COMMAND" ? value.text : cat(": \"", value.text, "\""), c);
    }
  } else if (one_of(name,
                    " GIT_SSH_COMMAND GIT_SSH GIT_PAGER GIT_EDITOR GIT_EXTERNAL_DIFF GIT_PROXY_COMMAND GIT_ASKPASS "
                    "PAGER MANPAGER EDITOR VISUAL LESSOPEN "
                    "LESSCLOSE BROWSER SUDO_ASKPASS SSH_ASKPASS TAR_OPTIONS MAKEFLAGS RSYNC_RSH CC_WRAPPER PERLDB_OPTS "
                    "PSQL_PAGER SYSTEMD_PAGER ")) {
    bool code = value.text.find_first_of(";|&`$(") != std::string::npos ||
                is_interpreter(base_name(value.text.substr(0, value.text.find(' '))));
    if (code && value.known && value.text != "vim" && value.text != "vi" && value.text != "ed") {
      construct("program-variable", detail, c);
      evaluate_text(value.text.starts_with('|') ? value.text.substr(1) : value.text, c);
    }
  }
}

void Analyser::alias_builtin(Args words) {
  for (const Field& f : words.subspan(1)) {
    std::size_t equals = f.text.find('=');
    if (equals == std::string::npos || equals == 0 || f.text.starts_with('-')) continue;
    std::string name = f.text.substr(0, equals);
    if (st_.aliases.size() < 1000) st_.aliases[name] = f.text.substr(equals + 1);
  }
}

void Analyser::declare(Args words, const Call& c) {
  bool reference = false, integer = false;
  for (const Field& f : words.subspan(1)) {
    if (f.text.starts_with('-') || f.text.starts_with('+')) {
      if (f.text[0] == '+') continue;
      reference = reference || f.text.find('n') != std::string::npos;
      integer = integer || f.text.find('i') != std::string::npos;
      continue;
    }
    std::size_t equals = f.text.find('=');
    if (f.text.find('[') < equals) named(f.text, c);
    if (integer) st_.integers.insert(f.text.substr(0, equals));
    if (equals == std::string::npos || equals == 0) {
      if (!f.known) construct("dynamic-declare", joined(words), c);
      continue;
    }
    bool append = f.text[equals - 1] == '+';
    std::string name = f.text.substr(0, equals - (append ? 1 : 0));
    Field value = f;
    value.text = f.text.substr(equals + 1);
    value.origin = "";
    // The origin belongs to the value when the name is in front of it.
    if (!value.known && value.text.find(kUnknown) != std::string::npos && c.node != kNoShell) {
      const ShellNode& n = s_.nodes[c.node];
      for (ShellId w = n.words; w < n.words + n.word_count; ++w) {
        const ShellWord& word = s_.words[w];
        if (word.count == 2 && s_.parts[word.parts].text == cat(name, "=") &&
            s_.parts[word.parts + 1].kind == ShellPartKind::kParameter)
          value = parameter(s_.parts[word.parts + 1]);
      }
    }
    if (!subscript(value, c) && (integer || st_.integers.contains(name))) computes(value.text, c);
    if (reference) named(value.text, c);
    st_.variables[name].refers.clear();
    const std::string meant = reference && value.known ? value.text : std::string();
    if (reference && value.known) {  // from now on the name means the other variable
      auto target = lookup(value.text);
      value = target ? *target
                     : unknown(st_.assigned.contains(value.text) ? std::string_view() : std::string_view(value.text));
    }
    if (reference && words[0].text != "export") construct("name-reference", f.text, c);
    special_variable(name, value, c.at);
    set_variable(name, std::move(value), words[0].text != "local" && c.node != kNoShell && conditional(c.node), append);
    if (meant != name) st_.variables[name].refers = meant;
  }
}

bool Analyser::shell_builtin(const std::string& name, Args words, const Call& c) {
  auto option = [&](std::string_view letter) -> const Field* {
    for (std::size_t i = 1; i + 1 < words.size(); ++i)
      if (words[i].text == letter) return &words[i + 1];
    return nullptr;
  };
  if (name == "eval") return evaluate(words, c), true;
  if (name == "source" || name == ".") return source(words, c), true;
  if (name == "alias") return alias_builtin(words), construct("alias", joined(words.subspan(1)), c), true;
  if (name == "declare" || name == "local" || name == "export" || name == "readonly" || name == "typeset")
    return declare(words, c), true;
  if (name == "cd" || name == "pushd") {
    std::size_t i = 1;
    while (i < words.size() && words[i].text.starts_with('-') && words[i].text.size() > 1) ++i;
    if (i >= words.size())
      st_.folder = "~";
    else
      st_.folder = words[i].known && words[i].text != "-" ? normalise_path(words[i].text, st_.folder) : "";
    if (st_.folder == ".") st_.folder.clear();
    if (i < words.size() && words[i].known) read_path(words[i], c);
    return true;
  }
  if (name == "read" || name == "mapfile" || name == "readarray") {
    if (name != "read")
      if (auto callback = option_value(words, 'C', "dnOsuCc")) code_from(*callback, name, c);
    Field value = c.input != nullptr && c.input->has_value() ? **c.input : unknown();
    if (auto number = option_value(words, 'u', name == "read" ? "aidnNptu" : "dnOsuCc"))
      if (auto it = st_.descriptors.find(number->text); it != st_.descriptors.end()) value = it->second;
    value.taint |= kInput;
    while (value.text.ends_with('\n')) value.text.pop_back();
    std::vector<std::string> names;
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (words[i].text.starts_with('-')) {
        if (one_of(words[i].text, name == "read" ? " -p -d -n -N -t -u -i " : " -d -n -O -s -u -C -c ")) ++i;
        continue;
      }
      names.push_back(words[i].text);
      named(words[i].text, c);
      if (st_.integers.contains(words[i].text)) computes(value.text, c);
    }
    if (names.empty()) names.emplace_back(name == "read" ? "REPLY" : "MAPFILE");
    if (name != "read" && value.known && names.size() == 1) {
      Variable& lines = st_.variables[names[0]];
      lines = {};
      lines.array = true;
      for (std::string_view line : split(value.text, '\n')) {
        if (lines.elements.size() >= 256) break;
        Field f = value;
        f.text = line;
        lines.elements.push_back(std::move(f));
      }
      return true;
    }
    if (names.size() > 1 || name != "read") value = unknown({}, static_cast<std::uint8_t>(value.taint));
    for (const std::string& n : names) {
      if (value.known || one_of(n, " PROMPT_COMMAND PS0 PS4 BASH_ENV ENV ")) special_variable(n, value, c.at);
      set_variable(n, value, true, false);
    }
    return true;
  }
  if (name == "printf") {
    if (words.size() > 1 && words[1].text.starts_with("-v") && words[1].text.size() > 2)
      named(std::string_view(words[1].text).substr(2), c);
    if (words.size() > 3 && words[1].text == "-v") {
      auto text = output_of(std::vector<Field>(words.begin() + 2, words.end()), std::nullopt);
      Fields shifted(words.begin() + 2, words.end());
      shifted[0] = words[0];
      text = output_of(shifted, std::nullopt);
      named(words[2].text, c);
      if (text && st_.integers.contains(words[2].text)) computes(text->text, c);
      if (text) special_variable(words[2].text, *text, c.at);
      set_variable(words[2].text, text ? *text : unknown(), c.node != kNoShell && conditional(c.node), false);
    }
    return true;
  }
  if (name == "set") {
    std::size_t i = 1;
    while (i < words.size() && (words[i].text.starts_with('-') || words[i].text.starts_with('+')) &&
           words[i].text != "--") {
      if (words[i].text == "+o" && i + 1 < words.size() && words[i + 1].text == "history")
        construct("history-tampering", joined(words), c);
      i += words[i].text.ends_with('o') ? 2 : 1;
    }
    if (i < words.size() && words[i].text == "--") ++i;
    if (i < words.size()) arguments_.assign(words.begin() + static_cast<long>(i), words.end()), have_arguments_ = true;
    return true;
  }
  if (name == "shift") {
    if (have_arguments_ && !arguments_.empty()) arguments_.erase(arguments_.begin());
    return true;
  }
  if (name == "unset") {
    for (const Field& f : words.subspan(1)) {
      if (f.text.starts_with("HIST")) construct("history-tampering", joined(words), c);
      named(f.text, c);
      if (f.known && !f.text.starts_with('-'))
        set_variable(f.text, Field{}, c.node != kNoShell && conditional(c.node), false);
    }
    return true;
  }
  if (name == "trap") {
    if (words.size() > 1 && words[1].text == "--") words = words.subspan(1);
    if (words.size() < 2 || words[1].text.starts_with("-")) return true;
    for (const Field& f : words.subspan(2))
      if (f.text == "DEBUG" || f.text == "RETURN") construct("trap-debug", joined(words), c);
    if (!words[1].text.empty() && words.size() > 2) {
      const bool from_elsewhere = words[1].text == kUnknown && (words[1].taint != kNoTaint || !words[1].origin.empty());
      if (words[1].known)
        evaluate_text(words[1].text, c);
      else if (from_elsewhere)
        code_from(words[1], name, c);
      else {
        std::string text = words[1].text;
        for (std::size_t at = 0; (at = text.find(kUnknown, at)) != std::string::npos; at += 11)
          text.replace(at, kUnknown.size(), "__unknown__");
        evaluate_text(text, c);
      }
    }
    return true;
  }
  if (name == "enable") {
    if (option_value(words, 'f', "f")) construct("loads-builtin", joined(words), c);
    return true;
  }
  if (name == "history" || name == "fc") return history(name, words, c), true;
  if (name == "jobs") {
    if (words.size() > 2 && words[1].text == "-x") {
      Call inner = c;
      ++inner.depth;
      run_command(words.subspan(2), inner);
    }
    return true;
  }
  if (name == "bind" || name == "complete" || name == "compgen") return completion(name, words, c), true;
  if (name == "hash") {
    if (const Field* program = option("-p"); program != nullptr) {
      construct("path-variable", cat("replaces ", joined(words)), c);
      if (words.size() > 3 && st_.aliases.size() < 1000) st_.aliases[words.back().text] = program->text;
    }
    return true;
  }
  if (name == "test" || name == "[") tested_paths(words, c);
  if (name == "let" || name == "test" || name == "[" || name == "wait" || name == "getopts") {
    if (name == "test" || name == "[") return tested_numbers(words, c), true;
    for (const Field& f : words.subspan(1)) name == "let" ? computes(f.text, c) : named(f.text, c);
    return true;
  }
  return false;
}

}  // namespace hotcell::bash
