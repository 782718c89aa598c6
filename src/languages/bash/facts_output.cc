// What a command prints when all of it is constant: enough to see through `echo … | base64 -d` and its kin.
#include "base/strings.h"
#include "languages/bash/facts_analyser.h"
#include "languages/bash/facts_text.h"

namespace hotcell::bash {
namespace {

Field text_field(std::string text) {
  Field f;
  f.text = std::move(text);
  return f;
}

// Words after the options that begin with a dash; options with a value of their own are not told apart.
std::vector<const Field*> operands(std::span<const Field> words) {
  std::vector<const Field*> out;
  for (const Field& f : words.subspan(1))
    if (!f.text.starts_with('-') || f.text == "-") out.push_back(&f);
  return out;
}

bool has_option(std::span<const Field> words, std::string_view letters, std::string_view name) {
  for (const Field& f : words.subspan(1)) {
    if (f.text == name) return true;
    if (f.text.size() > 1 && f.text[0] == '-' && f.text[1] != '-' && f.text.find_first_of(letters) != std::string::npos)
      return true;
  }
  return false;
}

Field echo(std::span<const Field> words) {
  std::size_t i = 1;
  bool newline = true, escapes = false;
  for (; i < words.size() && words[i].text.size() > 1 && words[i].text[0] == '-' &&
         words[i].text.find_first_not_of("neE", 1) == std::string::npos;
       ++i) {
    newline = newline && words[i].text.find('n') == std::string::npos;
    escapes = escapes || words[i].text.find('e') != std::string::npos;
  }
  Field out;
  for (std::size_t first = i; i < words.size(); ++i) {
    if (i > first)
      out.text += ' ';
    else
      out.origin = words[i].origin;
    out.text += words[i].text;
    if (out.outside.empty()) out.outside = words[i].outside;
    out.known = out.known && words[i].known;
    out.taint |= words[i].taint;
  }
  if (escapes) out.text = decode_escapes(out.text);
  if (newline) out.text += '\n';
  return out;
}

}  // namespace

std::optional<Field> Analyser::output_of(Args words, const std::optional<Field>& input) {
  if (words.empty() || !words[0].known) return std::nullopt;
  std::string name = base_name(words[0].text);
  while (one_of(name, " command builtin exec env busybox toybox sudo nohup ") && words.size() > 1 &&
         !words[1].text.starts_with('-')) {
    words = words.subspan(1);
    name = base_name(words[0].text);
  }
  if (name == "echo") return echo(words);
  bool all_known = true;
  for (const Field& f : words) all_known = all_known && f.known;
  auto args = operands(words);
  if (name == "printf") {
    std::vector<std::string> texts;
    std::size_t first = words.size() > 1 && words[1].text == "--" ? 2 : 1;
    Field whole;
    for (const Field& f : words.subspan(std::min(first, words.size()))) {
      texts.push_back(f.text);
      whole.taint |= f.taint;
      if (whole.origin.empty()) whole.origin = f.origin;
    }
    if (texts.empty() || texts[0].starts_with("-v")) return std::nullopt;
    auto out = format_printf(texts);
    if (!out) return std::nullopt;
    whole.text = *out;
    whole.known = all_known;
    return whole;
  }
  if (!all_known) {
    if (one_of(name, " dirname basename readlink realpath ") && args.size() == 1 && !args[0]->origin.empty())
      return unknown(args[0]->origin);
    return std::nullopt;
  }
  if ((name == "which" || name == "type" || name == "command") && !args.empty())
    return text_field(args.back()->text + "\n");
  if (name == "printenv" && args.size() == 1) {
    if (auto v = lookup(args[0]->text)) return v;
    return unknown(args[0]->text);
  }
  if (name == "basename" && args.size() == 1) return text_field(base_name(args[0]->text) + "\n");
  if (name == "dirname" && args.size() == 1) {
    std::size_t slash = args[0]->text.rfind('/');
    return text_field((slash == std::string::npos ? "." : slash == 0 ? "/" : args[0]->text.substr(0, slash)) + "\n");
  }
  if (name == "pwd") return text_field(st_.folder.empty() ? "." : st_.folder);
  if (name == "true" || name == ":") return text_field("");
  if (!input || !input->known) return std::nullopt;
  Field out = *input;
  const std::string& in = input->text;
  if (name == "cat" || name == "tee") {
    if (name == "cat" &&
        !(args.empty() || (args.size() == 1 && (args[0]->text == "-" || args[0]->text == "/dev/stdin"))))
      return std::nullopt;
    return out;
  }
  std::optional<std::string> text;
  if (name == "base64" || name == "base32") {
    if (!has_option(words, "dD", "--decode") && !has_option(words, "", "--d")) return std::nullopt;
    text = decode_base64(in, name == "base32");
  } else if (name == "openssl") {
    bool decode = false, base64 = false;
    for (const Field& f : words) {
      decode = decode || f.text == "-d";
      base64 = base64 || f.text == "base64" || f.text == "-base64" || f.text == "-a";
    }
    if (decode && base64) text = decode_base64(in);
  } else if (name == "xxd") {
    if (has_option(words, "r", "-revert")) text = decode_hex(in);
  } else if (name == "rev") {
    text = reverse_lines(in);
  } else if (name == "tac" || name == "sort" || name == "uniq" || name == "fold") {
    if (in.find('\n') + 1 >= in.size()) text = in;
  } else if (name == "head" || name == "tail") {
    if (words.size() == 1 || in.find('\n') + 1 >= in.size()) text = in;
    for (const Field& f : words)
      if (f.text.find('c') != std::string::npos && f.text.starts_with('-')) text.reset();
  } else if (name == "tr" && !args.empty()) {
    bool remove = has_option(words, "d", "--delete");
    if (!has_option(words, "cs", "--complement") && (remove || args.size() == 2))
      text = translate(in, args[0]->text, remove ? "" : args[1]->text, remove);
  } else if (name == "sed" && words.size() >= 2) {
    text = sed_replace(in, words.back().text);
  } else if (name == "cut" && words.size() >= 2) {
    std::string range = words.back().text;
    if (range.starts_with("-c") || range.starts_with("-b")) range = range.substr(2);
    if (has_option(words, "cb", "--characters")) text = cut_characters(in, range);
  }
  if (!text || text->size() > kTextCap || !spend(text->size())) return std::nullopt;
  out.text = *text;
  if (is_decoder(name)) out.taint |= kDecoded;
  return out;
}

std::optional<Field> Analyser::output_of_stages(const std::vector<ShellId>& nodes, std::size_t count) {
  std::optional<Field> text;
  for (std::size_t i = 0; i < count; ++i) {
    const ShellNode& n = s_.nodes[nodes[i]];
    if (n.kind != ShellNodeKind::kSimple || n.word_count > 64) return std::nullopt;
    Fields words;
    for (ShellId w = n.words; w < n.words + n.word_count; ++w)
      for (Field& f : expand(w)) words.push_back(std::move(f));
    for (ShellId r = n.redirects; r < n.redirects + n.redirect_count; ++r) {
      ShellRedirectOp op = s_.redirects[r].op;
      bool error_output = s_.redirects[r].fd == 2 || op == ShellRedirectOp::kWriteDup;
      if (op != ShellRedirectOp::kHereDocument && op != ShellRedirectOp::kHereString && !error_output)
        return std::nullopt;
    }
    std::optional<Field> own = input_of(nodes[i]);
    text = output_of(words, own ? own : text);
    if (!text || (!text->known && i + 1 < count)) return std::nullopt;
  }
  return text;
}

// Of $(…) with one pipeline in it.
std::optional<Field> Analyser::output_of_list(ShellId node) {
  const ShellNode& n = s_.nodes[node];
  ShellId first = node + 1;
  if (first >= n.after || s_.nodes[first].after != n.after) return std::nullopt;
  auto all = stages(first);
  if (all.empty() || all.size() > 16) return std::nullopt;
  return output_of_stages(all, all.size());
}

}  // namespace hotcell::bash
