// Many literals in one pass (Vectorscan).
#pragma once
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "hotcell/result.h"

namespace hotcell::inspect {

struct Literal {
  std::string_view text;
  bool caseless = true;
};

class LiteralDb {
 public:
  static Result<std::unique_ptr<LiteralDb>> compile(std::span<const Literal> literals);
  // What `bytes` returned earlier; null when it was made for another processor or another Vectorscan.
  static std::unique_ptr<LiteralDb> load(std::string_view bytes);
  Result<std::string> bytes() const;

  // Working memory of one thread.
  class Scratch;
  std::shared_ptr<Scratch> make_scratch() const;
  // The number of the literal, nothing, where it ends, nothing; 0 to go on.
  using OnMatch = int(unsigned id, unsigned long long, unsigned long long end, unsigned, void* context);
  bool scan(std::string_view text, Scratch& scratch, OnMatch* on_match, void* context) const;
  ~LiteralDb();

 private:
  struct Database;
  explicit LiteralDb(std::unique_ptr<Database> database);
  std::unique_ptr<Database> database_;
};

}  // namespace hotcell::inspect
