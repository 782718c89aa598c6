// Bash expands what stands in a subscript wherever it takes a text for arithmetic or for the name of a variable: a
// value such as a[$(rm f)] runs rm in (( )), $(( )), let, [[ -v ]], [[ x -eq y ]], declare -i, printf -v, read, unset,
// ${v:from:length} and each index of an array. In arithmetic a bare name stands for its value, and so on.
#include "base/strings.h"
#include "languages/bash/facts_analyser.h"
#include "languages/bash/facts_text.h"
#include "languages/fact_list.h"

namespace hotcell::bash {
namespace {

bool begins_name(char c) { return is_word_char(c) && (c < '0' || c > '9'); }

// What stands from the first subscript on that holds a command, written in any way that is expanded there.
std::string_view command_in_subscript(std::string_view text) {
  bool inside = false;
  std::size_t from = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '[' && i > 0 && is_word_char(text[i - 1]) && !inside) {
      inside = true;
      from = i + 1;
    } else if (inside) {
      char next = i + 1 < text.size() ? text[i + 1] : '\0';
      bool command = text[i] == '`' ? text.find('`', i + 1) != text.npos
                                    : ((text[i] == '$' || text[i] == '<' || text[i] == '>') && next == '(') ||
                                          (text[i] == '$' && next == '{' && text.substr(i + 2, 1) == " ");
      // $(( )) is arithmetic again: a command can stand only further in.
      if (command && text.substr(i, 3) == "$((") command = false, ++i;
      if (command) return text.substr(from);
    }
  }
  return {};
}

}  // namespace

// `from`: where names begin that stand for values.
bool Analyser::computes(std::string_view text, const Call& c, std::size_t from) {
  constexpr std::size_t kMost = 64;
  std::vector<std::string> texts;
  std::set<std::string> seen;
  texts.emplace_back(text);
  for (std::size_t i = 0; i < texts.size(); ++i, from = 0) {
    const std::string now = std::move(texts[i]);
    if (!spend(now.size())) return false;
    if (std::string_view code = command_in_subscript(now); !code.empty()) {
      construct("subscript-injection", now, c);
      evaluate_text(cat(": \"", code, "\""), c);
      return true;
    }
    for (std::size_t at = from; at < now.size() && texts.size() < kMost;) {
      std::size_t end = at;
      while (end < now.size() && is_word_char(now[end])) ++end;
      if (end > at && begins_name(now[at])) {
        std::string name = now.substr(at, end - at);
        auto it = st_.variables.find(name);
        for (int refers = 0; refers < 8 && it != st_.variables.end() && !it->second.refers.empty(); ++refers)
          it = st_.variables.find(it->second.refers);
        if (it != st_.variables.end() && seen.insert(it->first).second)
          for (const Fields* values : {&it->second.values, &it->second.elements})
            for (const Field& f : *values)
              if (f.text.find_first_not_of("0123456789") != f.text.npos && texts.size() < kMost)
                texts.push_back(f.text);
      }
      at = std::max(end, at + 1);
    }
  }
  return false;
}

// The text is taken for a variable's name: of that, only the subscript is computed.
bool Analyser::named(std::string_view text, const Call& c) {
  std::size_t open = text.find('[');
  return open != text.npos && open > 0 && computes(text, c, open);
}

// A value like x[$(…)] has one use: to be taken for a variable's name, so that bash runs the command.
bool Analyser::subscript(const Field& f, const Call& c) {
  std::size_t open = f.text.find('[');
  if (open == f.text.npos || open == 0 || f.text.find_first_of(" \n") < open) return false;
  return !command_in_subscript(f.text).empty() && computes(f.text, c);
}

void Analyser::test_or_arithmetic(ShellId node) {
  const ShellNode& n = s_.nodes[node];
  Call c;
  c.at = n.begin;
  c.node = node;
  const ShellId count = std::min<ShellId>(n.word_count, 64);
  most_alternatives_ = 1;
  for (alternative_ = 0; alternative_ < most_alternatives_ && alternative_ < 8; ++alternative_) {
    Fields words;
    for (ShellId w = n.words; w < n.words + count; ++w) words.push_back(expand_one(w));
    const std::size_t most = most_alternatives_;
    if (n.kind == ShellNodeKind::kTest)
      tested_numbers(words, c);
    else if (n.kind != ShellNodeKind::kCase)
      for (const Field& f : words) computes(f.text, c);
    most_alternatives_ = most;
  }
  alternative_ = 0;
}

// [[ a -eq b ]] computes both, -v and -R take a name.
void Analyser::tested_numbers(Args words, const Call& c) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if ((w == "-v" || w == "-R") && i + 1 < words.size()) named(words[i + 1].text, c);
    if (!one_of(w, " -eq -ne -lt -le -gt -ge ")) continue;
    if (i > 0) computes(words[i - 1].text, c);
    if (i + 1 < words.size()) computes(words[i + 1].text, c);
  }
}

}  // namespace hotcell::bash
