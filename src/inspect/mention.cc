#include "inspect/mention.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>
#include <vector>

#include "base/strings.h"

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

// Where the sentence ends that goes on at `at`: a stop within 1.x or e.g. ends none.
bool ends_sentence(std::string_view text, std::size_t at) {
  if (text[at] == '\n' || text[at] == '!' || text[at] == '?' || text[at] == ';') return true;
  return text[at] == '.' && (at + 1 == text.size() || text[at + 1] == ' ' || text[at + 1] == '\n') && !text.substr(0, at).ends_with("e.g");
}

std::string_view sentence_ahead(std::string_view ahead) {
  for (std::size_t i = ahead.size(); i-- > 0;)
    if (ends_sentence(ahead, i)) return ahead.substr(i + 1);
  return ahead;
}

std::string_view sentence_behind(std::string_view behind) {
  for (std::size_t i = 0; i < behind.size(); ++i)
    if (ends_sentence(behind, i)) return behind.substr(0, i);
  return behind;
}

std::string_view line_ahead(std::string_view ahead) { return ahead.substr(ahead.rfind('\n') + 1); }  // all of it, where there is none

bool has_letters(std::string_view s) {
  return std::any_of(s.begin(), s.end(), [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; });
}

// Somebody says, tests, detects or names what is quoted: without such a word in its sentence a quoted order is an order still.
constexpr std::array<std::string_view, 36> kReports = {
    "says",      "said",    " say ",  "saying",  "such as", "phrase", "example", "e.g.",    "flag",
    "detect",    "test",    "assert", "contain", "called",  "titled", "string",  "attack",  "reject",
    "comment",   "writes",  "wrote",  "written", "reads",   "asks",   "asked",   "told",    "inject",
    "jailbreak", "classif", "filter", "recogni", "words",   "label",  "replied", "popular", "messages like"};

// "the attacker wrote: ", "an example attack: ", and neither "test: " nor what somebody said who may give orders.
bool is_attributed(std::string_view about) {
  static constexpr std::array<std::string_view, 5> kSaid = {" wrote: ", " writes: ", " said: ", " says: ", " replied: "};
  static constexpr std::array<std::string_view, 5> kNamed = {" attack: ", " injection: ", " jailbreak: ", " payload: ", " jailbreaks: "};
  static constexpr std::array<std::string_view, 8> kMasters = {"user", "system", "developer", "admin", "operator", "owner", "boss", "creator"};
  return (ends_with(about, kSaid) || ends_with(about, kNamed)) && !holds(about, kMasters);
}

enum class Quotation { kNone, kBare, kReported };

Quotation quotation_of(std::string_view text, std::size_t begin, std::size_t end) {
  // "ignore" "all" "previous": a quotation has no marks within.
  if (std::string_view phrase = text.substr(begin, end - begin); std::count(phrase.begin(), phrase.end(), '"') > 1) return Quotation::kNone;
  std::string_view ahead = line_ahead(before(text, begin, kAround)), behind = text.substr(end, kAround);
  behind = behind.substr(0, behind.find('\n'));
  struct Pair {
    std::string_view open, close;
  };
  static constexpr Pair kPairs[] = {{"\"", "\""},         {"`", "`"},           {"'", "'"},
                                    {"\u201C", "\u201D"}, {"\u2018", "\u2019"}, {"\u00AB", "\u00BB"},
                                    {"\u201E", "\u201C"}};
  Quotation found = Quotation::kNone;
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
    std::string about = lower(sentence_ahead(before(text, mark, kReporting)));
    std::string after = lower(sentence_behind(behind.substr(close + p.close.size(), kReporting)));
    while (about.ends_with(' ')) about.pop_back();
    about += ' ';
    // "Test: "…"" and "You were told: "…"" hand the order on, whatever they call it; nothing is said of it.
    static constexpr std::array<std::string_view, 6> kDo = {"you ", " obey", " do it", " do so", " do that", " follow"};
    bool handed = (about.ends_with(": ") && !has_letters(after) && !is_attributed(about)) || about.find("you ") != about.npos || holds(after, kDo);
    if (!handed && (holds(about, kReports) || holds(after, kReports))) return Quotation::kReported;
    if (has_letters(about) || has_letters(after)) found = Quotation::kBare;
  }
  return found;
}

}  // namespace

