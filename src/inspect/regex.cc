#include "inspect/regex.h"

#include <re2/re2.h>

#include "base/strings.h"

namespace hotcell::inspect {

struct Regex::Compiled {
  std::string pattern;
  RE2::Options options;
  std::unique_ptr<RE2> free;
};

Regex::Regex(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Result<Regex> Regex::compile(std::string_view pattern, bool caseless) {
  auto c = std::make_unique<Compiled>();
  c->pattern = cat("(?m:", pattern, ")");
  c->options.set_log_errors(false);
  c->options.set_encoding(RE2::Options::EncodingLatin1);  // bytes: text need not be UTF-8
  c->options.set_case_sensitive(!caseless);
  c->options.set_dot_nl(true);
  c->options.set_max_mem(4 << 20);
  c->free = std::make_unique<RE2>(c->pattern, c->options);
  if (!c->free->ok()) {
    const std::string& part = c->free->error_arg();
    return make_error(ErrorCode::kInvalid, cat(c->free->error(), part.empty() ? "" : cat(" in '", printable(part), "'")));
  }
  return Regex(std::move(c));
}

namespace {

std::optional<Regex::Match> match(const RE2& re, std::string_view text, std::size_t from, RE2::Anchor anchor) {
  re2::StringPiece groups[2];
  re2::StringPiece whole(text.data(), text.size());
  int wanted = re.NumberOfCapturingGroups() > 0 ? 2 : 1;
  if (!re.Match(whole, from, text.size(), anchor, groups, wanted)) return std::nullopt;
  Regex::Match m;
  m.begin = static_cast<std::size_t>(groups[0].data() - text.data());
  m.end = m.begin + groups[0].size();
  bool has = wanted == 2 && groups[1].data() != nullptr;
  m.group = has ? std::string_view(groups[1].data(), groups[1].size()) : text.substr(m.begin, m.end - m.begin);
  return m;
}

}  // namespace

std::optional<Regex::Match> Regex::match_at(std::string_view text, std::size_t begin) const {
  return match(*compiled_->free, text, begin, RE2::ANCHOR_START);
}

std::optional<Regex::Match> Regex::find(std::string_view text, std::size_t from) const {
  return match(*compiled_->free, text, from, RE2::UNANCHORED);
}

}  // namespace hotcell::inspect
