// Programs inside arguments of awk and sed: they can run commands and write files, too.
#include <algorithm>

#include "base/strings.h"
#include "languages/bash/facts_analyser.h"

namespace hotcell::bash {
namespace {

bool any_of(std::string_view text, std::initializer_list<std::string_view> pieces) {
  for (std::string_view p : pieces)
    if (text.find(p) != std::string_view::npos) return true;
  return false;
}

// What stands behind > in print statements; a comparison there needs brackets.
std::vector<std::string_view> print_targets(std::string_view s) {
  std::vector<std::string_view> out;
  for (std::size_t at = s.find("print"); at != std::string_view::npos && out.size() < 16; at = s.find("print", at)) {
    int brackets = 0;
    for (at += 5; at < s.size() && s[at] != ';' && s[at] != '}' && s[at] != '\n'; ++at) {
      if (s[at] == '"')
        while (++at < s.size() && s[at] != '"') at += s[at] == '\\' ? 1 : 0;
      else if (s[at] == '(')
        ++brackets;
      else if (s[at] == ')')
        --brackets;
      else if (s[at] == '>' && brackets == 0) {
        std::size_t target = s.find_first_not_of("> ", at);
        if (target != std::string_view::npos) out.push_back(s.substr(target));
        break;
      }
    }
  }
  return out;
}

// A sed command without the address in front of it.
std::string_view without_address(std::string_view s) {
  s = trim(s);
  std::size_t at = s.find_first_not_of("0123456789,$!~+ {");
  if (at == std::string_view::npos) return {};
  if (s[at] == '/') {
    std::size_t close = s.find('/', at + 1);
    if (close == std::string_view::npos) return {};
    at = s.find_first_not_of(" !", close + 1);
    if (at == std::string_view::npos) return {};
  }
  return s.substr(at);
}

// What stands behind the third mark of s/a/b/.
std::string_view substitution_flags(std::string_view s) {
  if (s.size() < 4 || s[0] != 's') return {};
  int marks = 0;
  std::size_t i = 1;
  for (; i < s.size() && marks < 3; ++i) {
    if (s[i] == '\\')
      ++i;
    else if (s[i] == s[1])
      ++marks;
  }
  return marks == 3 ? s.substr(std::min(i, s.size())) : std::string_view();
}

}  // namespace

void Analyser::awk_program(const Field& program, std::string_view name, bool outside, const Call& c) {
  const std::string& text = program.text;
  if (any_of(text, {"system(", "system (", "| \"", "|\"", "|&", "| getline", "|getline", "/inet/"})) {
    construct("awk-runs", text, c);
    inline_code(name, program, c);
  }
  for (std::string_view target : print_targets(text)) {
    Field f;
    if (target.starts_with('"')) {
      f.text = target.substr(1, target.find('"', 1) - 1);
      write_path(f, c);
    } else if (outside || target.starts_with("ENVIRON")) {
      construct("awk-writes", text, c);
    }
  }
}

void Analyser::sed_program(const Field& program, const Call& c) {
  auto file = [&](std::string_view name, bool write) {
    Field target;
    target.text = trim(name);
    target.known = program.known;
    if (write && target.text.find(kUnknown) != std::string::npos)
      construct("sed-writes", program.text, c);
    else if (write)
      target.known = true, write_path(target, c);
    else
      read_path(target, c);
  };
  for (std::string_view line : split(program.text, '\n')) {
    for (std::string_view one : split(line, ';')) {
      one = without_address(one);
      if (one.empty()) continue;
      bool word_follows = one.size() > 2 && one[1] == ' ';
      if (one[0] == 'e' && (one.size() == 1 || word_follows)) {
        construct("sed-runs", program.text, c);
        evaluate_text(std::string(trim(one.substr(1))), c);
      } else if ((one[0] == 'w' || one[0] == 'W') && word_follows) {
        file(one.substr(2), true);
      } else if ((one[0] == 'r' || one[0] == 'R') && word_follows) {
        file(one.substr(2), false);
      } else if (std::string_view flags = substitution_flags(one); !flags.empty()) {
        std::size_t w = flags.find('w');
        if (flags.substr(0, w).find('e') != std::string_view::npos) construct("sed-runs", program.text, c);
        if (w != std::string_view::npos && w + 2 < flags.size()) file(flags.substr(w + 1), true);
      }
    }
  }
}

// Finds the program among the words of awk or sed.
void Analyser::text_tool(const std::string& name, Args words, const Call& c) {
  bool awk = name.ends_with("awk"), given = false, outside = false;
  for (const Field& f : words) outside = outside || !f.outside.empty();
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (w == "-f" || w == "--file" || w.starts_with("--file=") || (w.starts_with("-f") && w.size() > 2 && awk)) {
      Field file = w == "-f" || w == "--file" ? i + 1 < words.size() ? words[i + 1] : Field{} : words[i];
      if (w.size() > 2 && w != "--file") file.text = w.substr(w.starts_with("--") ? 7 : 2);
      bool input = (file.text == "-" || file.text == "/dev/stdin") && c.input != nullptr;
      std::optional<Field> program = input ? *c.input : text_of(file);
      if (program && (program->known || program->text != kUnknown))
        awk ? awk_program(*program, name, outside, c) : sed_program(*program, c);
      else if (program)
        construct("pipe-to-interpreter", cat("output: ", name), c);
      return;
    }
    if (awk && (w == "-F" || w == "-v")) {
      ++i;
    } else if (w == "-e" || w == "--expression" || (!awk && (w == "-ne" || w == "-re" || w == "-Ee" || w == "-ie"))) {
      given = true;
      if (i + 1 < words.size()) awk ? awk_program(words[i + 1], name, outside, c) : sed_program(words[i + 1], c);
      ++i;
    } else if (w.starts_with("--expression=")) {
      given = true;
      Field program = words[i];
      program.text = w.substr(13);
      sed_program(program, c);
    } else if (!w.starts_with('-') || w == "-") {
      if (!given) awk ? awk_program(words[i], name, outside, c) : sed_program(words[i], c);
      return;
    }
  }
}

}  // namespace hotcell::bash