bool is_reported(std::string_view text, std::size_t begin, std::size_t end) {
  return quotation_of(text, begin, end) == Quotation::kReported;
}

bool begins_quotation(std::string_view text, std::size_t begin, std::size_t end) {
  if (!quote_before(text, begin) || is_json_value(text, begin)) return false;
  return quotation_of(text, begin, end) != Quotation::kNone;
}

namespace {

// A quotation mark on either side, and something of its own in the line: `"ignore …" | blocked`, `- "ignore …"`.
bool is_in_marks(std::string_view text, std::size_t begin, std::size_t end) {
  std::string_view phrase = text.substr(begin, end - begin);
  if (std::count(phrase.begin(), phrase.end(), '"') > 1 || !quote_before(text, begin) || !quote_after(text, end) || is_json_value(text, begin)) return false;
  std::string_view behind = text.substr(end, kAround);
  std::string around = cat(line_ahead(before(text, begin, kAround)), behind.substr(0, behind.find('\n')));
  return has_letters(around) || around.starts_with('-') || around.find_first_of(",|([") != around.npos;
}

// Somebody writes about such texts, and what he writes comes now: "attackers write things such as …".
bool is_discussed(std::string_view text, std::size_t begin) {
  static constexpr std::array<std::string_view, 16> kTopics = {
      "prompt injection", "prompt-injection",  "prompt leaking", "jailbreak",
      "typical payload",  "attack payload",    "red team",       "owasp",
      "adversarial",      "guard model",       "classifier",     "injection attack",
      "attack technique", "security advisory", "attacker",       "phishing"};
  static constexpr std::array<std::string_view, 11> kComing = {"such as", "like", "e.g.", "for example", "says", "say", "said", "write", "writes", "wrote", "include"};
  std::string ahead = lower(sentence_ahead(before(text, begin, 200)));
  while (!ahead.empty() && (ahead.back() == ' ' || ahead.back() == ',' || ahead.back() == ':')) ahead.pop_back();
  return holds(ahead, kTopics) && ends_with(ahead, kComing);
}

// A phrase between spaces, in small letters, its words one space apart.
std::string plain(std::string_view phrase) {
  std::string out = " ";
  for (char c : lower(phrase))
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0) out += c;
    else if (out.back() != ' ') out += ' ';
  return out + ' ';
}

bool is_english(std::string_view phrase) {
  static constexpr std::array<std::string_view, 12> kWords = {" the ", " your ", " all ",   " any ",   " of ",  " previous ",
                                                              " prior ", " above ", " earlier ", " you ", " my ", " everything "};
  return holds(phrase, kWords);
}

// All of them, or those of the reader: nobody says that of the steps of a manual.
bool is_sweeping(std::string_view phrase) {
  static constexpr std::array<std::string_view, 6> kWords = {" all ", " any ", " every ", " each ", " your ", " everything "};
  return holds(phrase, kWords);
}

// The words of the sentence before a phrase.
std::vector<std::string_view> words_of(std::string_view ahead) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < ahead.size();) {
    std::size_t stop = std::min(ahead.find_first_of(" \n\t(", at), ahead.size());
    if (stop > at) words.push_back(ahead.substr(at, stop - at));
    at = stop + 1;
  }
  return words;
}

