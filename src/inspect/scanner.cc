#include "inspect/scanner.h"

#include <array>
#include <cstring>

#include "base/strings.h"

namespace hotcell::inspect {

namespace {

bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

// In the word around text[begin, end), or the one before it: sy5tem prompt.
bool has_sign_for_a_letter(std::string_view text, std::size_t begin, std::size_t end) {
  static constexpr auto kSigns = [] {
    std::array<bool, 256> t{};
    for (char c : std::string_view("0134579!|$@+(")) t[static_cast<unsigned char>(c)] = true;
    return t;
  }();
  auto is_sign = [&](std::size_t i) { return kSigns[static_cast<unsigned char>(text[i])]; };
  int words = end - begin >= 6 ? 2 : 1;
  for (std::size_t i = begin; i > 0 && i + 10 > begin; --i) {
    if (text[i - 1] == ' ' && --words == 0) break;
    if (is_sign(i - 1)) return true;
  }
  for (std::size_t i = begin; i < text.size() && i < end + 10 && text[i] != ' '; ++i)
    if (is_sign(i)) return true;
  return false;
}

// Read as make_scan_tables wrote it; both are of one build.
class Reader {
 public:
  explicit Reader(std::string_view from) : from_(from) {}
  std::uint32_t number() {
    std::uint32_t n = 0;
    std::memcpy(&n, take(sizeof n).data(), sizeof n);
    return n;
  }
  std::string_view take(std::size_t size) {
    std::string_view out = from_.substr(at_, size);
    at_ += size;
    return out;
  }
  std::string_view text() { return take(number()); }

 private:
  std::string_view from_;
  std::size_t at_ = 0;
};

const std::uint8_t* table(std::string_view s) { return reinterpret_cast<const std::uint8_t*>(s.data()); }

}  // namespace

class Scanner::Scratch {
 public:
  explicit Scratch(std::shared_ptr<LiteralDb::Scratch> of_db) : db(std::move(of_db)) {}
  std::shared_ptr<LiteralDb::Scratch> db;
  std::vector<std::uint32_t> counts;
};

Result<std::shared_ptr<const Scanner>> Scanner::load(std::string_view tables) {
  auto s = std::make_shared<Scanner>();
  Reader in(tables);
  s->follows_.resize(in.number());
  for (Follow& f : s->follows_) {
    f.width = in.number();
    f.classes = table(in.take(256));
    f.next = table(in.text());
  }
  std::vector<Literal> literals(in.number());
  for (Literal& literal : literals) {
    literal.caseless = in.number() != 0;
    literal.text = in.text();
    Known known{static_cast<std::uint32_t>(literal.text.size()), static_cast<std::uint32_t>(s->uses_.size()), 0, true, table(in.take(32))};
    for (std::uint32_t n = in.number(); n > 0; --n) {
      std::uint32_t rule = in.number(), flags = in.number();
      known.at_word = known.at_word && (flags & 0x100) != 0;
      s->uses_.push_back({rule, static_cast<std::uint8_t>(flags & 0xFF), (flags & 0x100) != 0, (flags & 0x200) != 0});
    }
    known.last = static_cast<std::uint32_t>(s->uses_.size());
    s->literals_.push_back(known);
  }
  s->db_ = LiteralDb::load(in.text());
  if (!s->db_) {
    TRY_SET(s->db_, LiteralDb::compile(literals));
  }
  return std::shared_ptr<const Scanner>(std::move(s));
}

std::shared_ptr<Scanner::Scratch> Scanner::make_scratch() const { return std::make_shared<Scratch>(db_->make_scratch()); }

struct Scanner::Sink {
  const Scanner* scanner;
  std::string_view text;
  std::vector<std::uint32_t>* counts;
  std::uint32_t most;
  std::vector<ScanMatch>* to;
  bool all = true;
};

int Scanner::on_match(unsigned id, unsigned long long, unsigned long long stop, unsigned, void* context) {
  auto* s = static_cast<Sink*>(context);
  const Known& literal = s->scanner->literals_[id];
  auto end = static_cast<std::uint32_t>(stop), begin = end - literal.size;
  if (end < s->text.size()) {
    auto byte = static_cast<unsigned char>(s->text[end]);
    if ((literal.next[byte / 8] >> (byte % 8) & 1) == 0) return 0;
  }
  bool inside = begin > 0 && is_word(s->text[begin - 1]) && is_word(s->text[begin]);
  if (inside && literal.at_word) return 0;
  for (std::uint32_t u = literal.first; u != literal.last; ++u) {
    const Use& use = s->scanner->uses_[u];
    if (use.at_word && inside) continue;
    if (!s->scanner->follows_[use.rule].may_match(s->text, end, use.state)) continue;
    if (use.leet && !has_sign_for_a_letter(s->text, begin, end)) continue;
    if ((*s->counts)[use.rule]++ < s->most) s->to->push_back({use.rule, begin, end});
    else s->all = false;
  }
  return 0;
}

bool Scanner::scan(std::string_view text, Scratch& scratch, std::uint32_t most, std::vector<ScanMatch>& to) const {
  scratch.counts.assign(follows_.size(), 0);
  Sink sink{this, text, &scratch.counts, most, &to};
  return db_->scan(text, *scratch.db, on_match, &sink) && sink.all;
}

}  // namespace hotcell::inspect
