#include "net/scrub.h"

#include <algorithm>
#include <utility>

#include "base/json_write.h"
#include "base/strings.h"
#include "net/secrets.h"

namespace hotcell::net {
namespace {

constexpr std::string_view kSixBits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kHex = "0123456789abcdef";
// The shortest secret that make_secret() takes has ten characters of base64 at every place: 60 bits that are not there
// by chance.
constexpr std::size_t kShortestBase64 = 8;
constexpr std::size_t kLongestEscape = 6;

bool is_plain(char c) { return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z'); }
bool introduces(char c) { return c == '%' || c == '\\' || c == '&'; }
char standard(char c) { return c == '-' ? '+' : c == '_' ? '/' : c; }

// How addresses, JSON and HTML write a character that is special to somebody. Not asked for letters and digits: nobody
// writes them so.
std::vector<std::string> escapes_of(char c) {
  const auto n = static_cast<unsigned char>(c);
  const std::string hex = {kHex[n >> 4], kHex[n & 15]};
  std::vector<std::string> out = {cat("%", hex), cat("%25", hex),      cat("\\u00", hex), cat("\\x", hex),
                                  cat("\\", c),  cat("&#x", hex, ";"), cat("&#", n, ";")};
  if (n < 100) out.push_back(cat("&#0", n, ";"));
  for (auto [name, of] : {std::pair{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}})
    if (of == c) out.emplace_back(name);
  return out;
}

}  // namespace

char Scrub::Form::as(char c) const { return base64 ? standard(c) : c; }

Scrub::Scrub(const std::vector<Secret>& secrets) {
  for (const auto& s : secrets) {
    add_form({.text = s.value, .by = s.placeholder});
    // What of base64 depends on the value alone. Of the character before it up to four bits are the first byte's; they
    // stay, since that character may be gone when the rest comes.
    for (std::size_t before = 0; before < 3; ++before) {
      const std::size_t first = (8 * before + 5) / 6, bits = 8 * (before + s.value.size()), count = bits / 6 - first;
      if (count < kShortestBase64) continue;
      const std::string pad(before, '\0'), text = base64(cat(pad, s.value)), by = base64(cat(pad, s.placeholder));
      Form form{.text = text.substr(first, count),
                .by = by.substr(first, count),
                .base64 = true,
                .edge_bits = static_cast<unsigned>(bits % 6)};
      if (form.edge_bits != 0) {
        form.edge = static_cast<unsigned>(kSixBits.find(text[first + count])) >> (6 - form.edge_bits);
        form.edge_by = static_cast<unsigned>(kSixBits.find(by[first + count])) >> (6 - form.edge_bits);
      }
      add_form(std::move(form));
    }
  }
}

void Scrub::add_form(Form form) {
  const std::string& text = form.text;
  if (text.empty() || std::any_of(forms_.begin(), forms_.end(),
                                  [&](const Form& f) { return f.text == text && f.base64 == form.base64; }))
    return;
  form.fall.assign(text.size() + 1, -1);
  for (std::int32_t i = 0, j = -1; static_cast<std::size_t>(i) < text.size();) {
    while (j >= 0 && text[i] != text[j]) j = form.fall[j];
    ++i, ++j;
    form.fall[i] = static_cast<std::size_t>(i) < text.size() && text[i] == text[j] ? form.fall[j] : j;
  }
  auto written = [&](char c) {
    return form.base64 && c == '+'   ? std::string("+-")
           : form.base64 && c == '/' ? std::string("/_")
                                     : std::string(1, c);
  };
  for (char c : written(text[0]))
    starts_[static_cast<unsigned char>(c)].push_back(static_cast<std::uint32_t>(forms_.size())),
        stirs_[static_cast<unsigned char>(c)] = true;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (!is_plain(text[i]) && text.find(text[i]) == i)
      for (char c : written(text[i]))
        for (auto& escape : escapes_of(c)) {
          stirs_[static_cast<unsigned char>(escape[0])] = second_[static_cast<unsigned char>(escape[1])] = true;
          spelled_.emplace(std::move(escape), c);
        }
  forms_.push_back(std::move(form));
}

std::string Scrub::push(std::string_view bytes) {
  if (idle()) return std::string(bytes);
  std::size_t at = seen_.size();
  seen_ += bytes, out_ += bytes;
  for (; at < seen_.size(); ++at)
    if (stirs_[static_cast<unsigned char>(seen_[at])] || !live_.empty() || !marks_.empty() || !edges_.empty()) take(at);
  const std::size_t from = needed_from();
  std::string held = out_.substr(from);
  out_.resize(from);
  seen_.erase(0, from);
  std::erase_if(marks_, [&](const Mark& m) { return m.at < from; });
  for (auto& m : marks_) m.at -= from;
  return std::exchange(out_, std::move(held));
}

std::string Scrub::finish() {
  seen_.clear(), live_.clear(), marks_.clear(), edges_.clear();
  return std::exchange(out_, {});
}

// Every way of reading is followed at once: in %41 somebody may mean one character or three, and a program chooses what
// stands before its placeholder.
void Scrub::take(std::size_t at) {
  const char c = seen_[at];
  if (!edges_.empty()) mend(at);
  next_.clear();
  advance(live_, c);
  for (auto mark = marks_.begin(); mark != marks_.end();) {
    if (mark->at + 1 == at && !second_[static_cast<unsigned char>(c | (c >= 'A' && c <= 'Z' ? 0x20 : 0))]) {
      mark = marks_.erase(mark);
      continue;
    }
    const std::string piece = ascii_lower(std::string_view(seen_).substr(mark->at, at + 1 - mark->at));
    auto found = spelled_.lower_bound(piece);
    if (found == spelled_.end() || !found->first.starts_with(piece)) {
      mark = marks_.erase(mark);
      continue;
    }
    if (found->first == piece) advance(mark->live, found->second);
    ++mark;
  }
  if (introduces(c) && stirs_[static_cast<unsigned char>(c)]) marks_.push_back({at, live_});
  live_.swap(next_);
  if (ended_.empty()) return;
  // The longest is written last: what is part of another one is not seen.
  std::sort(ended_.begin(), ended_.end(),
            [&](auto a, auto b) { return forms_[a].text.size() < forms_[b].text.size(); });
  for (auto form : std::exchange(ended_, {})) {
    replace(forms_[form], at + 1);
    if (forms_[form].edge_bits != 0) edges_.push_back(form);
  }
}

void Scrub::advance(const std::vector<Live>& from, char c) {
  for (const auto& l : from) {
    const Form& form = forms_[l.form];
    auto have = static_cast<std::int32_t>(l.have);
    while (have >= 0 && form.text[have] != form.as(c)) have = form.fall[have];
    reach({l.form, static_cast<std::uint32_t>(have + 1)});
  }
  for (auto form : starts_[static_cast<unsigned char>(c)])
    if (std::none_of(from.begin(), from.end(), [&](const Live& l) { return l.form == form; })) reach({form, 1});
}

void Scrub::reach(Live live) {
  const Form& form = forms_[live.form];
  if (live.have == form.text.size()) {
    if (std::find(ended_.begin(), ended_.end(), live.form) == ended_.end()) ended_.push_back(live.form);
    live.have = static_cast<std::uint32_t>(form.fall.back());
  }
  if (live.have != 0 && std::find(next_.begin(), next_.end(), live) == next_.end()) next_.push_back(live);
}

bool Scrub::spells(const Form& form, std::size_t i, std::size_t at, std::size_t size) const {
  if (size == 1) return form.as(seen_[at]) == form.text[i];
  if (!introduces(seen_[at])) return false;
  auto found = spelled_.find(ascii_lower(std::string_view(seen_).substr(at, size)));
  return found != spelled_.end() && form.as(found->second) == form.text[i];
}

// Where each of the first characters of a form begins, if the last of them ends at `end`; of several ways the one that
// begins first.
std::vector<std::size_t> Scrub::borders(const Form& form, std::size_t have, std::size_t end) const {
  struct Step {
    std::size_t at, next;
  };
  std::vector<Step> steps = {{end, 0}};
  std::size_t layer = 0;
  for (std::size_t i = have; i-- > 0;) {
    const std::size_t last = steps.size();
    for (std::size_t s = layer; s < last; ++s)
      for (std::size_t size = 1; size <= std::min(kLongestEscape, steps[s].at); ++size) {
        const std::size_t at = steps[s].at - size;
        const auto here = steps.begin() + static_cast<std::ptrdiff_t>(last);
        if (spells(form, i, at, size) && std::none_of(here, steps.end(), [&](const Step& o) { return o.at == at; }))
          steps.push_back({at, s});
      }
    layer = last;
  }
  if (layer == steps.size()) return {end};
  auto first = std::min_element(steps.begin() + static_cast<std::ptrdiff_t>(layer), steps.end(),
                                [](const Step& a, const Step& b) { return a.at < b.at; });
  std::vector<std::size_t> out = {first->at};
  for (std::size_t s = first->next; out.size() <= have; s = steps[s].next) out.push_back(steps[s].at);
  return out;
}

// A character that was written in hexadecimal is so again. For other escapes there are none that mean a letter:
// letters, then, as many as there were bytes.
void Scrub::replace(const Form& form, std::size_t end) {
  const auto at = borders(form, form.text.size(), end);
  for (std::size_t i = 0; i + 1 < at.size(); ++i) {
    const std::size_t from = at[i], size = at[i + 1] - from;
    const char begun = seen_[from];
    const auto by = static_cast<unsigned char>(form.by[i]);
    const bool hex = size > 2 && (begun == '%' || begun == '\\' || (seen_[from + 2] | 0x20) == 'x');
    if (!hex) {
      out_.replace(from, size, size, form.by[i]);
      continue;
    }
    const std::size_t low = at[i + 1] - (begun == '&' ? 2 : 1);
    out_.replace(from, size, seen_, from, size);
    out_[low - 1] = kHex[by >> 4], out_[low] = kHex[by & 15];
  }
}

void Scrub::mend(std::size_t at) {
  for (auto i : std::exchange(edges_, {})) {
    const Form& form = forms_[i];
    const auto n = kSixBits.find(standard(seen_[at]));
    const unsigned others = 6 - form.edge_bits;
    if (n == kSixBits.npos || n >> others != form.edge) continue;
    const char by = kSixBits[form.edge_by << others | (n & ((1U << others) - 1))];
    const bool url = seen_[at] == '-' || seen_[at] == '_';
    out_[at] = url && by == '+' ? '-' : url && by == '/' ? '_' : by;
  }
}

std::size_t Scrub::needed_from() const {
  std::size_t out = seen_.size();
  auto need = [&](std::uint32_t form, std::size_t have, std::size_t end) {
    out = std::min(out, borders(forms_[form], have, end).front());
  };
  for (const auto& l : live_) need(l.form, l.have, seen_.size());
  for (const auto& mark : marks_) {
    const std::string piece = ascii_lower(std::string_view(seen_).substr(mark.at));
    for (auto escape = spelled_.upper_bound(piece); escape != spelled_.end() && escape->first.starts_with(piece);
         ++escape) {
      for (const auto& l : mark.live) {
        const Form& form = forms_[l.form];
        auto have = static_cast<std::int32_t>(l.have);
        while (have >= 0 && form.text[have] != form.as(escape->second)) have = form.fall[have];
        if (have >= 0) need(l.form, static_cast<std::size_t>(have), mark.at);
      }
      for (auto form : starts_[static_cast<unsigned char>(escape->second)])
        if (std::none_of(mark.live.begin(), mark.live.end(), [&](const Live& l) { return l.form == form; }))
          need(form, 0, mark.at);
    }
  }
  return out;
}

std::string scrubbed(std::string_view text, const std::vector<Secret>& secrets) {
  Scrub scrub(secrets);
  std::string out = scrub.push(text);
  return out += scrub.finish();  // in this order
}

}  // namespace hotcell::net
