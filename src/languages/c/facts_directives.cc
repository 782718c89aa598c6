// Directives: what is included, what macros hide, what pragmas do.
#include "base/strings.h"
#include "languages/c/facts_directives.h"
#include "languages/c/facts_names.h"

namespace hotcell::c {
namespace {

// "file" or <file> at the beginning of a directive's rest.
std::optional<std::string> file_of(std::string_view rest) {
  if (rest.empty() || (rest[0] != '"' && rest[0] != '<')) return std::nullopt;
  std::size_t end = rest.find(rest[0] == '"' ? '"' : '>', 1);
  return std::string(rest.substr(1, end == std::string_view::npos ? end : end - 1));
}

void see_include(const Directive& d, const Macros& macros, FactList& facts) {
  auto file = file_of(d.rest);
  if (!file) {
    std::string_view word = std::string_view(d.rest).substr(0, d.rest.find_first_of(" (\t"));
    if (word == "__FILE__" || word == "__BASE_FILE__") {
      facts.add(FactKind::kConstruct, "self-include", cat("#", d.name, " ", d.rest), d.begin, d.end);
      return;
    }
    file = macros.string_of(word);
    const Macro* macro = macros.find(word);
    if (!file && macro != nullptr && !macro->body.empty() && macro->body[0].text == "<") {  // #define H <stdio.h>
      std::string joined;
      for (const Token& t : macro->body) joined += t.text;
      file = file_of(joined);
    }
    if (!file || (macro != nullptr && macro->function)) {
      facts.add(FactKind::kConstruct, "computed-include", cat("#", d.name, " ", d.rest), d.begin, d.end);
      return;
    }
  }
  if (d.name != "embed") facts.add(FactKind::kImport, *file, d.name, d.begin, d.end);
  see_included(*file, cat("#", d.name), facts, d.begin, d.end);
}

void see_words(const Directive& d, const std::vector<Token>& tokens, FactList& facts) {
  std::string previous;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Token& t = tokens[i];
    if (t.kind == TokenKind::kString && (previous == "asm" || t.text.find(".inc") != std::string::npos))
      see_assembler(string_value(t.text), facts, d.begin, d.end);
    if (t.kind != TokenKind::kWord) continue;
    // Members and other namespaces' functions only share the name.
    std::string_view before = i > 0 ? std::string_view(tokens[i - 1].text) : "";
    bool member = before == "." || (before == ">" && i > 1 && tokens[i - 2].text == "-");
    if (reaches_out(t.text) && !member && t.text != "remove")
      facts.add(FactKind::kUse, t.text, "macro", d.begin, d.end);
    if (t.text == "asm" || t.text == "__asm__" || t.text == "__asm" || t.text == "_asm") {
      facts.add(FactKind::kConstruct, "inline-asm", cat("#", d.name, " ", d.rest).substr(0, 120), d.begin, d.end);
      previous = "asm";
    }
    if (t.text == "_Pragma") facts.add(FactKind::kConstruct, "pragma", d.rest.substr(0, 120), d.begin, d.end);
  }
}

}  // namespace

void see_included(std::string_view path, std::string_view how, FactList& facts, std::uint32_t begin,
                  std::uint32_t end) {
  std::string normal = normalise_path(path);
  if (!leaves_work_folder(normal)) return;
  facts.add(FactKind::kConstruct, "include-file", cat(how, " ", normal), begin, end);
  facts.add(FactKind::kReadPath, normal, std::string(how), begin, end);
}

void see_assembler(std::string_view text, FactList& facts, std::uint32_t begin, std::uint32_t end) {
  for (std::string_view word : {".incbin", ".include"}) {
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
      std::string_view rest = text.substr(at + word.size());
      std::size_t open = rest.find('"');
      std::string_view file = open == std::string_view::npos ? "" : rest.substr(open + 1);
      file = file.substr(0, file.find('"'));
      facts.add(FactKind::kConstruct, "asm-include-file", cat(word, " ", file), begin, end);
      if (std::string normal = normalise_path(file); leaves_work_folder(normal))
        facts.add(FactKind::kReadPath, normal, std::string(word), begin, end);
    }
  }
}

void see_pragma(const Directive& d, FactList& facts) {
  constexpr std::string_view kDependency = "GCC dependency";  // opens the file to see how old it is
  if (d.rest.starts_with(kDependency))
    if (auto file = file_of(trim(std::string_view(d.rest).substr(kDependency.size()))))
      see_included(*file, "#pragma GCC dependency", facts, d.begin, d.end);
  if (!d.rest.starts_with("GCC poison")) see_words(d, tokens_of(d.rest, 256), facts);
}

void see_directives(const Scan& scan, Macros& macros, FactList& facts) {
  for (const Directive& d : scan.directives)
    if (d.name == "define") macros.define(d.rest);
  macros.finish();
  for (std::uint32_t at : scan.trigraphs) facts.add(FactKind::kConstruct, "trigraph", "a trigraph", at, at + 3);
  for (const Directive& d : scan.directives) {
    if (d.name == "include" || d.name == "include_next" || d.name == "import" || d.name == "embed") {
      see_include(d, macros, facts);
    } else if (d.name == "define") {
      std::string_view rest = d.rest;
      std::size_t end = 0;
      while (end < rest.size() && is_word_char(rest[end])) ++end;
      if (end < rest.size() && rest[end] == '(') end = std::min(rest.size(), rest.find(')', end));
      auto tokens = tokens_of(rest.substr(end), 4096);
      see_words(d, tokens, facts);
      if (rest.substr(end).find("##") != std::string_view::npos)
        see_words(d, macros.expand(tokens), facts);
    } else if (d.name == "pragma") {
      see_pragma(d, facts);
    } else if (d.name == "if" || d.name == "elif") {
      for (std::string_view probe : {"__has_include", "__has_embed"})
        for (std::size_t at = d.rest.find(probe); at != std::string::npos; at = d.rest.find(probe, at + 1)) {
          std::size_t open = d.rest.find('(', at);
          if (open == std::string::npos) break;
          if (auto file = file_of(trim(std::string_view(d.rest).substr(open + 1))))
            see_included(*file, probe, facts, d.begin, d.end);
        }
    }
  }
}

}  // namespace hotcell::c
