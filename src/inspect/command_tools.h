// What each program reaches, from its words.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace hotcell::inspect {

struct Reach {
  std::string host;    // empty: it cannot be told from the text
  bool sends = false;  // it carries data, not only asks
  bool dns = false;    // a question to a name server
  bool shell = false;  // it hands a shell to the other side
  bool plain = false;  // it could send, but nothing in its words does: ssh host, scp host:file .
  bool version = false;  // "curl 7.88.0": an address only where somebody runs it
};

using Words = std::vector<std::string>;

// `words[0]` is the program without its folder; unknown programs reach nothing. `piped`: something is written to its input.
std::vector<Reach> reaches_of(const Words& words, bool piped);
bool reaches_network(std::string_view program);
// $AWS_SECRET_ACCESS_KEY, $TOKEN
bool has_secret_variable(std::string_view word);
// Of a program that nobody knows: the addresses among its words that carry data, or lead to where anybody reads what is left.
std::vector<Reach> data_addresses(const Words& words);
// Whose words are addresses: xargs curl. What xargs git add is given are files.
bool takes_addresses(std::string_view program);

// Code of other languages in a word: python -c, perl -e …
bool is_interpreter(std::string_view program);
std::vector<Reach> reaches_of_code(std::string_view code);
// exec(urlopen(…).read()), iex (…).DownloadString(…)
bool runs_text(std::string_view code);

}  // namespace hotcell::inspect
