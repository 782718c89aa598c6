#include "inspect/injection.h"

#include <algorithm>
#include <cctype>
#include <array>
#include <initializer_list>
#include <map>
#include <span>
#include <string>

#include "inspect/mention.h"

namespace hotcell::inspect {

namespace {

constexpr std::size_t kTogether = 400;  // bytes between pieces of evidence that belong to one instruction
constexpr int kMedium = 8, kHigh = 10, kCritical = 14;

// ignore\s+(?:all)…, and ignore_previous(instructions): with a space between its words it is a sentence that has such signs.
bool is_code(std::string_view phrase, std::string_view group) {
  if (phrase.find(' ') != phrase.npos) return false;
  if (group == "override" && phrase.find('(') != phrase.npos) return true;
  return phrase.find("\\s") != phrase.npos || phrase.find("\\b") != phrase.npos || phrase.find("(?") != phrase.npos ||
         (phrase.find('|') != phrase.npos && phrase.find('(') != phrase.npos) || phrase.find(".*") != phrase.npos || phrase.find("\\w") != phrase.npos;
}

// (all )?previous instructions
bool is_pattern(std::string_view phrase) {
  return phrase.find(")?") != phrase.npos || phrase.find("\\s") != phrase.npos || phrase.find("(?:") != phrase.npos || phrase.find(".*") != phrase.npos;
}

// "your router's filter" is not the reader's own; what its makers told it is.
bool is_of_another(std::string_view phrase) {
  std::size_t your = phrase.find("your ");
  if (your == phrase.npos || phrase.find("'s ", your) == phrase.npos) return false;
  static constexpr std::array<std::string_view, 16> kMakers = {"developer", "creator", "maker",    "owner", "assistant", "model",   "system", "operator",
                                                               "provider",  "vendor",  "designer", "ai",    "agent",     "trainer", "bot",    "company"};
  return std::none_of(kMakers.begin(), kMakers.end(), [&](auto maker) { return phrase.substr(your + 5).starts_with(maker); });
}

// "everything you learned about Java", "the instructions you received by mail": of a subject, or of what came another way.
bool is_of_other_things(std::string_view phrase, std::string_view rest) {
  rest = rest.substr(0, rest.find_first_of(".!?\n"));
  std::string what;
  for (char c : rest.substr(0, 80)) what += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (what.starts_with(" you ")) what.erase(0, 4);
  auto any = [&](std::string_view in, std::initializer_list<std::string_view> words) {
    return std::any_of(words.begin(), words.end(), [&](auto w) { return in.find(w) != in.npos; });
  };
  if (any(what, {" and ", " then ", " instead", ":;", "you ", "reveal", "send"})) return false;
  bool learned = phrase.ends_with("learned") || phrase.ends_with("learnt") || phrase.ends_with("have") || phrase.ends_with("had");
  if (learned && (what.starts_with(" about ") || what.starts_with(" in the ") || what.starts_with(" in school") || what.starts_with(" in driving ")))
    return !any(what, {"safe", "rule", "ethic", "guideline", "yourself", "your", "polic", "restrict", "being", "training", "prompt", "instruction", "system", "chat", "conversation"});
  if (any(phrase, {"all ", "All ", "any ", "Any ", "every", "Every", "your ", "whatever", "anything"})) return false;
  static constexpr std::array<std::string_view, 12> kWays = {" by mail", " by e-mail", " by email", " by post", " by phone", " by letter", " by sms",
                                                             " yesterday", " last week", " last month", " for the old ", " to update your password"};
  return std::any_of(kWays.begin(), kWays.end(), [&](auto way) { return what.starts_with(way) || (way.starts_with(" for") && what.find(way) != what.npos); });
}

bool begins_with_one_of(std::string_view text, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](auto word) { return text.starts_with(word); });
}

// What stands before it in its line, as far as it is near.
std::string_view line_before(std::string_view text, std::size_t at) {
  std::string_view near = text.substr(at - std::min<std::size_t>(at, 200), std::min<std::size_t>(at, 200));
  return near.substr(near.rfind('\n') + 1);  // all of it, where there is none
}

// "system: you are logged in as root": what machines say, in one line that says nothing more.
bool is_of_a_machine(std::string_view phrase, std::string_view rest) {
  if (!phrase.ends_with("are") && !phrase.ends_with("ARE")) return false;
  rest = rest.substr(0, rest.find('\n'));
  while (!rest.empty() && (rest.back() == '.' || rest.back() == ' ' || rest.back() == '\r')) rest.remove_suffix(1);
  static constexpr std::array<std::string_view, 11> kStates = {" logged in as ", " logged in to ", " connected to ", " connected from ", " disconnected from ", " out of memory",
                                                               " out of disk", " on branch ", " on version ", " on the latest ", " up to date with "};
  static constexpr std::array<std::string_view, 6> kWhole = {" logged in", " connected", " disconnected", " up to date", " offline", " online"};
  if (std::find(kWhole.begin(), kWhole.end(), rest) != kWhole.end()) return true;
  // A name and a version: " running Ubuntu 22.04.3 LTS (kernel 5.15)".
  bool runs = rest.starts_with(" running ") || rest.starts_with(" using ");
  std::string_view what = rest.substr(std::min(rest.size(), rest.find(' ', 1)));
  bool named = runs && what.size() > 1 && std::isupper(static_cast<unsigned char>(what[1])) != 0 && what.find_first_of("0123456789") != what.npos;
  if (!named && !begins_with_one_of(rest, kStates)) return false;
  return std::count(rest.begin(), rest.end(), ' ') <= 8 && rest.find(". ") == rest.npos && rest.find_first_of(",;:!?") == rest.npos;
}

