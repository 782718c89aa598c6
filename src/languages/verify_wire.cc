#include "languages/verify_wire.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/strings.h"

namespace hotcell {
namespace {

constexpr std::uint32_t kMostItems = 65'536;  // of any list in a request
constexpr std::uint32_t kMostFindings = 4096;
constexpr std::size_t kLongestText = 64u << 10;

class Packer {
 public:
  void number(std::uint32_t n) {
    char bytes[4];
    for (int i = 0; i < 4; ++i) bytes[i] = static_cast<char>(n >> (8 * i) & 0xff);
    out_.append(bytes, 4);
  }
  void text(std::string_view s) {
    number(static_cast<std::uint32_t>(s.size()));
    out_ += s;
  }
  void texts(const std::vector<std::string>& all) {
    number(static_cast<std::uint32_t>(all.size()));
    for (const auto& s : all) text(s);
  }
  void reserve(std::size_t n) { out_.reserve(n); }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

// After the first thing that is wrong every answer is empty and good() is false.
class Unpacker {
 public:
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}

  std::uint32_t number(std::uint32_t most = ~0u) {
    if (rest_.size() < 4) return fail(), 0;
    std::uint32_t n = 0;
    for (int i = 0; i < 4; ++i) n |= static_cast<std::uint32_t>(static_cast<unsigned char>(rest_[i])) << (8 * i);
    rest_.remove_prefix(4);
    if (n > most) return fail(), 0;
    return n;
  }
  std::string_view text(std::size_t most) {
    std::uint32_t n = number();
    if (n > most || n > rest_.size()) return fail(), std::string_view();
    auto out = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return out;
  }
  std::vector<std::string> texts() {
    std::vector<std::string> out;
    for (std::uint32_t n = number(kMostItems); n > 0 && good_; --n) out.emplace_back(text(kLongestText));
    return out;
  }
  void fail() {
    good_ = false;
    rest_ = {};
  }
  bool good() const { return good_; }
  bool at_end() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

void pack_rule(Packer& p, const Rule& r) {
  for (const auto* s : {&r.id, &r.type, &r.reason, &r.fix}) p.text(*s);
  p.number(static_cast<std::uint32_t>(r.at_default));
  p.number(static_cast<std::uint32_t>(r.at_strict));
  p.number(static_cast<std::uint32_t>(r.on));
  for (const auto* list : {&r.match, &r.detail, &r.unless}) p.texts(*list);
}

Rule unpack_rule(Unpacker& u) {
  Rule r;
  for (auto* s : {&r.id, &r.type, &r.reason, &r.fix}) *s = u.text(kLongestText);
  r.at_default = static_cast<Severity>(u.number(static_cast<std::uint32_t>(Severity::kError)));
  r.at_strict = static_cast<Severity>(u.number(static_cast<std::uint32_t>(Severity::kError)));
  r.on = static_cast<FactKind>(u.number(static_cast<std::uint32_t>(FactKind::kUnreadable)));
  for (auto* list : {&r.match, &r.detail, &r.unless}) *list = u.texts();
  return r;
}

bool is_id(std::string_view s) {
  return !s.empty() && s.size() <= 100 && std::all_of(s.begin(), s.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

template <std::size_t N>
bool is_one_of(std::string_view s, const std::array<std::string_view, N>& all) {
  return std::find(all.begin(), all.end(), s) != all.end();
}

constexpr std::array<std::string_view, 6> kTypes = {"blocked_module", "blocked_function", "dangerous_pattern",
                                                    "file_access",    "network_access",   "system_call"};
constexpr std::array<std::string_view, 3> kSeverities = {"error", "warning", "info"};

}  // namespace

std::string pack(const WireRequest& request) {
  const VerifyOptions& o = request.options;
  Packer p;
  p.reserve(request.source.size() + 4096);
  p.text(request.language);
  p.text(request.file);
  p.text(request.source);
  p.number(static_cast<std::uint32_t>(o.level));
  for (const auto* list : {&o.off, &o.imports_allowed, &o.allowed_paths, &o.patterns}) p.texts(*list);
  p.number(static_cast<std::uint32_t>(o.blocklist.size()));
  for (const auto& [module, attribute] : o.blocklist) {
    p.text(module);
    p.text(attribute);
  }
  p.number(static_cast<std::uint32_t>(o.rules.size()));
  for (const auto& rule : o.rules) pack_rule(p, rule);
  return p.take();
}

std::optional<WireRequest> unpack_request(std::string_view bytes) {
  Unpacker u(bytes);
  WireRequest out;
  VerifyOptions& o = out.options;
  out.language = u.text(kLongestText);
  out.file = u.text(kLongestText);
  out.source = u.text(kMaxSource);
  o.level = static_cast<VerifyLevel>(u.number(static_cast<std::uint32_t>(VerifyLevel::kStrict)));
  for (auto* list : {&o.off, &o.imports_allowed, &o.allowed_paths, &o.patterns}) *list = u.texts();
  for (std::uint32_t n = u.number(kMostItems); n > 0 && u.good(); --n) {
    std::string module(u.text(kLongestText));
    o.blocklist.emplace_back(std::move(module), u.text(kLongestText));
  }
  for (std::uint32_t n = u.number(kMostItems); n > 0 && u.good(); --n) o.rules.push_back(unpack_rule(u));
  if (!u.at_end()) return std::nullopt;
  return out;
}

std::string pack(const WireReply& reply) {
  Packer p;
  p.number(reply.unverifiable ? 1 : 0);
  p.number(reply.last ? 1 : 0);
  auto count = std::min<std::size_t>(reply.findings.size(), kMostFindings);
  p.number(static_cast<std::uint32_t>(count));
  for (std::size_t i = 0; i < count; ++i) {
    const Finding& f = reply.findings[i];
    for (const auto* s : {&f.rule, &f.type, &f.severity, &f.message, &f.snippet, &f.fix})
      p.text(std::string_view(*s).substr(0, 1024));
    p.number(static_cast<std::uint32_t>(std::max(f.line, 0)));
    p.number(static_cast<std::uint32_t>(std::max(f.column, 0)));
  }
  return p.take();
}

std::optional<WireReply> unpack_reply(std::string_view bytes) {
  Unpacker u(bytes);
  WireReply out;
  out.unverifiable = u.number(1) == 1;
  out.last = u.number(1) == 1;
  for (std::uint32_t n = u.number(kMostFindings); n > 0 && u.good(); --n) {
    Finding f;
    f.rule = u.text(1024);
    f.type = u.text(1024);
    f.severity = u.text(1024);
    f.message = printable(u.text(1024));
    f.snippet = printable(u.text(1024));
    f.fix = printable(u.text(1024));
    f.line = static_cast<int>(u.number(kMaxSource + 1));
    f.column = static_cast<int>(u.number(kMaxSource + 1));
    if (!u.good() || !is_id(f.rule) || !is_one_of(f.type, kTypes) || !is_one_of(f.severity, kSeverities))
      return std::nullopt;
    out.findings.push_back(std::move(f));
  }
  if (!u.at_end()) return std::nullopt;
  return out;
}

}  // namespace hotcell
