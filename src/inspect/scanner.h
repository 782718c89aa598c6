// All signs of all rules in one pass: Vectorscan finds the literals, Follow drops those that the rest of the rule does not
// follow. Regex has the last word.
#pragma once
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "hotcell/result.h"
#include "inspect/follow.h"
#include "inspect/literal_db.h"

namespace hotcell::inspect {

struct ScanRule {
  std::string pattern;   // what a match of the rule begins with, or stands near
  bool caseless = true;
  bool leet = false;     // only where a sign stands for a letter
  bool whole = false;    // its signs are looked for from end to end: where one ends is asked for
};

struct ScanMatch {
  std::uint32_t rule = 0, begin = 0, end = 0;  // of the sign
};

// Build time: everything that a scanner needs to know, as bytes.
Result<std::string> make_scan_tables(const std::vector<ScanRule>& rules);

class Scanner {
 public:
  // `tables` stays where it is: it is part of the program. Literals are compiled anew when this is another processor than
  // the one it was built on.
  static Result<std::shared_ptr<const Scanner>> load(std::string_view tables);
  class Scratch;
  std::shared_ptr<Scratch> make_scratch() const;
  // Of each rule at most `most` matches; false when there were more, or when the scan could not be done.
  bool scan(std::string_view text, Scratch& scratch, std::uint32_t most, std::vector<ScanMatch>& to) const;

 private:
  // One rule's interest in a literal.
  struct Use {
    std::uint32_t rule = 0;
    std::uint8_t state = 0;
    bool at_word = false, leet = false;
  };
  struct Known {
    std::uint32_t size = 0, first = 0, last = 0;  // its uses
    bool at_word = false;                         // all of them are
    const std::uint8_t* next = nullptr;           // bits of the bytes that any of them may go on with
  };
  struct Sink;
  static int on_match(unsigned id, unsigned long long, unsigned long long end, unsigned, void* context);
  std::unique_ptr<LiteralDb> db_;
  std::vector<Known> literals_;
  std::vector<Use> uses_;
  std::vector<Follow> follows_;  // by rule
};

}  // namespace hotcell::inspect
