// RE2 over bytes: linear time, one match at a time.
#pragma once
#include <memory>
#include <optional>
#include <string_view>

#include "hotcell/result.h"

namespace hotcell::inspect {

class Regex {
 public:
  struct Match {
    std::size_t begin = 0, end = 0;
    std::string_view group;  // the first one, or the whole
  };
  static Result<Regex> compile(std::string_view pattern, bool caseless);
  // The longest match that begins there.
  std::optional<Match> match_at(std::string_view text, std::size_t begin) const;
  std::optional<Match> find(std::string_view text, std::size_t from) const;

  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

 private:
  struct Compiled;
  explicit Regex(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace hotcell::inspect