// "do not ignore", "no ignore", "Не забудьте", "不要忽略", "vergiss nicht", "忘れないで". A word of another language denies nothing.
bool is_denied(std::string_view text, std::size_t begin, std::size_t end, std::string_view ahead, std::string_view last, bool english) {
  static constexpr std::array<std::string_view, 11> kNot = {"not", "never", "don't", "cannot", "can't", "won't", "didn't", "doesn't", "without",
                                                            "shouldn't", "don\xE2\x80\x99t"};
  if (one_of(last, kNot)) {
    // "Why not …?" proposes it, "if not …" comes to it, and two of them deny nothing.
    static constexpr std::array<std::string_view, 4> kNone = {"why not", "why don't", "or not", "if not"};
    auto words = words_of(ahead);
    return !ends_with(ahead, kNone) && !(words.size() > 1 && one_of(words[words.size() - 2], kNot));
  }
  if (english) return false;
  static constexpr std::array<std::string_view, 15> kOthers = {"no", "non", "nao", "n\u00e3o", "ne", "nicht", "nie", "niemals", "niet", "\u043d\u0435",
                                                               "\u041d\u0435", "\u0644\u0627", "nunca", "jamais", "nooit"};
  if (one_of(last, kOthers)) return true;
  static constexpr std::array<std::string_view, 11> kBefore = {"不要", "不能", "不可", "不得", "不应", "不會",
                                                               "不会", "请勿", "切勿", "勿",   "别"};
  if (ends_with(before(text, begin, 12), kBefore)) return true;
  static constexpr std::array<std::string_view, 6> kAfter = {"ない", "しない", "するな", "지 ", "하지 마", "하지 말"};
  if (starts_with(text.substr(end, 16), kAfter)) return true;
  static constexpr std::array<std::string_view, 3> kWithin = {" nicht", " niet ", " nie "};
  std::string within = lower(text.substr(begin, end - begin));
  return holds(within, kWithin) && within.find("nicht nur") == within.npos && within.find("niet alleen") == within.npos;
}

// "The phrase to detect is: …", and nothing behind it.
bool is_introduced(std::string_view text, std::size_t begin, std::size_t end) {
  std::string line = lower(line_ahead(before(text, begin, 100)));
  while (line.ends_with(' ')) line.pop_back();
  std::string_view rest = text.substr(end, kAround);
  if (!line.ends_with(':') || has_letters(rest.substr(0, rest.find('\n')))) return false;
  static constexpr std::array<std::string_view, 9> kNames = {"to detect", "to match", "to flag", "to block", "to reject", "to look for", "to test for",
                                                             "is flagged", "is blocked"};
  return holds(line, kNames);
}

// Nothing else is to be done, and by nobody who reads it.
bool is_alone(std::string_view text, std::size_t end) {
  std::string rest = lower(sentence_behind(text.substr(end, kAround)));
  static constexpr std::array<std::string_view, 8> kMore = {" and ", " then ", " instead", ":", " you ", " your ", ",", " but "};
  return !holds(rest, kMore);
}

