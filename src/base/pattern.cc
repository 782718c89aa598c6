#include "base/pattern.h"

#include <re2/re2.h>

#include "base/strings.h"

namespace hotcell {
namespace {

constexpr std::size_t kLongestPattern = 4096;

RE2::Options quiet() {
  RE2::Options options(RE2::Quiet);
  options.set_max_mem(8 << 20);  // beyond it the automaton is thrown away and matching is slower, never wrong
  return options;
}

}  // namespace

struct Pattern::Compiled {
  explicit Compiled(std::string_view text) : re(re2::StringPiece(text.data(), text.size()), quiet()) {}
  RE2 re;
};

Pattern::Pattern(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;
Pattern::~Pattern() = default;

Result<Pattern> Pattern::compile(std::string_view text) {
  if (text.empty()) return make_error(ErrorCode::kInvalid, "the pattern is empty");
  if (text.size() > kLongestPattern) return make_error(ErrorCode::kInvalid, "the pattern is longer than 4096 bytes");
  auto compiled = std::make_unique<Compiled>(text);
  if (!compiled->re.ok()) return make_error(ErrorCode::kInvalid, printable(compiled->re.error()));
  return Pattern(std::move(compiled));
}

std::optional<std::size_t> Pattern::find(std::string_view text) const {
  re2::StringPiece all(text.data(), text.size()), match;
  if (!compiled_->re.Match(all, 0, all.size(), RE2::UNANCHORED, &match, 1)) return std::nullopt;
  return static_cast<std::size_t>(match.data() - text.data());
}

}  // namespace hotcell
