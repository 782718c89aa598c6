#include "inspect/examiner.h"

#include <algorithm>

#include "base/strings.h"
#include "inspect/hosts.h"
#include "inspect/secrets.h"
#include "inspect/sweep.h"
#include "inspect/unicode.h"
#include "inspect/user_rules.h"

namespace hotcell::inspect {

namespace {

constexpr std::uint32_t kMostMatches = 8192;  // beginnings of one rule in one window
constexpr std::uint32_t kMostOfUsers = 256;
constexpr std::size_t kLongest = 900;         // phrase or key
constexpr std::size_t kMostDecoded = 1u << 20;  // of one window, all layers together: eight times its size
constexpr int kMostDepth = 3;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// "signore", "blueprint", "foretell", and not "xignore".
bool ends_other_word(std::string_view text, std::size_t begin, const BuiltinRule& rule) {
  if (rule.group != "override") return true;
  std::size_t word = begin;
  while (word > 0 && std::isalpha(static_cast<unsigned char>(text[word - 1])) != 0) --word;
  std::string_view head = text.substr(word, begin - word);
  return head == "s" || head == "S" || head == "mons" || head == "Mons";
}

// test_ignore_previous_instructions_is_flagged: one name from its beginning to its end.
bool is_test_name(std::string_view text, std::size_t begin, std::size_t end) {
  std::string_view name = text.substr(0, begin), phrase = text.substr(begin, end - begin);
  return (name.ends_with("test_") || name.ends_with("Test_") || name.ends_with("test-")) &&
         std::all_of(phrase.begin(), phrase.end(), [](char c) { return is_word(c) || c == '-'; });
}

}  // namespace

std::string snippet_of(std::string_view text, std::size_t begin, std::size_t end) {
  begin = std::min(begin, text.size());
  std::size_t size = std::min(std::min(end, text.size()) - begin, std::size_t{80});
  std::string_view s = text.substr(begin, size);
  while (!s.empty() && !is_valid_utf8(s) && s.size() + 4 > size) s.remove_suffix(1);  // not within a character
  return std::string(s);
}

std::size_t Examiner::View::origin(std::size_t at) const {
  if (fixed) return base;
  if (lines == nullptr || lines->empty()) return base + at;
  auto after = std::upper_bound(lines->begin(), lines->end(), std::pair(at, SIZE_MAX));
  return base + (after == lines->begin() ? 0 : std::prev(after)->second);
}

Result<Examiner> Examiner::create(const InspectOptions& options, Source source) {
  Examiner e;
  TRY_SET(e.rules_, RuleSet::get());
  e.options_ = options;
  e.source_ = source;
  e.text_scratch_ = e.rules_->text.scanner->make_scratch();
  e.arguments_scratch_ = e.rules_->arguments.scanner->make_scratch();
  e.squeezed_scratch_ = e.rules_->squeezed.scanner->make_scratch();
  return e;
}

void Examiner::examine(std::string_view text, std::size_t base, std::vector<InspectFinding>& to) {
  to_ = &to;
  left_ = kMostDecoded;
  limited_ = false;
  View view;
  view.text = text;
  view.base = base;
  look(view);
  to_ = nullptr;
}

void Examiner::add(const View& view, InspectFinding finding, std::size_t at) {
  finding.offset = view.origin(at);
  if (!view.name.empty()) finding.message += cat(" (in ", view.name, ")");
  to_->push_back(std::move(finding));
}

void Examiner::limited(const View& view, std::string_view what) {
  if (limited_) return;
  limited_ = true;
  InspectFinding f{any_kind(), "not_examined", ThreatLevel::kMedium, "limit", cat("Part of the text was not examined: ", what), "", 0, ""};
  add(view, std::move(f), 0);
}

InspectKind Examiner::any_kind() const {
  for (int k = 0; k < kInspectKinds; ++k)
    if (wants(static_cast<InspectKind>(k))) return static_cast<InspectKind>(k);
  return InspectKind::kInjection;
}

void Examiner::look(const View& view) {
  std::vector<ScanMatch> matches;
  if (!rules_->text.scanner->scan(view.text, *text_scratch_, kMostMatches, matches)) limited(view, "too many beginnings of one rule");
  Gathered gathered;
  for (const ScanMatch& match : matches) take_match(view, match, gathered);
  if (wants(InspectKind::kSql) || wants(InspectKind::kTraversal) || wants(InspectKind::kC2)) {
    matches.clear();
    if (!rules_->arguments.scanner->scan(view.text, *arguments_scratch_, kMostMatches, matches)) limited(view, "too many beginnings of one rule");
    for (const ScanMatch& match : matches) take_argument(view, match);
    if (wants(InspectKind::kC2)) long_base64(view);
  }
  if (wants(InspectKind::kInjection)) squeeze(view, gathered.evidence);
  if (!gathered.commands.empty()) take_commands(view, gathered.commands, gathered.evidence);
  judge(view, std::move(gathered.evidence));
  if (options_.rules) users_rules(view);
  auto& layers = gathered.layers;
  if (left_ > 0) find_encoded_runs(view.text, left_, layers);
  if (view.depth >= kMostDepth) {
    bool more = std::any_of(layers.begin(), layers.end(), [](const Layer& l) { return l.name == "base64" || l.name == "hex"; });
    return more ? limited(view, "text encoded too many times") : void();
  }
  for (const Layer& layer : layers) {
    if (layer.text.size() > left_) {
      limited(view, "too much encoded text");
      break;
    }
    left_ -= layer.text.size();
    View inner;
    inner.text = layer.text;
    inner.base = view.origin(layer.begin);
    inner.fixed = true;
    inner.name = layer.name;
    inner.hidden = layer.hidden;
    inner.depth = view.depth + 1;
    look(inner);
  }
  normalised(view);
}

std::optional<Regex::Match> Examiner::matched(const View& view, std::uint32_t rule, const ScanMatch& match) {
  const BuiltinRule& r = builtin_rules()[rule];
  std::string_view near = view.text.substr(0, match.begin + kLongest);
  const Regex* regex = rules_->regex(rule);
  if (regex == nullptr) return limited(view, "no memory for a rule"), std::nullopt;
  if (r.sign.empty()) return regex->match_at(near, match.begin);
  // A few anchored tries are far cheaper than one search: most of them end at their first byte.
  for (std::size_t at = match.begin - std::min<std::size_t>(match.begin, static_cast<std::size_t>(r.back)); at <= match.begin; ++at) {
    bool inside_word = at > 0 && is_word(view.text[at - 1]) && is_word(view.text[at]);
    if (inside_word && at != match.begin) continue;
    auto found = regex->match_at(near, at);
    if (found && found->end >= match.end) return found;
  }
  return std::nullopt;
}

void Examiner::take_caesar(const View& view, const ScanMatch& match, std::vector<Layer>& layers) const {
  bool inside = match.end < view.text.size() && std::isalpha(static_cast<unsigned char>(view.text[match.end])) != 0;
  if (view.depth > 1 || inside) return;
  if (!layers.empty() && layers.back().end > match.end && layers.back().name.starts_with("letters moved")) return;
  std::size_t begin = match.end - std::min<std::size_t>(match.end, 512), end = std::min<std::size_t>(view.text.size(), match.end + 512);
  int by = static_cast<int>(match.rule - rules_->first_caesar) + 1;
  layers.push_back({cat("letters moved by ", by), rot(view.text.substr(begin, end - begin), 26 - by), begin, end, true});
}

void Examiner::take_match(const View& view, const ScanMatch& match, Gathered& to) {
  if (match.rule >= rules_->first_caesar) return take_caesar(view, match, to.layers);
  std::uint32_t index = rules_->text.rules[match.rule];
  const BuiltinRule& rule = builtin_rules()[index];
  bool injection = rule.kind == "injection", trigger = rule.kind == "trigger", command = rule.kind == "egress";
  bool wanted = trigger || (injection ? wants(InspectKind::kInjection)
                            : command ? wants(InspectKind::kEgress) || wants(InspectKind::kInjection)
                                      : wants_secrets());
  if (!wanted) return;
  auto m = matched(view, index, match);
  if (!m) return;
  if (trigger) return take_trigger(view, rule.check, m->end, to.layers);
  if (command) return to.commands.push_back(m->end);
  if (!injection) return take_secret(view, rule, *m);
  if (!to.evidence.empty() && to.evidence.back().rule == &rule && to.evidence.back().begin == m->begin) return;
  int weight = weigh(view.text, rule, m->begin, m->end, view.hidden);
  if (weight > 0) to.evidence.push_back({&rule, m->begin, m->end, weight});
}

void Examiner::take_argument(const View& view, const ScanMatch& match) {
  std::uint32_t index = rules_->arguments.rules[match.rule];
  const BuiltinRule& rule = builtin_rules()[index];
  auto kind = inspect_kind(rule.kind);
  if (!kind || !wants(*kind)) return;
  // Once in a short stretch: ../../../ is one path.
  std::size_t at = view.origin(match.begin), looked = 0;
  for (auto o = to_->rbegin(); o != to_->rend() && looked < 16; ++o, ++looked)
    if (o->rule == rule.id && o->offset + 64 > at && o->offset <= at) return;
  auto m = matched(view, index, match);
  if (!m) return;
  InspectFinding f;
  f.kind = *kind;
  f.type = rule.type;
  // In free text a path that goes up or a semicolon is nothing: an argument is where they do harm.
  f.level = source_ == Source::kArgument ? rule.level : ThreatLevel::kLow;
  f.rule = rule.id;
  f.message = rule.message;
  f.snippet = snippet_of(view.text, m->begin, m->end);
  add(view, std::move(f), m->begin);
}

// A long run of one alphabet has no sign to look for: every 64th place is in it.
void Examiner::long_base64(const View& view) {
  constexpr std::size_t kLong = 64;
  auto is_run = [&](std::size_t i) {
    char c = view.text[i];
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '+' || c == '/';
  };
  for (std::size_t i = 0; i + kLong <= view.text.size();) {
    std::size_t last = i + kLong;
    while (last > i && is_run(last - 1)) --last;
    if (last > i) {
      i = last;
      continue;
    }
    std::size_t end = i + kLong;
    while (end < view.text.size() && is_run(end)) ++end;
    ThreatLevel level = source_ == Source::kArgument ? ThreatLevel::kMedium : ThreatLevel::kLow;
    add(view, {InspectKind::kC2, "command_and_control", level, "c2-base64", "long base64 text", snippet_of(view.text, i, end), 0, ""}, i);
    i = end;
  }
}

void Examiner::take_secret(const View& view, const BuiltinRule& rule, const Regex::Match& m) {
  SecretMatch secret{rule.check, view.text.substr(m.begin, m.end - m.begin), m.group, view.text.substr(m.end, 400), rule.level};
  // The scanner says where a match may end; the secret goes on while its letters do.
  std::size_t stop = m.end;
  auto is_more = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '+' || c == '/' || c == '='; };
  std::size_t group_begin = static_cast<std::size_t>(m.group.data() - view.text.data());
  if (rule.check != "pem" && group_begin + m.group.size() == m.end) {
    while (stop < view.text.size() && stop < m.end + 300 && is_more(view.text[stop])) ++stop;
    if (rule.check == "generic" || rule.check == "jwt") secret.value = view.text.substr(group_begin, stop - group_begin);
    if (rule.check == "generic" && stop < view.text.size() && (view.text[stop] == '(' || view.text[stop] == '.' || view.text[stop] == '[')) return;
  }
  ThreatLevel level = judge_secret(secret);
  if (level == ThreatLevel::kNone) return;
  InspectFinding f;
  f.kind = wants(InspectKind::kSecrets) ? InspectKind::kSecrets : InspectKind::kEgress;
  f.type = rule.type;
  f.level = level;
  f.rule = rule.id;
  f.message = cat("Secret in the text: ", rule.message);
  // Enough to find it, too little to use it.
  f.snippet = cat(printable(secret.value.substr(0, std::min<std::size_t>(secret.value.size() / 3, 12))), "...");
  add(view, std::move(f), group_begin);
}

