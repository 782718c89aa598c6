// What is behind a descriptor: exec 3<<<'…' and what then reads 3 as code, and options of builtins in every spelling.
#include "base/strings.h"
#include "languages/bash/facts_analyser.h"
#include "languages/bash/facts_text.h"

namespace hotcell::bash {

// Kept for all that follows: a descriptor of one command alone is not told from one that stays open.
void Analyser::keep_descriptors(ShellId node) {
  const ShellNode& n = s_.nodes[node];
  const bool stays = n.kind == ShellNodeKind::kSimple && n.word_count == 1 && s_.plain(n.words) == "exec";
  for (ShellId i = n.redirects; i < n.redirects + n.redirect_count; ++i) {
    const ShellRedirect& r = s_.redirects[i];
    if (r.target == kNoShell || (r.fd <= 0 && r.fd_name.empty() && !stays)) continue;
    std::optional<Field> text = text_behind(r);
    if (!text || st_.descriptors.size() > 64) continue;
    std::string name = cat(std::max(r.fd, 0));
    if (!r.fd_name.empty()) {  // {fd}<file: a number of the shell's choice
      Field number;
      number.text = name = cat(10 + st_.descriptors.size());
      set_variable(std::string(r.fd_name), std::move(number), false, false);
    }
    if (text->process != kNoShell) {  // the node is of this script alone
      auto printed = output_of_list(text->process);
      *text = printed ? *printed : unknown({}, static_cast<std::uint8_t>(text->taint | kSubstitution));
    }
    st_.descriptors[name] = std::move(*text);
  }
}

// What a redirection for reading brings; nullopt: it is none.
std::optional<Field> Analyser::text_behind(const ShellRedirect& r) {
  if (r.op == ShellRedirectOp::kHereString) {
    Field f = expand_one(r.target);
    f.text += '\n';
    return f;
  }
  if (r.op == ShellRedirectOp::kHereDocument) {
    if (s_.here_documents[r.target] == kNoShell) return std::nullopt;
    return expand_one(s_.here_documents[r.target]);
  }
  if (r.op == ShellRedirectOp::kReadDup) {
    auto it = st_.descriptors.find(expand_one(r.target).text);
    return it == st_.descriptors.end() ? std::nullopt : std::optional<Field>(it->second);
  }
  if (r.op != ShellRedirectOp::kRead) return std::nullopt;
  Field f = expand_one(r.target);
  if (auto behind = descriptor(f)) return behind;  // never a path of one, which would lead back here
  Field out = unknown({}, f.taint);
  out.process = f.process;
  out.origin = f.known ? cat("file ", f.text) : "";
  return out;
}

// /dev/fd/3, /proc/self/fd/3, /proc/$$/fd/3. nullopt: another path, or standard input.
std::optional<Field> Analyser::descriptor(const Field& path) {
  std::size_t at = path.text.rfind("/fd/");
  if (at == std::string::npos || path.process != kNoShell ||
      !(path.text.starts_with("/dev/") || path.text.starts_with("/proc/")))
    return std::nullopt;
  std::string number = path.text.substr(at + 4);
  if (number == "0") return std::nullopt;
  auto it = st_.descriptors.find(number);
  return it == st_.descriptors.end() ? unknown() : it->second;
}

// The value of an option of a builtin: -C x, -Cx, -tC x. `valued`: the letters that take one.
std::optional<Field> option_value(std::span<const Field> words, char letter, std::string_view valued) {
  std::optional<Field> out;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (w.size() < 2 || w[0] != '-' || w == "--") break;
    for (std::size_t k = 1; k < w.size(); ++k) {
      if (valued.find(w[k]) == valued.npos) continue;
      Field value = words[i];
      if (k + 1 < w.size())
        value.text = w.substr(k + 1);
      else if (++i < words.size())
        value = words[i];
      else
        break;
      if (w[k] == letter) out = std::move(value);
      break;
    }
  }
  return out;
}

// history -s and fc -s: a line of the history runs again; nothing else reads what was put there.
void Analyser::history(const std::string& name, Args words, const Call& c) {
  std::size_t i = 1;
  if (name == "history") {
    if (words.size() < 2) return;
    const std::string& w = words[1].text;
    if (w.starts_with("-c") || w.starts_with("-d") || w.starts_with("-w"))
      construct("history-tampering", joined(words), c);
    if (w != "-s") return;
    Field line;
    for (i = 2; i < words.size(); ++i) {
      line.text += (i > 2 ? " " : "") + words[i].text;
      line.known = line.known && words[i].known;
      line.taint |= words[i].taint;
    }
    st_.history = std::move(line);
    return;
  }
  for (; i < words.size(); ++i)
    if (words[i].text.starts_with("-") && words[i].text.find('l') != std::string::npos) return;  // shows them
  if (auto editor = option_value(words, 'e', "e"); editor && editor->text != "-") code_from(*editor, name, c);
  construct("dynamic-eval", "unknown: fc", c);
  if (st_.history) code_from(*st_.history, name, c);
}

// bind -x, complete and compgen: -C names a command, -W a text that is expanded as a shell does.
void Analyser::completion(const std::string& name, Args words, const Call& c) {
  const bool bind = name == "bind";
  if (auto code = option_value(words, bind ? 'x' : 'C', bind ? "fmqrux" : "oAGWFCXPS")) {
    construct("runs-command", joined(words), c);
    if (bind) code->text = code->text.substr(std::min(code->text.find(':') + 1, code->text.size()));
    if (code->known) evaluate_text(code->text, c);
  }
  if (bind) return;
  auto list = option_value(words, 'W', "oAGWFCXPS");
  if (!list || (list->text.find("$(") == std::string::npos && list->text.find('`') == std::string::npos)) return;
  // What completions are made of: only what it runs counts.
  evaluate_text(cat(": \"", list->text, "\""), c);
}

}  // namespace hotcell::bash
