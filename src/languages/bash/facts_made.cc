// Programs whose text the script makes or brings: makefiles, files it wrote and now hands to an interpreter, folders of
// scripts, calculators that start commands, Python modules that run their arguments.
#include "base/strings.h"
#include "languages/bash/facts_analyser.h"
#include "languages/bash/facts_text.h"

namespace hotcell::bash {

// What a file holds, as far as the script says: <(…), standard input, or one that it wrote.
std::optional<Field> Analyser::text_of(const Field& file) {
  if (file.process != kNoShell) {
    auto text = output_of_list(file.process);
    if (text) return text;
    return unknown({}, file.taint);
  }
  if (auto behind = descriptor(file)) return behind;
  if (!file.known || st_.files.empty()) return std::nullopt;
  auto it = st_.files.find(normalise_path(file.text, st_.folder));
  if (it == st_.files.end() || it->second.empty()) return std::nullopt;
  Field out;
  out.text = it->second;
  out.known = out.text.find(kUnknown) == std::string::npos;
  return out;
}

// Recipes are commands, and so is what stands in $(shell …) and behind !=.
void Analyser::make_text(std::string_view text, const Call& c) {
  auto run = [&](std::string_view recipe) {
    recipe = trim(recipe);
    while (!recipe.empty() && (recipe[0] == '@' || recipe[0] == '-' || recipe[0] == '+')) recipe.remove_prefix(1);
    std::string code;
    for (std::size_t i = 0; i < recipe.size(); ++i) {
      bool variable = recipe[i] == '$' && i + 1 < recipe.size() && recipe[i + 1] == '(' &&
                      recipe.find(')', i) != recipe.npos &&
                      recipe.substr(i, recipe.find(')', i) - i).find(' ') == recipe.npos;
      if (variable) {  // make's own $(NAME) is the environment's, unless it is set
        std::size_t close = recipe.find(')', i);
        code += cat("${", recipe.substr(i + 2, close - i - 2), "}");
        i = close;
      } else {
        code += recipe[i];
        if (recipe[i] == '$' && i + 1 < recipe.size() && recipe[i + 1] == '$') ++i;
      }
    }
    if (!code.empty()) evaluate_text(std::move(code), c);
  };
  for (std::size_t at = text.find("$(shell "); at != text.npos; at = text.find("$(shell ", at + 8)) {
    std::size_t close = text.find(')', at);
    run(text.substr(at + 8, close == text.npos ? close : close - at - 8));
  }
  for (std::string_view line : split(text, '\n')) {
    if (line.starts_with('\t')) {
      run(line);
    } else if (std::size_t set = line.find("!="); set != line.npos) {
      run(line.substr(set + 2));
    } else if (std::size_t colon = line.find(':'), then = line.find(';');
               colon != line.npos && then != line.npos && colon < then) {
      run(line.substr(then + 1));
    }
  }
}

bool Analyser::makefile(Args words, const Call& c) {
  bool named = false;
  auto read = [&](const Field& file) {
    named = true;
    bool input = file.text == "-" || file.text == "/dev/stdin";
    std::optional<Field> text = input && c.input != nullptr ? *c.input : text_of(file);
    if (text && (text->known || text->text != kUnknown)) return make_text(text->text, c);
    if (text) construct("pipe-to-interpreter", cat("output: ", words[0].text), c);
  };
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if ((w == "-f" || w == "--file" || w == "--makefile") && i + 1 < words.size()) {
      read(words[i + 1]);
    } else if (w.starts_with("--file=") || w.starts_with("--makefile=") || (w.starts_with("-f") && w.size() > 2)) {
      Field file = words[i];
      file.text = w.substr(w.starts_with("-f") ? 2 : w.find('=') + 1);
      read(file);
    }
  }
  for (const char* usual : {"GNUmakefile", "makefile", "Makefile"}) {
    if (named) break;
    Field file;
    file.text = usual;
    if (text_of(file)) read(file);
  }
  return named;
}

// python3 x.py, where the script wrote x.py.
bool Analyser::written_program(const std::string& kind, Args words, const Call& c) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i].text.starts_with('-') && words[i].text.size() > 1) continue;
    auto text = text_of(words[i]);
    if (!text || words[i].process != kNoShell) return false;
    inline_code(kind, *text, c);
    return true;
  }
  return false;
}

// dc: a line behind ! is a command.
void Analyser::calculator(Args words, const Call& c) {
  auto look = [&](std::string_view text) {
    for (std::string_view line : split(text, '\n'))
      if (std::size_t at = line.find('!'); at != line.npos && at + 1 < line.size() &&
                                           std::string_view("<>=").find(line[at + 1]) == std::string_view::npos) {
        construct("runs-command", cat("dc: ", line), c);
        evaluate_text(std::string(line.substr(at + 1)), c);
      }
  };
  for (std::size_t i = 1; i < words.size(); ++i)
    if (words[i].text.starts_with("-e") || words[i].text.starts_with("--expression"))
      look(words[i].text.find('!') != std::string::npos ? words[i].text
           : i + 1 < words.size()                       ? words[i + 1].text
                                                        : "");
  if (c.input != nullptr && c.input->has_value()) look((**c.input).text);
}

void Analyser::run_parts(Args words, const Call& c) {
  for (const Field& f : words.subspan(1)) {
    if (f.text.starts_with('-') || !f.known) continue;
    std::string folder = normalise_path(f.text, st_.folder) + "/";
    std::vector<std::string> found;
    for (const auto& [path, text] : st_.files)
      if (path.starts_with(folder) && found.size() < 16) found.push_back(path);
    for (const std::string& path : found) {
      Field file;
      file.text = path.starts_with('/') || st_.folder.empty() ? path : path.substr(path.rfind('/') + 1);
      run_written_file(file, c);
    }
    construct("runs-script", joined(words), c);
  }
}

// python3 -m timeit CODE
void Analyser::python_module(Args words, std::size_t at, const Call& c) {
  if (at >= words.size() || !one_of(words[at].text, " timeit cProfile profile trace pdb ")) return;
  for (std::size_t i = at + 1; i < words.size(); ++i)
    if (words[at].text == "timeit" && (!words[i].text.starts_with('-') || words[i - 1].text == "-s"))
      inline_code("python", words[i], c);
}

}  // namespace hotcell::bash
