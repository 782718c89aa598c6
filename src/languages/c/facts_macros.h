// The macros of one source and what they expand to, as far as it takes to see a name or a string through them.
// Conditions are not evaluated: every definition counts.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "languages/c/facts_text.h"

namespace hotcell::c {

struct Macro {
  bool function = false, pastes = false;  // pastes: it, or one it uses, has ##
  std::vector<std::string> params;        // "..." is __VA_ARGS__
  std::vector<Token> body;
};

class Macros {
 public:
  void define(std::string_view rest);  // what follows #define
  void redefine(std::string_view rest);  // the last definition counts, as while the text is read from its beginning
  void forget(std::string_view name);
  void push(const std::string& name);  // #pragma push_macro: what the name means now, for pop
  void pop(const std::string& name);
  void finish();                       // after the last definition: who pastes
  const Macro* find(std::string_view name) const;
  // What the tokens become. Bounded for one call and for the whole source; what is left over stays as it was.
  std::vector<Token> expand(std::vector<Token> tokens);
  bool exhausted() const { return cut_ || budget_ <= 0; }
  // The string an object-like macro stands for: "a" "b", OTHER "c".
  std::optional<std::string> string_of(std::string_view name) const;

 private:
  bool append_string(std::string_view name, std::string& out, int& steps, int depth) const;
  std::unordered_map<std::string, Macro> macros_;
  std::unordered_map<std::string, std::vector<std::optional<Macro>>> pushed_;
  int budget_ = 200'000, nesting_ = 0;
  bool cut_ = false;
};

}  // namespace hotcell::c
