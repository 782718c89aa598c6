// Words that tell what a program is about, in whichever language it is written: what nobody may be judged by, what is a
// secret, what belongs to a person, and names that say themselves that they do harm. Only `strict` asks for them.
#pragma once
#include <string_view>

namespace hotcell {

// Names of variables, members and keys, in small letters.
bool judges_people(std::string_view name);             // gender, nationality
bool judges_by_context(std::string_view name);         // age, party: only where somebody is chosen, paid or refused
bool names_a_choice_of_people(std::string_view name);  // should_hire, LoanApproval, admission_score
bool names_credential(std::string_view name);          // password, api_key
bool names_personal_data(std::string_view name);       // ssn, home_address

// Texts.
bool holds_personal_data(std::string_view text);  // numbers of cards and accounts, an address with its street

// Any name or text: backdoor, poisoned_labels, steal_cookies.
bool declares_harm(std::string_view words);

}  // namespace hotcell
