// What a script decides and carries: people judged by what they are, secrets and people's data in the text, harm that
// its names declare, and markup that runs.
#include <algorithm>

#include "base/strings.h"
#include "languages/bash/facts_analyser.h"
#include "languages/common/telling_words.h"
#include "languages/fact_list.h"

namespace hotcell::bash {
namespace {

bool names_secret_variable(std::string_view name) {
  std::string low = ascii_lower(name);
  if (names_credential(low)) return true;
  if (low == "otp" || low == "pin" || low == "salt") return true;
  for (std::string_view word : {"secret", "token", "credential"})
    if (low.find(word) != low.npos) return true;
  return false;
}

bool holds_active_markup(std::string_view text) {
  std::string low = ascii_lower(text.substr(0, 2000));
  for (std::string_view word : {"<script", "onerror=", "onload=", "javascript:", "document.cookie"})
    if (low.find(word) != low.npos) return true;
  return false;
}

}  // namespace

// [ "$gender" = male ], [[ $race == … ]], case $nationality in, ${rates[$race]}
void Analyser::decisions(ShellId node) {
  const ShellNode& n = s_.nodes[node];
  auto command = n.kind == ShellNodeKind::kSimple && n.word_count > 1 ? s_.plain(n.words) : std::nullopt;
  bool shows = command && (*command == "echo" || *command == "printf");
  for (ShellId w = n.words; n.kind == ShellNodeKind::kSimple && w < n.words + std::min<ShellId>(n.word_count, 32);
       ++w) {
    const ShellWord& word = s_.words[w];
    for (ShellId p = word.parts; p < word.parts + word.count; ++p) {
      if (s_.parts[p].kind != ShellPartKind::kParameter) continue;
      Call c;
      c.at = n.begin;
      if (shows && s_.parts[p].op.empty() && names_credential(ascii_lower(s_.parts[p].text)))
        construct("secret-output", std::string(s_.parts[p].text), c);
      if (s_.parts[p].index == kNoShell) continue;
      const ShellWord& index = s_.words[s_.parts[p].index];
      for (ShellId i = index.parts; i < index.parts + index.count; ++i)
        if (s_.parts[i].kind == ShellPartKind::kParameter && judges_people(ascii_lower(s_.parts[i].text)))
          construct("judged-by", std::string(s_.parts[i].text), c);
    }
  }
  bool test = n.kind == ShellNodeKind::kTest, choice = n.kind == ShellNodeKind::kCase;
  if (n.kind == ShellNodeKind::kSimple && n.word_count > 2) {
    auto name = s_.plain(n.words);
    test = name && (*name == "[" || *name == "test");
  }
  if (!test && !choice) return;
  for (ShellId w = n.words; w < n.words + std::min<ShellId>(n.word_count, choice ? 1 : 64); ++w) {
    const ShellWord& word = s_.words[w];
    for (ShellId p = word.parts; p < word.parts + word.count; ++p) {
      if (s_.parts[p].kind != ShellPartKind::kParameter) continue;
      std::string name = ascii_lower(s_.parts[p].text.substr(0, 48));
      // candidate_gender, applicant_race: the last word is what it is about.
      std::string_view last =
          std::string_view(name).substr(name.rfind('_') == std::string::npos ? 0 : name.rfind('_') + 1);
      bool of_people = judges_people(name) || judges_people(last);
      if (!of_people && (judges_by_context(name) || judges_by_context(last)))
        of_people = names_a_choice_of_people(s_.text().substr(0, 4096));
      Call c;
      c.at = n.begin;
      c.node = node;
      if (of_people) return construct("judged-by", name, c);
      // Is the second thing of the test a constant? Then a secret is in the text.
      if (names_credential(name) && test && n.word_count >= 3)
        for (ShellId other = n.words + 1; other < n.words + n.word_count; ++other)
          if (auto text = s_.plain(other);
              other != w && text && text->size() > 3 && !text->starts_with('-') && *text != "]")
            return construct("secret-literal", name, c);
    }
  }
}

// An assignment: what the name says, and the value.
void Analyser::carried(std::string_view name, const Field& value, std::uint32_t at) {
  Call c;
  c.at = at;
  if (declares_harm(name)) construct("declared-harm", std::string(name.substr(0, 60)), c);
  if (!value.known) {
    if (names_secret_variable(name) && value.outside == "RANDOM") construct("weak-random", std::string(name), c);
    return;
  }
  const std::string& text = value.text;
  bool one_word = text.find_first_of(" /$*\n") == std::string::npos;
  if (names_secret_variable(name) && one_word && text.size() >= 6) construct("secret-literal", std::string(name), c);
  std::string low = ascii_lower(name.substr(0, 48));
  if ((names_personal_data(low) && text.size() > 4) || holds_personal_data(text))
    construct("personal-data", std::string(name), c);
  if (declares_harm(text)) construct("declared-harm", text.substr(0, 60), c);
  if (holds_active_markup(text)) construct("active-markup", text.substr(0, 60), c);
}

// x=$x$x in a loop doubles each time; otp=$((RANDOM % 10000)) can be guessed.
void Analyser::grown(const ShellAssignment& a, ShellId node) {
  const ShellWord& word = s_.words[a.value];
  Call c;
  c.at = a.begin;
  int itself = 0;
  for (ShellId p = word.parts; p < word.parts + word.count; ++p)
    itself += s_.parts[p].kind == ShellPartKind::kParameter && s_.parts[p].text == a.name;
  bool loop = false;
  for (ShellId up = s_.nodes[node].parent; itself > 1 && up != kNoShell && !loop; up = s_.nodes[up].parent) {
    ShellNodeKind kind = s_.nodes[up].kind;
    loop = kind == ShellNodeKind::kWhile || kind == ShellNodeKind::kUntil || kind == ShellNodeKind::kFor ||
           kind == ShellNodeKind::kForArithmetic;
  }
  if (loop) construct("endless-copy", cat(a.name, " doubles each time"), c);
  std::string_view text = s_.text().substr(word.begin, std::min<std::size_t>(word.end - word.begin, 200));
  if (names_secret_variable(a.name) && text.find("RANDOM") != text.npos)
    construct("weak-random", std::string(a.name), c);
}

// read e; echo $(($e)): bash runs what stands in a subscript of it.
void Analyser::computed_input(ShellId at, std::uint32_t begin) {
  const ShellWord& word = s_.words[at];
  for (ShellId p = word.parts; p < word.parts + std::min<ShellId>(word.count, 16); ++p) {
    const ShellPart& part = s_.parts[p];
    if (part.kind != ShellPartKind::kParameter && part.kind != ShellPartKind::kLiteral) continue;
    Call c;
    c.at = begin;
    std::string name;
    for (std::size_t i = 0; i <= part.text.size() && i < 200; ++i) {  // n * 2: a bare name stands for its value
      if (i < part.text.size() && is_word_char(part.text[i])) {
        name += part.text[i];
        continue;
      }
      auto it = st_.variables.find(name);
      if (it != st_.variables.end() && !it->second.values.empty() && (it->second.values.back().taint & kInput) != 0)
        construct("computed-input", name, c);
      name.clear();
    }
  }
}

// echo and printf: what is shown or written.
void Analyser::shown(Args words, const Call& c) {
  for (const Field& f : words.subspan(1)) {
    if (!f.known && !f.outside.empty() && names_secret_variable(f.outside))
      construct("secret-output", cat("$", f.outside), c);
    if (holds_personal_data(f.text)) construct("personal-data", f.text.substr(0, 60), c);
    if (declares_harm(f.text)) construct("declared-harm", f.text.substr(0, 60), c);
    if (holds_active_markup(f.text)) construct("active-markup", f.text.substr(0, 60), c);
    // Markup put together from what somebody gave.
    bool tag = f.text.size() > 3 && f.text[0] == '<' && isalpha(static_cast<unsigned char>(f.text[1])) != 0;
    if (tag && !f.known) construct("html-interpolation", f.text.substr(0, 60), c);
  }
}

// [ -f /app/data ]: what lies there is asked for, though not read.
void Analyser::tested_paths(Args words, const Call& c) {
  for (std::size_t i = 1; i + 1 < words.size(); ++i) {
    if (!one_of(words[i].text, " -e -f -d -r -w -x -s -L -h ") || !words[i + 1].known) continue;
    const std::string& path = words[i + 1].text;
    bool outside = (path.starts_with('/') || path.starts_with("~/") || path.starts_with("../")) &&
                   !path.starts_with("/tmp") && !path.starts_with("/work") && !path.starts_with("/dev/");
    if (outside) construct("tests-outside", path, c);
  }
}

}  // namespace hotcell::bash
