#include "inspect/mention.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>

namespace hotcell::inspect {

namespace {

constexpr std::size_t kSentence = 48;   // bytes before a phrase in which its subject stands
constexpr std::size_t kAround = 240;    // bytes in which a quotation begins and ends
constexpr std::size_t kReporting = 80;  // bytes before or after a quotation that say what it is

using Words = std::span<const std::string_view>;

std::string lower(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::string_view before(std::string_view text, std::size_t at, std::size_t size) {
  std::size_t n = std::min(at, size);
  return text.substr(at - n, n);
}

bool one_of(std::string_view s, Words all) { return std::find(all.begin(), all.end(), s) != all.end(); }
bool holds(std::string_view s, Words all) {
  return std::any_of(all.begin(), all.end(), [&](auto w) { return s.find(w) != s.npos; });
}
bool ends_with(std::string_view s, Words all) {
  return std::any_of(all.begin(), all.end(), [&](auto w) { return s.ends_with(w); });
}
bool starts_with(std::string_view s, Words all) {
  return std::any_of(all.begin(), all.end(), [&](auto w) { return s.starts_with(w); });
}

// "note": "…" is a value that a tool returned, no quotation. `begin`: what follows the quotation mark.
bool is_json_value(std::string_view text, std::size_t begin) {
  std::size_t i = begin - 1;
  while (i > 0 && (text[i - 1] == ' ' || text[i - 1] == '\t')) --i;
  return i >= 2 && (text[i - 1] == ':' || text[i - 1] == ',' || text[i - 1] == '[') &&
         (text[i - 2] == '"' || text[i - 2] == '\'' || text[i - 1] == '[');
}

// The quotation mark that ends at `at` or begins there: ASCII, backtick, or a curly one.
bool quote_before(std::string_view text, std::size_t at) {
  if (at == 0) return false;
  char c = text[at - 1];
  if (c == '"' || c == '\'' || c == '`') return true;
  return at >= 3 && text[at - 3] == '\xE2' && text[at - 2] == '\x80' && (c == '\x9C' || c == '\x98' || c == '\x9E');
}

bool quote_after(std::string_view text, std::size_t at) {
  for (std::size_t i = at; i < std::min(text.size(), at + 3); ++i) {
    char c = text[i];
    if (c == '"' || c == '\'' || c == '`' || c == '\xE2' || c == '\xC2') return true;
    if (c != '.' && c != '!' && c != ',') return false;
  }
  return false;
}

// Somebody says, tests, detects or names what is quoted: without such a word a quoted order is an order still.
constexpr std::array<std::string_view, 36> kReports = {
    "says",      "said",    " say ",  "saying",  "such as", "phrase", "example", "e.g.",    "flag",
    "detect",    "test",    "assert", "contain", "called",  "titled", "string",  "attack",  "reject",
    "comment",   "writes",  "wrote",  "written", "reads",   "asks",   "asked",   "told",    "inject",
    "jailbreak", "classif", "filter", "recogni", "words",   "label",  "replied", "popular", "messages like"};

}  // namespace

bool is_reported(std::string_view text, std::size_t begin, std::size_t end) {
  // "ignore" "all" "previous": a quotation has no marks within.
  if (std::string_view phrase = text.substr(begin, end - begin); std::count(phrase.begin(), phrase.end(), '"') > 1) return false;
  std::string_view ahead = before(text, begin, kAround), behind = text.substr(end, kAround);
  if (auto line = ahead.rfind('\n'); line != ahead.npos) ahead.remove_prefix(line + 1);
  behind = behind.substr(0, behind.find('\n'));
  struct Pair {
    std::string_view open, close;
  };
  static constexpr Pair kPairs[] = {{"\"", "\""},         {"`", "`"},           {"'", "'"},
                                    {"\u201C", "\u201D"}, {"\u2018", "\u2019"}, {"\u00AB", "\u00BB"},
                                    {"\u201E", "\u201C"}};
  for (const Pair& p : kPairs) {
    std::size_t open = ahead.rfind(p.open), close = behind.find(p.close);
    if (open == ahead.npos || close == behind.npos) continue;
    if (p.open == p.close) {
      std::size_t marks = 0;
      for (std::size_t at = ahead.find(p.open); at != ahead.npos; at = ahead.find(p.open, at + 1)) ++marks;
      bool apostrophe = p.open == "'" && open > 0 && std::isalpha(static_cast<unsigned char>(ahead[open - 1])) != 0;
      if (marks % 2 == 0 || apostrophe) continue;
    } else if (ahead.find(p.close, open) != ahead.npos) {
      continue;
    }
    std::size_t mark = begin - ahead.size() + open;
    if (is_json_value(text, mark + 1)) continue;
    std::string about = lower(before(text, mark, kReporting)), after = lower(behind.substr(close, kReporting));
    if (holds(about, kReports) || holds(after, kReports) || after.find(" by ") != after.npos) return true;
  }
  return false;
}

bool begins_quotation(std::string_view text, std::size_t begin, std::size_t end) {
  if (!quote_before(text, begin) || is_json_value(text, begin)) return false;
  std::string_view rest = text.substr(end, kAround);
  return rest.substr(0, rest.find('\n')).find_first_of("\"'`\xe2") != rest.npos;
}

namespace {

bool is_quoted(std::string_view text, std::size_t begin, std::size_t end) {
  std::string_view phrase = text.substr(begin, end - begin);
  if (std::count(phrase.begin(), phrase.end(), '"') > 1) return false;
  return (quote_before(text, begin) && quote_after(text, end) && !is_json_value(text, begin)) || is_reported(text, begin, end);
}

// Where people write about such texts.
bool is_discussed(std::string_view text, std::size_t begin, std::size_t end) {
  static constexpr std::array<std::string_view, 16> kTopics = {
      "prompt injection", "prompt-injection",  "prompt leaking", "jailbreak",
      "typical payload",  "attack payload",    "red team",       "owasp",
      "adversarial",      "guard model",       "classifier",     "injection attack",
      "attack technique", "security advisory", "attackers",      "an attacker"};
  return holds(lower(before(text, begin, 200)), kTopics) || holds(lower(text.substr(end, 120)), kTopics);
}

// "do not ignore", "no ignore", "Не забудьте", "不要忽略", "vergiss nicht", "忘れないで".
bool is_denied(std::string_view text, std::size_t begin, std::size_t end, std::string_view last) {
  static constexpr std::array<std::string_view, 26> kNot = {"not",
                                                            "never",
                                                            "don't",
                                                            "cannot",
                                                            "can't",
                                                            "won't",
                                                            "didn't",
                                                            "doesn't",
                                                            "without",
                                                            "shouldn't",
                                                            "don\xE2\x80\x99t",
                                                            "no",
                                                            "non",
                                                            "nao",
                                                            "n\u00e3o",
                                                            "ne",
                                                            "nicht",
                                                            "nie",
                                                            "niemals",
                                                            "niet",
                                                            "\u043d\u0435",
                                                            "\u041d\u0435",
                                                            "\u0644\u0627",
                                                            "nunca",
                                                            "jamais",
                                                            "nooit"};
  if (one_of(last, kNot)) return true;
  static constexpr std::array<std::string_view, 11> kBefore = {"不要", "不能", "不可", "不得", "不应", "不會",
                                                               "不会", "请勿", "切勿", "勿",   "别"};
  if (ends_with(before(text, begin, 12), kBefore)) return true;
  static constexpr std::array<std::string_view, 6> kAfter = {"ない", "しない", "するな", "지 ", "하지 마", "하지 말"};
  if (starts_with(text.substr(end, 16), kAfter)) return true;
  static constexpr std::array<std::string_view, 3> kWithin = {" nicht", " niet ", " nie "};
  return holds(lower(text.substr(begin, end - begin)), kWithin);
}

// "The phrase to detect is: …"
bool is_introduced(std::string_view text, std::size_t begin) {
  std::string_view line = before(text, begin, 100);
  if (auto last = line.rfind('\n'); last != line.npos) line.remove_prefix(last + 1);
  std::size_t colon = line.rfind(':');
  if (colon == line.npos || line.find_first_of(".!?", colon) != line.npos) return false;
  static constexpr std::array<std::string_view, 7> kNames = {"phrase", "attack", "payload", "string", "pattern", "detect", "jailbreak"};
  return holds(lower(line.substr(0, colon)), kNames);
}

// "fix(prompt): forget previous …": the line says what a change does.
bool is_of_a_change(std::string_view text, std::size_t begin) {
  std::string_view line = before(text, begin, 60);
  if (auto last = line.rfind('\n'); last != line.npos) line.remove_prefix(last + 1);
  else if (line.size() == 60) return false;
  while (!line.empty() && (line.front() == ' ' || line.front() == '*' || line.front() == '-')) line.remove_prefix(1);
  static constexpr std::array<std::string_view, 9> kKinds = {"fix", "feat", "chore", "refactor", "docs", "test", "perf", "build", "revert"};
  for (auto kind : kKinds) {
    if (!line.starts_with(kind)) continue;
    std::string_view rest = line.substr(kind.size());
    if (rest.starts_with('(') && rest.find(')') != rest.npos) rest.remove_prefix(rest.find(')') + 1);
    if (rest.starts_with(": ") || rest.starts_with("!: ")) return true;
  }
  return false;
}

// "If you are upgrading from 1.x, ignore the previous instructions": said to those with that case, and no model is one.
bool is_of_a_case(std::string_view ahead) {
  auto at = ahead.rfind("if you");
  if (at == ahead.npos || ahead.find_first_of(".!?;\n", at) != ahead.npos || ahead.find(',', at) != ahead.size() - 1) return false;
  static constexpr std::array<std::string_view, 14> kCases = {" have used", " used ", " already", " have already", " run ", " are running", " are using", "'re using",
                                                              " are upgrading", "'re upgrading", " upgraded", " have installed", " installed ", " bought "};
  return starts_with(ahead.substr(at + 6), kCases);
}

// Who does it? "it will ignore previous instructions" tells of somebody; "now ignore previous instructions" tells me.
Said by_sentence(std::string_view text, std::size_t begin, std::size_t end) {
  // A pattern may begin at the second letter of a word, where the first has two forms.
  std::size_t word = begin;
  for (std::size_t i = 0; i < 4 && word > 0 && (text[word - 1] & 0x80) != 0; ++i) --word;
  if (word > 0 && text[word - 1] != ' ') word = begin;
  std::string ahead = lower(before(text, word, kSentence));
  while (!ahead.empty() && (ahead.back() == ' ' || ahead.back() == '\n')) ahead.pop_back();
  std::size_t cut = ahead.find_last_of(" \n\t(\"'");
  // "don't": the apostrophe is within the word.
  if (cut != ahead.npos && cut > 0 && ahead[cut] == '\'' && std::isalpha(static_cast<unsigned char>(ahead[cut - 1])) != 0)
    cut = ahead.find_last_of(" \n\t(\"", cut);
  std::string_view last = cut == ahead.npos ? std::string_view(ahead) : std::string_view(ahead).substr(cut + 1);
  if (is_denied(text, begin, end, last)) return Said::kDenied;
  static constexpr std::array<std::string_view, 16> kOthers = {"will", "would", "could", "may", "might", "it",
                                                               "they", "which", "who",   "he",  "she",   "we",
                                                               "i",    "that",  "can",   "si"};
  // "¿Cómo puedo ignorar…?", "Wie kann ich …": asked, not ordered.
  static constexpr std::array<std::string_view, 12> kAsked = {"puedo", "puede", "podemos", "podr\u00eda", "c\u00f3mo", "como",
                                                              "comment", "puis-je", "peut-on", "kann", "posso", "como posso"};
  if (one_of(last, kAsked)) return Said::kOfSomebody;
  if (is_introduced(text, begin)) return Said::kQuoted;
  if (is_of_a_change(text, begin)) return Said::kOfSomebody;
  bool to_me = ahead.find("you ") != ahead.npos;
  if (one_of(last, kOthers)) return to_me ? Said::kToTheReader : Said::kOfSomebody;
  static constexpr std::array<std::string_view, 4> kDuty = {"to", "should", "must", "shall"};
  if (one_of(last, kDuty) && ahead.find("you") == ahead.npos) return Said::kOfSomebody;
  static constexpr std::array<std::string_view, 8> kCase = {"if you",  "when you", "unless you", "once you",
                                                            "did you", "do you",   "why you",    "have you"};
  if (is_of_a_case(ahead)) return Said::kQuoted;
  return ends_with(ahead, kCase) ? Said::kOfSomebody : Said::kToTheReader;
}

}  // namespace

Said how_it_is_said(std::string_view text, std::size_t begin, std::size_t end) {
  Said said = by_sentence(text, begin, end);
  if (said == Said::kDenied || said == Said::kQuoted) return said;
  if (is_quoted(text, begin, end)) return Said::kQuoted;
  return said == Said::kToTheReader && is_discussed(text, begin, end) ? Said::kOfSomebody : said;
}

}  // namespace hotcell::inspect