// "fix(prompt): forget previous …": the line says what a change does.
bool is_of_a_change(std::string_view text, std::size_t begin, std::size_t end, std::string_view phrase) {
  std::string_view line = before(text, begin, 60);
  if (auto last = line.rfind('\n'); last != line.npos) line.remove_prefix(last + 1);
  else if (line.size() == 60) return false;
  if (is_sweeping(phrase) || !is_alone(text, end)) return false;
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
bool is_of_a_case(std::string_view text, std::size_t end, std::string_view ahead, std::string_view phrase) {
  auto at = ahead.rfind("if you");
  if (at == ahead.npos || sentence_ahead(ahead).size() < ahead.size() - at || ahead.find(',', at) != ahead.size() - 1) return false;
  static constexpr std::array<std::string_view, 14> kCases = {" have used", " used ", " already", " have already", " run ", " are running", " are using", "'re using",
                                                              " are upgrading", "'re upgrading", " upgraded", " have installed", " installed ", " bought "};
  return starts_with(ahead.substr(at + 6), kCases) && !is_sweeping(phrase) && is_alone(text, end);
}

bool any_is(Words words, Words names) {
  return std::any_of(words.begin(), words.end(), [&](auto w) { return one_of(w, names); });
}

bool all_are(Words words, Words names) {
  return std::all_of(words.begin(), words.end(), [&](auto w) { return one_of(w, names); });
}

// Words for whoever reads: what they must do is said to the reader.
bool names_reader(Words words) {
  static constexpr std::array<std::string_view, 26> kReaders = {
      "assistant", "assistants", "model",    "models", "ai",     "ais",    "llm",     "llms",  "agent",    "agents",    "bot",      "bots",   "chatbot",
      "chatbots",  "chatgpt",    "gpt",      "claude", "gemini", "copilot", "reader", "readers", "everyone", "everybody", "whoever", "system", "recipient"};
  return any_is(words, kReaders);
}

// "how to ignore", "he told me to ignore", and not "remember to ignore".
bool is_told_of(Words words, bool sweeping) {
  if (words.size() < 2) return false;
  static constexpr std::array<std::string_view, 24> kOwn = {"how",    "tried",  "tries", "trying", "decided",  "refused", "refuses", "able",
                                                            "unable", "tempted", "chose", "chooses", "tends",  "tend",    "began",   "started",
                                                            "seems",  "seem",   "appears", "appear", "wants", "wanted",  "wish",    "likely"};
  static constexpr std::array<std::string_view, 21> kMade = {"told",   "tells",   "asked",  "asks",      "ordered",   "instructed", "forced",
                                                             "forces", "taught",  "allows", "allowed",   "causes",    "caused",     "gets",
                                                             "got",    "tricked", "tricks", "persuaded", "convinced", "telling",    "asking"};
  static constexpr std::array<std::string_view, 6> kSpeakers = {"i", "we", "he", "she", "they", "my"};
  static constexpr std::array<std::string_view, 36> kOrders = {
      "remember", "sure",  "need",     "needs",   "have",    "has",  "important", "is",   "begin",    "start",   "please", "forget",
      "necessary", "required", "ready", "time",   "task",    "and",  "now",       "want", "like",     "love",    "order",  "command",
      "urge",     "advise", "mission", "goal",    "job",     "step", "try",       "going", "proceed", "continue", "go",    "not"};
  std::string_view lead = words[words.size() - 2];
  if (one_of(lead, kOwn)) return true;
  if (one_of(lead, kMade)) return any_is(words, kSpeakers);
  for (std::size_t i = words.size() - 2, n = 0; i-- > 0 && n < 3; ++n)
    if (one_of(words[i], kMade)) return true;
  if (words.size() > 2 && lead == "need" && words[words.size() - 3] == "no") return true;
  return !sweeping && !one_of(lead, kOrders);
}

// A clause that begins with if in another language, and what is supposed before it says anything else: "Wenn Sie die vorherigen
// Anweisungen ignorieren", "Si ignora las …". Behind a comma it is what is to be done then.
bool is_supposed(std::string_view text, std::size_t begin, std::size_t end, std::string_view ahead, bool english) {
  if (english) return false;
  static constexpr std::array<std::string_view, 21> kIf = {"wenn", "falls", "sofern", "si", "se", "caso", "als", "indien", "je\u015bli", "jesli", "je\u017celi", "jezeli",
                                                           "\u0435\u0441\u043b\u0438", "\u044f\u043a\u0449\u043e", "om", "hvis", "jos", "quando", "cuando", "quand", "wer"};
  static constexpr std::array<std::string_view, 22> kWho = {"sie", "du",  "man", "ihr",  "wir", "die",  "der", "das", "alle", "usted", "ud.",
                                                            "vous", "tu", "on",  "voc\u00ea", "voce", "u", "je", "de", "men", "\u0432\u044b", "\u0442\u044b"};
  std::string_view clause = ahead.substr(ahead.rfind(',') + 1);  // all of it, where there is none
  auto words = words_of(clause);
  if (!words.empty() && words.size() <= 3 && one_of(words[0], kIf) && all_are(Words(words).subspan(1), kWho)) return true;
  // "Si ya ha pagado, ignore las instrucciones anteriores.": what letters to customers say.
  static constexpr std::array<std::string_view, 12> kDone = {"si ya ", "se hai gi\u00e0 ", "se hai gia ", "se ha gi\u00e0 ", "si vous avez d\u00e9j\u00e0 ", "si vous avez deja ",
                                                             "wenn sie bereits ", "wenn sie schon ", "falls sie bereits ", "se j\u00e1 ", "se ja ", "als u al "};
  static constexpr std::array<std::string_view, 12> kAll = {"tod", "tutt", "tous", "toute", "alle", "s\u00e4mt", " tus ", " tes ", " tue", "dein", " suas ", "jouw"};
  std::string_view sentence = ahead.substr(std::min(ahead.size(), ahead.find_first_not_of(" \n")));
  if (starts_with(sentence, kDone) && clause.find_first_not_of(' ') == clause.npos && !holds(lower(text.substr(begin, end - begin)), kAll) && is_alone(text, end)) return true;
  // 如果您忽略…; 無視した場合; 무시할 경우
  static constexpr std::array<std::string_view, 8> kHan = {"如果您", "如果你", "如果", "若您", "若", "假如您", "假如", "一旦"};
  if (ends_with(before(text, begin, 24), kHan)) return true;
  std::string_view rest = text.substr(end, 24);
  for (std::string_view stop : {"、", "。", "，", ",", ".", "\n"}) rest = rest.substr(0, rest.find(stop));
  static constexpr std::array<std::string_view, 6> kCase = {"場合", "とき", "경우", "하면", "하시면", "할 때"};
  return holds(rest, kCase);
}

bool is_asked(std::string_view text, std::size_t end) {
  std::string_view rest = text.substr(end, kAround);
  std::size_t stop = rest.find_first_of(".!?\n");
  return stop != rest.npos && rest[stop] == '?';
}

// Who does it? "it will ignore previous instructions" tells of somebody; "now ignore previous instructions" tells me.
Said by_sentence(std::string_view text, std::size_t begin, std::size_t end) {
  // A pattern may begin at the second letter of a word, where the first has two forms.
  std::size_t word = begin;
  for (std::size_t i = 0; i < 4 && word > 0 && (text[word - 1] & 0x80) != 0; ++i) --word;
  if (word > 0 && text[word - 1] != ' ') word = begin;
  std::string ahead = lower(before(text, word, kSentence));
  // What begins a line with a capital is a sentence of its own: the "no" that the line before ends with denies nothing.
  if (auto gap = ahead.rfind("\n\n"); gap != ahead.npos) ahead.erase(0, gap + 2);
  if (word < text.size() && std::isupper(static_cast<unsigned char>(text[word])) != 0) ahead = line_ahead(ahead);
  while (!ahead.empty() && (ahead.back() == ' ' || ahead.back() == '\n')) ahead.pop_back();
  std::size_t cut = ahead.find_last_of(" \n\t(\"'");
  // "don't": the apostrophe is within the word.
  if (cut != ahead.npos && cut > 0 && ahead[cut] == '\'' && std::isalpha(static_cast<unsigned char>(ahead[cut - 1])) != 0)
    cut = ahead.find_last_of(" \n\t(\"", cut);
  std::string_view last = cut == ahead.npos ? std::string_view(ahead) : std::string_view(ahead).substr(cut + 1);
  const std::string phrase = plain(text.substr(begin, end - begin));
  const bool english = is_english(phrase), sweeping = is_sweeping(phrase);
  if (is_denied(text, begin, end, ahead, last, english)) return Said::kDenied;
  // "¿Cómo puedo ignorar…?", "Wie kann ich …", "si ignora …": asked or supposed, not ordered.
  static constexpr std::array<std::string_view, 13> kAsked = {"puedo", "puede", "podemos", "podr\u00eda", "c\u00f3mo", "como",
                                                              "comment", "puis-je", "peut-on", "kann", "posso", "como posso", "si"};
  if (!english && one_of(last, kAsked)) return Said::kOfSomebody;
  if (is_supposed(text, begin, end, sentence_ahead(ahead), english)) return Said::kOfSomebody;
  if (is_introduced(text, begin, end) || is_of_a_change(text, begin, end, phrase) || is_of_a_case(text, end, ahead, phrase)) return Said::kOfSomebody;
  const std::string_view sentence = sentence_ahead(ahead);
  const auto words = words_of(sentence);
  bool to_me = ahead.find("you ") != ahead.npos;
  static constexpr std::array<std::string_view, 4> kDuty = {"should", "must", "shall", "will"};
  static constexpr std::array<std::string_view, 11> kOthers = {"would", "could", "may", "might", "they", "which", "who", "we", "i", "that", "can"};
  static constexpr std::array<std::string_view, 3> kOne = {"it", "he", "she"};
  if (one_of(last, kDuty)) return to_me || (sweeping && names_reader(words)) ? Said::kToTheReader : Said::kOfSomebody;
  // "May ignore …", "that ignore …": somebody must be named who does.
  static constexpr std::array<std::string_view, 4> kThemselves = {"they", "who", "we", "i"};
  if (one_of(last, kOthers) && words.size() < 2 && !one_of(last, kThemselves)) return Said::kToTheReader;
  if (one_of(last, kOthers)) return to_me ? Said::kToTheReader : Said::kOfSomebody;
  // "made it ignore", "it ignores", and not "do it ignore".
  if (one_of(last, kOne) && !to_me) {
    static constexpr std::array<std::string_view, 7> kLets = {"makes", "made", "lets", "had", "did", "does", "saw"};
    std::string_view verb = std::string_view(phrase).substr(1, phrase.find(' ', 1) - 1);
    bool own = verb.ends_with('s') || verb == "forgot";
    return own || (words.size() > 1 && one_of(words[words.size() - 2], kLets)) ? Said::kOfSomebody : Said::kToTheReader;
  }
  // "I have forgotten", "if you have forgotten"; "you have forgotten" puts it to the reader.
  if (phrase.starts_with(" forgotten ") && !words.empty() && (!to_me || words[0] == "if")) return Said::kOfSomebody;
  if (phrase.starts_with(" forgot ") && words.empty() && is_asked(text, end)) return Said::kOfSomebody;
  if (last == "to") return ahead.find("you") == ahead.npos && is_told_of(words, sweeping) ? Said::kOfSomebody : Said::kToTheReader;
  static constexpr std::array<std::string_view, 8> kCase = {"if you",  "when you", "unless you", "once you",
                                                            "did you", "do you",   "why you",    "have you"};
  if (!ends_with(ahead, kCase)) return Said::kToTheReader;
  bool asked = is_asked(text, end), supposed = words.size() == 2 && (ahead.ends_with("if you") || ahead.ends_with("unless you"));
  return asked || supposed || (!sweeping && !ahead.ends_with("why you")) ? Said::kOfSomebody : Said::kToTheReader;
}

}  // namespace

Said how_it_is_said(std::string_view text, std::size_t begin, std::size_t end) {
  Said said = by_sentence(text, begin, end);
  if (said == Said::kDenied) return said;
  Quotation quotation = quotation_of(text, begin, end);
  if (quotation == Quotation::kReported) return Said::kQuoted;
  if (said == Said::kOfSomebody) return said;
  // In marks, with nobody who says what that is: one of them is no order yet, several are.
  if (is_in_marks(text, begin, end) || is_discussed(text, begin)) return Said::kOfSomebody;
  return said;
}

}  // namespace hotcell::inspect