void Examiner::squeeze(const View& view, std::vector<Evidence>& evidence) {
  constexpr std::size_t kStep = 64;
  auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (letters_.size() < view.text.size() + kLettersRoom) letters_.resize(view.text.size() + kLettersRoom);
  const std::size_t n = letters_of(view.text, letters_.data());
  const std::string_view letters = std::string_view(letters_).substr(0, n);
  std::vector<ScanMatch> matches;
  if (!rules_->squeezed.scanner->scan(letters, *squeezed_scratch_, kMostMatches, matches))
    limited(view, "too many beginnings of one rule");
  if (matches.empty()) return;
  std::vector<std::uint32_t> places;  // how many letters there are before every 64th byte
  places.reserve(view.text.size() / kStep + 1);
  for (std::size_t i = 0, before = 0; i < view.text.size(); ++i) {
    if (i % kStep == 0) places.push_back(static_cast<std::uint32_t>(before));
    before += is_letter(view.text[i]) ? 1 : 0;
  }
  auto by_begin = [](const Evidence& a, const Evidence& b) { return a.begin < b.begin; };
  std::sort(evidence.begin(), evidence.end(), by_begin);
  const std::size_t known = evidence.size();
  // No piece of evidence is longer than that, so those that reach here begin not far before.
  auto is_plain = [&](std::size_t begin, std::size_t end) {
    Evidence from;
    from.begin = begin - std::min(begin, kLongest);
    auto stop = evidence.begin() + static_cast<std::ptrdiff_t>(known);
    for (auto e = std::lower_bound(evidence.begin(), stop, from, by_begin); e != stop && e->begin < end; ++e)
      if (begin < e->end) return true;
    return false;
  };
  for (const ScanMatch& match : matches) {
    std::uint32_t index = rules_->squeezed.rules[match.rule];
    const BuiltinRule& rule = builtin_rules()[index];
    const Regex* regex = rules_->regex(index);
    if (regex == nullptr) return limited(view, "no memory for a rule");
    auto found = regex->match_at(letters.substr(0, std::min<std::size_t>(n, match.begin + 160)), match.begin);
    if (!found) continue;
    auto place_of = [&](std::size_t letter) {
      std::size_t block = static_cast<std::size_t>(std::upper_bound(places.begin(), places.end(), letter) - places.begin() - 1);
      std::size_t at = block * kStep, k = places[block];
      for (; at < view.text.size(); ++at) {
        if (!is_letter(view.text[at])) continue;
        if (k++ == letter) break;
      }
      return at;
    };
    std::size_t begin = place_of(found->begin), end = place_of(found->end - 1) + 1;
    if (end - begin > 12 * found->group.size() + 64) continue;  // letters of far apart are no word
    bool plain = is_plain(begin, end);
    // Letters within other words: "blueprint".
    bool inside = begin > 0 && std::isalpha(static_cast<unsigned char>(view.text[begin - 1])) != 0;
    std::string_view phrase = view.text.substr(begin, end - begin);
    auto words = 1 + std::count_if(phrase.begin(), phrase.end(), [](char c) { return c == ' ' || c == '\n'; });
    bool ordinary = phrase.size() <= found->group.size() + 8 && words <= 8;
    int weight = plain || (inside && ordinary && ends_other_word(view.text, begin, rule)) ? 0 : weigh(view.text, rule, begin, end, !ordinary);
    if (is_test_name(view.text, begin, end)) weight /= 2;
    if (weight > 0) evidence.push_back({&rule, begin, end, weight});
  }
}

