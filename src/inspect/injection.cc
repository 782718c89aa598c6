#include "inspect/injection.h"

#include <algorithm>
#include <cctype>
#include <array>
#include <map>
#include <string>

#include "inspect/mention.h"

namespace hotcell::inspect {

namespace {

constexpr std::size_t kTogether = 400;  // bytes between pieces of evidence that belong to one instruction
constexpr int kMedium = 8, kHigh = 10, kCritical = 14;

bool is_pattern(std::string_view phrase) {
  return phrase.find("\\s") != phrase.npos || phrase.find("\\b") != phrase.npos || phrase.find("(?") != phrase.npos ||
         (phrase.find('|') != phrase.npos && phrase.find('(') != phrase.npos) || phrase.find(".*") != phrase.npos || phrase.find("\\w") != phrase.npos;
}

// "your router's filter" is not the reader's own; what its makers told it is.
bool is_of_another(std::string_view phrase) {
  std::size_t your = phrase.find("your ");
  if (your == phrase.npos || phrase.find("'s ", your) == phrase.npos) return false;
  static constexpr std::array<std::string_view, 4> kMakers = {"developer", "creator", "maker", "owner"};
  return std::none_of(kMakers.begin(), kMakers.end(), [&](auto maker) { return phrase.substr(your + 5).starts_with(maker); });
}

}  // namespace

int weigh(std::string_view text, const BuiltinRule& rule, std::size_t begin, std::size_t end, bool hidden) {
  std::string_view phrase = text.substr(begin, end - begin);
  if (rule.group != "role" && rule.group != "forged" && is_pattern(phrase)) return 0;
  int weight = rule.weight;
  static constexpr std::array<std::string_view, 6> kOrders = {"override", "leak", "jailbreak", "lawless", "void", "newtask"};
  if (std::find(kOrders.begin(), kOrders.end(), rule.group) != kOrders.end()) {
    if (rule.group == "override" && phrase.find('(') != phrase.npos) return 0;  // ignore_previous(instructions)
    switch (how_it_is_said(text, begin, end)) {
      case Said::kDenied: return 0;
      case Said::kQuoted: return weight / 4;
      case Said::kOfSomebody: weight /= 2; break;
      case Said::kToTheReader: break;
    }
    if (is_of_another(phrase)) weight /= 2;
  } else if (rule.group == "role" ? std::isalpha(static_cast<unsigned char>(phrase.front())) != 0 && begins_quotation(text, begin, end)
                                  : is_reported(text, begin, end)) {
    weight /= 4;  // what stands in a quotation is no more of an order than the rest of it
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
