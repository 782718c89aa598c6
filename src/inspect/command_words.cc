#include "inspect/command_words.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <utility>

#include "base/strings.h"
#include "inspect/decode.h"

namespace hotcell::inspect {
namespace {

// \143, \0143, \x63, \n
std::string with_escapes(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    const bool octal = c >= '0' && c <= '7', hex = c == 'x';
    if (!octal && !hex) {
      out += c == 'n' ? '\n' : c == 't' ? '\t' : c;
      continue;
    }
    std::size_t at = hex ? i + 1 : i, most = hex ? 2u : c == '0' ? 4u : 3u;
    unsigned value = 0;
    auto [end, error] = std::from_chars(text.data() + at, text.data() + std::min(text.size(), at + most), value, hex ? 16 : 8);
    if (error == std::errc()) i = static_cast<std::size_t>(end - text.data()) - 1;
    out += static_cast<char>(value);
  }
  return out;
}

std::string without_space(std::string_view text) {
  std::string out;
  for (char c : text)
    if (c != ' ' && c != '\n' && c != '=') out += c;
  return out;
}

std::optional<std::string> said_by(const ShellScript& s, ShellId inner, const Variables& variables);

}  // namespace

std::string expand(const ShellScript& s, ShellId word, const Variables& variables) {
  std::string out;
  if (word >= s.words.size()) return out;
  const ShellWord& w = s.words[word];
  for (ShellId i = w.parts; i < w.parts + w.count; ++i) {
    const ShellPart& p = s.parts[i];
    switch (p.kind) {
      case ShellPartKind::kLiteral:
      case ShellPartKind::kGlob:
      case ShellPartKind::kBrace:
      case ShellPartKind::kTilde: out += p.text; break;
      case ShellPartKind::kParameter:
        if (auto known = variables.find(p.text); known != variables.end()) out += known->second;
        else if (p.text == "IFS" || p.text == "{IFS}") out += ' ';
        else (out += '$') += p.text;
        break;
      case ShellPartKind::kCommand: {
        auto said = said_by(s, p.node, variables);
        out += said ? *said : "\x01";
        break;
      }
      case ShellPartKind::kProcess:
      case ShellPartKind::kArithmetic: out += '\x01'; break;
    }
    if (out.size() > kLongestCommand) break;
  }
  return out;
}

std::optional<std::string> printed(const Words& words) {
  if (words.size() < 2 || (words[0] != "echo" && words[0] != "printf")) return std::nullopt;
  std::size_t at = 1;
  if (words[0] == "echo") {
    while (at < words.size() && words[at].size() > 1 && words[at][0] == '-' && words[at].find_first_not_of("neE", 1) == std::string::npos) ++at;
    return with_escapes(join(Words(words.begin() + static_cast<std::ptrdiff_t>(at), words.end()), " "));
  }
  if (words[at] == "--") ++at;
  if (at >= words.size() || words[at] == "-v") return std::nullopt;
  const std::string& format = words[at++];
  std::string out;
  do {
    const std::size_t before = at;
    for (std::size_t i = 0; i < format.size(); ++i) {
      if (format[i] != '%' || i + 1 == format.size()) {
        out += format[i];
      } else if (format[++i] == '%') {
        out += '%';
      } else {
        while (i + 1 < format.size() && std::strchr("-+ #0123456789.", format[i]) != nullptr) ++i;
        if (at < words.size()) out += words[at++];
      }
    }
    if (at == before) break;
  } while (at < words.size() && out.size() < kLongestCommand);
  return with_escapes(out);
}

namespace {

// What $(echo …), $(printf …) and $(which …) say, as it is or through a program that only writes it otherwise.
std::optional<std::string> said_by(const ShellScript& s, ShellId inner, const Variables& variables) {
  constexpr std::uint32_t kLong = 4096;  // more is no name of a program, and every level around it reads it again
  if (inner == kNoShell || s.nodes[inner].end - s.nodes[inner].begin > kLong) return std::nullopt;
  std::optional<std::string> said;
  int pipelines = 0;
  for (ShellId k = inner; k < s.nodes[inner].after; ++k) {
    const ShellNode& node = s.nodes[k];
    if (node.kind == ShellNodeKind::kSubstitution) continue;
    if (node.kind == ShellNodeKind::kPipeline && ++pipelines == 1) continue;
    if (node.kind != ShellNodeKind::kSimple || node.redirect_count > 0 || node.word_count == 0) return std::nullopt;
    Words words = {expand(s, node.words, variables)};  // each once: what is within is expanded with it
    const std::string name = words[0];
    const bool looks_up = name == "which" || name == "command" || name == "type";
    if (!said && name != "echo" && name != "printf" && !looks_up) return std::nullopt;
    for (ShellId i = 1; i < node.word_count; ++i) words.push_back(expand(s, node.words + i, variables));
    if (!said && looks_up && words.size() > 1) said = words.back();
    else if (!said) said = printed(words);
    else if (name == "base64") said = decode_base64(without_space(*said));
    else if (name == "xxd") said = decode_hex(without_space(*said));
    else if (name == "rev") said = reversed(*said);
    else return std::nullopt;
    if (!said || said->find('\x01') != std::string::npos || said->size() > kLongestCommand) return std::nullopt;
    k = node.after - 1;
  }
  while (said && said->ends_with('\n')) said->pop_back();
  return said;
}

}  // namespace

void note_assignments(const ShellScript& s, const ShellNode& node, Variables& variables) {
  for (ShellId i = node.assignments; i < node.assignments + node.assignment_count; ++i) {
    const ShellAssignment& a = s.assignments[i];
    if (a.value == kNoShell || variables.size() > 256) continue;
    std::string value = expand(s, a.value, variables);
    if (value.size() < 4096) variables[std::string(a.name)] = std::move(value);
  }
}

}  // namespace hotcell::inspect