void Examiner::judge(const View& view, std::vector<Evidence> evidence) {
  if (!wants(InspectKind::kInjection)) return;
  for (const InjectionScore& s : score(std::move(evidence))) {
    ThreatLevel level = injection_level(s.score);
    if (level == ThreatLevel::kNone) continue;
    InspectFinding f;
    f.kind = InspectKind::kInjection;
    f.type = "prompt_injection";
    f.level = level;
    f.rule = s.rule->id;
    f.message = level >= ThreatLevel::kMedium ? "Text that tries to instruct the reader" : "Text that may be meant to instruct the reader";
    f.snippet = snippet_of(view.text, s.begin, s.end + 20);
    add(view, std::move(f), s.begin);
  }
}

void Examiner::users_rules(const View& view) {
  const auto& mine = static_cast<const UserRules&>(*options_.rules);
  for (std::size_t i = 0; i < mine.rules.size(); ++i) {
    const ReadRule& rule = mine.rules[i];
    auto kind = inspect_kind(rule.kind).value_or(InspectKind::kInjection);
    if (!wants(kind)) continue;
    std::size_t from = 0;
    for (std::uint32_t n = 0; n < kMostOfUsers && from <= view.text.size(); ++n) {
      auto m = mine.regexes[i].find(view.text, from);
      if (!m) break;
      InspectFinding f{kind, rule.type, rule.level, rule.id, rule.message, snippet_of(view.text, m->begin, m->end), 0, ""};
      add(view, std::move(f), m->begin);
      from = std::max(m->end, m->begin + 1);
      if (n + 1 == kMostOfUsers) limited(view, cat("rule '", rule.id, "' matches too often"));
    }
  }
}

}  // namespace hotcell::inspect
