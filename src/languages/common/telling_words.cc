#include "languages/common/telling_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>

#include "base/strings.h"

namespace hotcell {
namespace {

using Words = std::span<const std::string_view>;

bool is_one(std::string_view name, Words words) { return std::find(words.begin(), words.end(), name) != words.end(); }

bool holds_one(std::string_view text, Words words) {
  return std::any_of(words.begin(), words.end(), [&](auto w) { return text.find(w) != text.npos; });
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

// "ddd-dd-dddd": d a digit, anything else itself; not inside a longer number.
bool holds_shape(std::string_view text, std::string_view shape) {
  for (std::size_t at = 0; at + shape.size() <= text.size(); ++at) {
    bool fits = at == 0 || !is_digit(text[at - 1]);
    for (std::size_t i = 0; fits && i < shape.size(); ++i)
      fits = shape[i] == 'd' ? is_digit(text[at + i]) : text[at + i] == shape[i];
    if (fits && (at + shape.size() == text.size() || !is_digit(text[at + shape.size()]))) return true;
  }
  return false;
}

// "12 Elm Street": a number, names, and a word for a road.
bool holds_street(std::string_view text) {
  static constexpr std::array<std::string_view, 14> kRoads = {" Street", " St,",  " St.",       " Avenue", " Ave",
                                                              " Road",   " Rd",   " Lane",      " Ln",     " Drive",
                                                              " Dr,",    " Blvd", " Boulevard", " Way,"};
  for (std::string_view road : kRoads) {
    std::size_t at = text.find(road);
    if (at == text.npos) continue;
    std::size_t from = at > 30 ? at - 30 : 0;
    std::string_view before = text.substr(from, at - from);
    if (std::any_of(before.begin(), before.end(), is_digit)) return true;
  }
  return false;
}

// ann.roe@place.org
bool holds_address(std::string_view text) {
  std::size_t at = text.find('@');
  if (at == text.npos || at == 0 || at + 3 >= text.size() || !is_word(text[at - 1]) || !is_letter(text[at + 1]))
    return false;
  std::size_t dot = text.find('.', at), end = text.find_first_of(" \"',;:/", at);
  return dot != text.npos && dot + 2 < text.size() && (end == text.npos || dot < end) && is_letter(text[dot + 1]);
}

}  // namespace

bool judges_people(std::string_view name) {
  static constexpr std::array<std::string_view, 43> kNames = {"is_married",
                                                              "married",
                                                              "has_children",
                                                              "is_pregnant",
                                                              "is_female",
                                                              "is_male",
                                                              "is_disabled",
                                                              "is_immigrant",
                                                              "gender",
                                                              "sex",
                                                              "race",
                                                              "ethnicity",
                                                              "ethnic_group",
                                                              "ethnic_background",
                                                              "religion",
                                                              "religious_belief",
                                                              "religious_beliefs",
                                                              "nationality",
                                                              "citizenship",
                                                              "immigration_status",
                                                              "national_origin",
                                                              "country_of_origin",
                                                              "disability",
                                                              "disability_status",
                                                              "disabled",
                                                              "has_disability",
                                                              "pregnant",
                                                              "sexual_orientation",
                                                              "marital_status",
                                                              "caste",
                                                              "skin_color",
                                                              "skin_colour",
                                                              "skin_tone",
                                                              "cultural_background",
                                                              "political_affiliation",
                                                              "political_views",
                                                              "social_class",
                                                              "socioeconomic_status",
                                                              "political_party",
                                                              "orientation_sexual",
                                                              "birth_country",
                                                              "birthplace",
                                                              "family_status"};
  return is_one(name, kNames);
}

bool judges_by_context(std::string_view name) {
  static constexpr std::array<std::string_view, 10> kNames = {"age",          "party",   "zip_code",    "country",
                                                              "neighborhood", "accent",  "family_name", "last_name",
                                                              "hometown",     "language"};
  return is_one(name, kNames);
}

bool names_a_choice_of_people(std::string_view name) {
  static constexpr std::array<std::string_view, 22> kWords = {
      "hire",      "hiring", "recruit", "job_offer",   "joboffer",     "salary", "candidate", "applicant",
      "admission", "admit",  "promot",  "loan",        "mortgage",     "insur",  "eligib",    "tenant",
      "employ",    "vote",   "sentenc", "scholarship", "credit_score", "parole"};
  return holds_one(ascii_lower(name), kWords);
}

bool names_credential(std::string_view name) {
  static constexpr std::array<std::string_view, 12> kWords = {"password",    "passwd", "passphrase",  "secret_key",
                                                              "api_key",     "apikey", "auth_token",  "access_token",
                                                              "credit_card", "ssn",    "private_key", "pin_code"};
  return name == "pwd" || name == "pw" || name == "pass" || name == "secret" || holds_one(name, kWords);
}

bool names_personal_data(std::string_view name) {
  static constexpr std::array<std::string_view, 24> kNames = {"ssn",
                                                              "social_security",
                                                              "social_security_number",
                                                              "credit_card",
                                                              "credit_card_number",
                                                              "card_number",
                                                              "home_address",
                                                              "street_address",
                                                              "date_of_birth",
                                                              "dob",
                                                              "birth_date",
                                                              "birthdate",
                                                              "passport",
                                                              "passport_number",
                                                              "medical_record",
                                                              "medical_history",
                                                              "diagnosis",
                                                              "bank_account",
                                                              "account_number",
                                                              "iban",
                                                              "phone_number",
                                                              "driver_license",
                                                              "drivers_license",
                                                              "national_id"};
  return is_one(name, kNames);
}

bool holds_personal_data(std::string_view text) {
  if (text.size() < 4096 && holds_address(text)) return true;
  if (text.size() < 9 || text.size() > 4096 || std::none_of(text.begin(), text.end(), is_digit)) return false;
  return holds_shape(text, "ddd-dd-dddd") || holds_shape(text, "dddd dddd dddd dddd") ||
         holds_shape(text, "dddd-dddd-dddd-dddd") || holds_shape(text, "dddddddddddddddd") ||
         holds_shape(text, "ddd-ddd-dddd") || holds_shape(text, "(ddd) ddd-dddd") || holds_street(text) ||
         text.find("DOB") != text.npos;
}

bool declares_harm(std::string_view words) {
  if (words.size() < 4 || words.size() > 400) return false;
  static constexpr std::array<std::string_view, 26> kWords = {
      "backdoor", "back_door", "biased",  "botnet",   "cryptojack", "ddos",      "discriminat", "exfiltrat", "fabricat",
      "fake_",    "falsif",    "hack",    "hijack",   "keylog",     "malicious", "malware",     "mislead",   "phish",
      "poison",   "ransom",    "rootkit", "sabotage", "spoof",      "spyware",   "steal",       "trojan"};
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; };
  for (std::size_t at = 0; at + 4 <= words.size(); ++at) {
    // Only where a word begins: stealBox and MalwareKit do, shack and haystack do not.
    bool begins = at == 0 || !is_letter(words[at - 1]) || (words[at] < 'a' && words[at - 1] >= 'a');
    if (!begins || !is_letter(words[at])) continue;
    for (std::string_view word : kWords) {
      if (word[0] != lower(words[at]) || word.size() > words.size() - at) continue;
      bool same = std::equal(word.begin(), word.end(), words.begin() + static_cast<std::ptrdiff_t>(at),
                             [&](char a, char b) { return a == lower(b); });
      if (same && !(word == "hack" && words.substr(at + 4).starts_with("athon"))) return true;
    }
  }
  return false;
}

}  // namespace hotcell
