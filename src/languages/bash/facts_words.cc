// Words as the shell would expand them, as far as they are constant.
#include "base/strings.h"
#include "languages/bash/facts_analyser.h"
#include "languages/bash/facts_text.h"

namespace hotcell::bash {

bool Analyser::spend(std::size_t bytes) {
  if (bytes > st_.budget) {
    st_.exhausted = true;
    return false;
  }
  st_.budget -= bytes;
  return true;
}

Field Analyser::unknown(std::string_view origin, std::uint8_t taint) const {
  Field f;
  f.text = kUnknown;
  f.known = false;
  f.origin = f.outside = origin;
  f.taint = taint;
  return f;
}

Fields Analyser::expand(ShellId word, bool split) {
  Fields out;
  expand_into(word, split, out);
  return out;
}

void Analyser::expand_into(ShellId word, bool split, Fields& out) {
  const ShellWord& w = s_.words[word];
  std::span<const ShellPart> parts(s_.parts.data() + w.parts, w.count);
  if (w.count == 1 && parts[0].kind == ShellPartKind::kLiteral) {  // nearly every word
    out.emplace_back().text = parts[0].text;
    return;
  }
  bool braces = false;
  for (const ShellPart& p : parts) braces = braces || (p.kind == ShellPartKind::kBrace && p.text == "{");
  if (!braces || !split) return expand_parts(parts, split, out);
  for (const auto& one : expand_braces(w)) expand_parts(one, split, out);
}

Field Analyser::expand_one(ShellId word) {
  Fields all = expand(word, false);
  if (all.empty()) return {};
  Field out = std::move(all[0]);
  for (std::size_t i = 1; i < all.size(); ++i) {
    (out.text += ' ') += all[i].text;
    out.known = out.known && all[i].known;
    out.taint |= all[i].taint;
  }
  return out;
}

// {a,b} and {1..3}, from left to right; at most 64 words come of one.
std::vector<std::vector<ShellPart>> Analyser::expand_braces(const ShellWord& w) const {
  constexpr std::size_t kMost = 64;
  std::vector<std::vector<ShellPart>> done, left;
  left.emplace_back(s_.parts.begin() + w.parts, s_.parts.begin() + w.parts + w.count);
  std::size_t rounds = 0;
  while (!left.empty()) {
    std::vector<ShellPart> parts = std::move(left.back());
    left.pop_back();
    std::size_t open = 0, close = 0;
    std::vector<std::size_t> commas;
    bool found = false;
    for (open = 0; open < parts.size() && !found; ++open) {
      if (parts[open].kind != ShellPartKind::kBrace || parts[open].text != "{") continue;
      int depth = 0;
      commas.clear();
      for (close = open; close < parts.size(); ++close) {
        if (parts[close].kind != ShellPartKind::kBrace) continue;
        if (parts[close].text == "{")
          ++depth;
        else if (parts[close].text == "," && depth == 1)
          commas.push_back(close);
        else if (parts[close].text == "}" && --depth == 0)
          break;
      }
      bool sequence = close == open + 2 && parts[open + 1].kind == ShellPartKind::kLiteral &&
                      parts[open + 1].text.find("..") != std::string_view::npos;
      found = close < parts.size() && (!commas.empty() || sequence);
      if (found) break;
    }
    if (!found || done.size() + left.size() >= kMost || ++rounds > 4 * kMost) {
      done.push_back(std::move(parts));
      if (done.size() >= kMost) break;
      continue;
    }
    std::vector<std::vector<ShellPart>> made;
    auto add = [&](std::size_t from, std::size_t to) {
      std::vector<ShellPart> one(parts.begin(), parts.begin() + static_cast<long>(open));
      one.insert(one.end(), parts.begin() + static_cast<long>(from), parts.begin() + static_cast<long>(to));
      one.insert(one.end(), parts.begin() + static_cast<long>(close) + 1, parts.end());
      made.push_back(std::move(one));
    };
    if (commas.empty()) {  // a sequence: its ends stand for it
      std::string_view body = parts[open + 1].text;
      std::size_t dots = body.find(".."), second = body.find("..", dots + 2);
      for (std::string_view end :
           {body.substr(0, dots),
            body.substr(dots + 2, second == std::string_view::npos ? second : second - dots - 2)}) {
        std::vector<ShellPart> copy = parts;
        copy[open + 1].text = end;
        std::swap(copy, parts);
        add(open + 1, close);
        std::swap(copy, parts);
      }
    } else {
      std::size_t from = open + 1;
      commas.push_back(close);
      for (std::size_t to : commas) {
        if (made.size() < kMost) add(from, to);
        from = to + 1;
      }
    }
    for (auto it = made.rbegin(); it != made.rend(); ++it) left.push_back(std::move(*it));
  }
  return done;
}

void Analyser::expand_parts(std::span<const ShellPart> parts, bool split, Fields& out) {
  Field now;
  bool started = false;
  auto append = [&](const Field& f) {
    if (!started && !f.origin.empty()) now.origin = f.origin;
    if (now.outside.empty() && !f.outside.empty()) now.outside = f.outside;
    if (now.text.size() + f.text.size() > kTextCap || !spend(f.text.size())) {
      now.known = false;
    } else {
      now.text += f.text;
    }
    now.known = now.known && f.known;
    now.glob = now.glob || f.glob;
    now.taint |= f.taint;
    if (f.process != kNoShell) now.process = f.process;
    started = true;
  };
  auto finish = [&] {
    if (started) out.push_back(std::move(now));
    now = {};
    started = false;
  };
  auto literal = [&](std::string_view text) {
    if (now.text.size() + text.size() <= kTextCap)
      now.text += text;
    else
      now.known = false;
    started = true;
  };
  auto value = [&](const Field& f, bool quoted) {
    bool pieces = !f.known && f.process == kNoShell && f.text.find(' ') != std::string::npos;
    if (quoted || !split || (!f.known && !pieces)) {
      if (quoted || !split || !f.text.empty()) append(f);
      return;
    }
    std::string separators = " \t\n";
    if (auto ifs = st_.variables.find("IFS");
        ifs != st_.variables.end() && !ifs->second.values.empty() && ifs->second.values.back().known)
      separators = ifs->second.values.back().text;
    for (std::size_t at = 0; at < f.text.size();) {
      std::size_t to = std::min(f.text.find_first_of(separators, at), f.text.size());
      if (to > at) {
        Field piece = f;
        piece.text = f.text.substr(at, to - at);
        if (pieces) {  // "touch $…": the first word is known all the same
          piece.known = piece.text.find(kUnknown) == std::string::npos;
          piece.origin = piece.text.starts_with(kUnknown) ? f.outside : std::string();
          if (piece.known) piece.outside.clear();
        }
        piece.glob = piece.glob || piece.text.find_first_of("*?[") != std::string::npos;
        append(piece);
      }
      if (to < f.text.size()) finish();
      at = to + 1;
    }
  };
  for (const ShellPart& p : parts) {
    switch (p.kind) {
      case ShellPartKind::kLiteral:
      case ShellPartKind::kBrace:
        literal(p.text);
        break;
      case ShellPartKind::kGlob:
        literal(p.text);
        now.glob = now.glob || (p.text != "[" && p.text != "]") || parts.size() > 2;
        break;
      case ShellPartKind::kTilde:
        literal(p.text == "~+" ? "." : p.text);
        break;
      case ShellPartKind::kParameter:
        if (auto all = many(p)) {
          for (std::size_t i = 0; i < all->size(); ++i) {
            if (i > 0) finish();
            value((*all)[i], p.quoted);
          }
        } else {
          value(parameter(p), p.quoted);
        }
        break;
      case ShellPartKind::kCommand:
        value(substitution(p.node), p.quoted);
        break;
      case ShellPartKind::kProcess: {
        Field f = unknown({}, static_cast<std::uint8_t>(taint_of(p.node, s_.nodes[p.node].after) | kSubstitution));
        f.text = "/dev/fd/…";
        f.process = p.node;
        append(f);
        break;
      }
      case ShellPartKind::kArithmetic: {
        auto n = number(p.first);
        if (p.first != kNoShell) computed_input(p.first, p.begin);
        Field f = n ? Field{} : unknown();
        if (n) f.text = cat(*n);
        append(f);
        break;
      }
    }
  }
  finish();
}

std::optional<long> Analyser::number(ShellId word) {
  if (word == kNoShell || ++folding_ > 64) {
    if (word != kNoShell) --folding_;
    return std::nullopt;
  }
  Field f = expand_one(word);
  --folding_;
  Call c;
  c.at = s_.words[word].begin;
  computes(f.text, c);
  if (!f.known) return std::nullopt;
  // A bare name in arithmetic is a variable.
  if (!f.text.empty() && (isalpha(static_cast<unsigned char>(f.text[0])) != 0 || f.text[0] == '_'))
    if (auto v = lookup(f.text); v && v->known) return evaluate_arithmetic(v->text);
  return evaluate_arithmetic(f.text);
}

std::uint8_t Analyser::taint_of(ShellId from, ShellId to) const {
  std::uint8_t taint = kNoTaint;
  for (ShellId n = from; n < to && n < from + 200; ++n) {
    const ShellNode& node = s_.nodes[n];
    if (node.kind != ShellNodeKind::kSimple) continue;
    for (ShellId w = node.words; w < node.words + std::min<ShellId>(node.word_count, 4); ++w) {
      auto plain = s_.plain(w);
      if (!plain) continue;
      std::string name = base_name(*plain);
      if (is_network(name)) taint |= kNetwork;
      if (is_decoder(name)) taint |= kDecoded;
      if (w == node.words &&
          one_of(name,
                 " ssh-agent dircolors brew direnv lesspipe locale resize opam pyenv rbenv nodenv getopt tput stty "
                 "cat_version register-python-argcomplete kubectl conda mise fnm starship zoxide "))
        taint |= kHarmlessTool;
      if (w == node.words && !one_of(name, " sudo env command busybox nohup exec ")) break;
    }
  }
  return taint;
}

Field Analyser::substitution(ShellId node) {
  const ShellNode& n = s_.nodes[node];
  Field out = unknown({}, kSubstitution);
  if (folding_ >= 64) return out;
  ++folding_;
  std::optional<Field> text = output_of_list(node);
  --folding_;
  out.taint |= taint_of(node, n.after);
  if (!text) return out;
  while (text->text.ends_with('\n')) text->text.pop_back();
  text->taint |= text->known ? out.taint & (kNetwork | kDecoded) : out.taint;
  return *text;
}

}  // namespace hotcell::bash