// "# Instructions for AI agents", as files for tools that work on a repository begin.
bool is_heading(std::string_view text, std::size_t begin, std::size_t end) {
  std::string_view ahead = line_before(text, begin);
  return !ahead.empty() && ahead.front() == '#' && ahead.find_first_not_of("# ") == ahead.npos && end > 0 && text[end - 1] == '\n';
}

// "Customer: …\nAgent: Please …": what was said in turns.
bool is_turn(std::string_view text, std::size_t begin) {
  std::size_t line = begin < text.size() && text[begin] == '\n' ? begin : begin == 0 ? 0 : begin - 1;
  if (line == 0 || text[line] != '\n') return false;
  static constexpr std::array<std::string_view, 10> kOthers = {"User:", "user:", "Customer:", "customer:", "Caller:", "Client:", "Visitor:", "Guest:", "Me:", "You:"};
  return begins_with_one_of(line_before(text, line), kOthers);
}

}  // namespace

int weigh(std::string_view text, const BuiltinRule& rule, std::size_t begin, std::size_t end, bool hidden) {
  std::string_view phrase = text.substr(begin, end - begin);
  if (rule.group != "role" && rule.group != "forged" && is_code(phrase, rule.group)) return 0;
  int weight = rule.weight;
  if (rule.group != "role" && rule.group != "forged" && is_pattern(phrase)) weight /= 2;
  // A pattern may take what closes a quotation with it, and a little more; "ignore" all of it is no quotation.
  std::size_t last = end;
  if (begin > 0 && (text[begin - 1] == '"' || text[begin - 1] == '`'))
    if (auto close = phrase.find(text[begin - 1]); close != phrase.npos && close * 4 >= phrase.size() * 3 && close == phrase.rfind(text[begin - 1])) last = begin + close;
  while (last > begin + 1 && static_cast<unsigned char>(text[last - 1]) < 0x80 && std::isalnum(static_cast<unsigned char>(text[last - 1])) == 0) --last;
  static constexpr std::array<std::string_view, 6> kOrders = {"override", "leak", "jailbreak", "lawless", "void", "newtask"};
  if (std::find(kOrders.begin(), kOrders.end(), rule.group) != kOrders.end()) {
    switch (how_it_is_said(text, begin, last)) {
      case Said::kDenied: return 0;
      case Said::kQuoted: return weight / 5;  // several of them together are no order yet
      case Said::kOfSomebody: weight /= 2; break;
      case Said::kToTheReader: break;
    }
    if (is_of_another(phrase) || (rule.group == "override" && is_of_other_things(phrase, text.substr(end, 100)))) weight /= 2;
  } else if (rule.group == "role" ? std::isalpha(static_cast<unsigned char>(phrase.front())) != 0 && begins_quotation(text, begin, last)
                                  : is_reported(text, begin, last)) {
    weight /= 4;  // what stands in a quotation is no more of an order than the rest of it
  } else if (rule.group == "steer" && how_it_is_said(text, begin, last) == Said::kDenied) {
    return 0;
  } else if (rule.group == "role" && is_of_a_machine(phrase, text.substr(end, 120))) {
    weight /= 2;
  } else if (rule.group == "address" && (is_heading(text, begin, end) || is_turn(text, begin))) {
    weight = std::min(weight, 4);  // with a command to run it is what such files hold; with more it is not
  }
  // Nobody encodes or hides an innocent instruction.
  return hidden ? weight * 3 / 2 : weight;
}

std::vector<InjectionScore> score(std::vector<Evidence> evidence) {
  std::sort(evidence.begin(), evidence.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::vector<InjectionScore> out;
  for (std::size_t i = 0; i < evidence.size();) {
    std::map<std::string_view, int> groups;
    const Evidence* heaviest = &evidence[i];
    std::size_t k = i, reached = evidence[i].begin;
    for (; k < evidence.size() && evidence[k].begin <= reached + kTogether; ++k) {
      int& best = groups[evidence[k].rule->group];
      best = std::max(best, evidence[k].weight);
      reached = std::max(reached, evidence[k].end);
      if (evidence[k].weight > heaviest->weight) heaviest = &evidence[k];
    }
    // Code that does harm is what programs are full of; it is evidence where the reader is told to put it somewhere.
    if (!groups.contains("code")) groups.erase("dangerous");
    int total = 0;
    bool orders = false;  // what is named, kept quiet or hidden says nothing of what is to be done
    for (const auto& [group, weight] : groups) {
      total += weight;
      orders = orders || (group != "sensitive" && group != "secrecy" && group != "hiddenstyle");
    }
    if (!orders) total = std::min(total, kMedium - 1);
    out.push_back({heaviest->rule, heaviest->begin, heaviest->end, total});
    i = k;
  }
  return out;
}

ThreatLevel injection_level(int score) {
  return score >= kCritical ? ThreatLevel::kCritical
         : score >= kHigh   ? ThreatLevel::kHigh
         : score >= kMedium ? ThreatLevel::kMedium
         : score >= 5       ? ThreatLevel::kLow
                            : ThreatLevel::kNone;
}

}  // namespace hotcell::inspect
