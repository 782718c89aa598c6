// Pipelines, simple commands and redirections: what reaches a command, before it is asked what it does.
#include "base/strings.h"
#include "languages/bash/facts_analyser.h"
#include "languages/bash/facts_text.h"

namespace hotcell::bash {

std::optional<Field> Analyser::input_of(ShellId node) {
  const ShellNode& n = s_.nodes[node];
  std::optional<Field> out;
  for (ShellId i = n.redirects; i < n.redirects + n.redirect_count; ++i) {
    const ShellRedirect& r = s_.redirects[i];
    if (r.fd > 0 || r.target == kNoShell) continue;
    if (auto text = text_behind(r)) out = std::move(text);
  }
  return out;
}

// What a pipe brings matters to programs that run what they read.
void Analyser::pipeline(ShellId node) {
  std::vector<ShellId> all = stages(node);
  if (all.size() > 1 || s_.nodes[node].background) {
    Call c;
    c.at = s_.nodes[node].begin;
    starts_program(all.size() > 1 ? "a pipe" : "&", c);
  }
  if (all.size() < 2) return;
  if (all.size() > 16) all.resize(16);
  for (std::size_t i = 1; i < all.size(); ++i) {
    const ShellNode& stage = s_.nodes[all[i]];
    std::optional<Field> input;
    bool tried = false;
    for (ShellId n = all[i]; n < stage.after && n < all[i] + 64; ++n) {
      const ShellNode& command = s_.nodes[n];
      if (command.kind != ShellNodeKind::kSimple || command.word_count == 0) continue;
      bool plain = true, wants = false;
      for (ShellId w = command.words; w < command.words + std::min<ShellId>(command.word_count, 6); ++w) {
        auto word = s_.plain(w);
        if (!word) {
          plain = false;
          continue;
        }
        std::string name = base_name(*word);
        wants = wants || acts_on_input(name);
      }
      if (!wants && plain) continue;
      if (!tried) {
        input = output_of_stages(all, i);
        if (!input) input = unknown();
        input->taint |= taint_of(all[0], all[i]);
        tried = true;
      }
      inputs_[n] = input;
    }
  }
}

void Analyser::simple(ShellId node) {
  const ShellNode& n = s_.nodes[node];
  if (n.word_count == 0) {
    for (ShellId a = n.assignments; a < n.assignments + n.assignment_count; ++a) assign(s_.assignments[a], node, false);
    redirects(node);
    return;
  }
  for (ShellId a = n.assignments; a < n.assignments + n.assignment_count; ++a) {
    const ShellAssignment& assignment = s_.assignments[a];
    if (assignment.array)
      assign(assignment, node, true);
    else if (assignment.value != kNoShell) {
      Field value = expand_one(assignment.value);
      special_variable(assignment.name, value, assignment.begin);
      Call at;
      at.at = assignment.begin;
      subscript(value, at);  // x='a[$(…)]' bash -c '((x))'
    }
  }
  std::optional<Field> input;
  if (n.redirect_count > 0) {
    keep_descriptors(node);
    input = input_of(node);
  }
  if (!input)
    if (auto it = inputs_.find(node); it != inputs_.end()) input = it->second;
  if (!input)
    if (auto it = st_.descriptors.find("0"); it != st_.descriptors.end()) input = it->second;  // exec <<< …
  Call c;
  c.at = n.begin;
  c.node = node;
  c.input = &input;
  most_alternatives_ = 1;
  Fields words;
  auto first = s_.plain(n.words);
  bool declares = first && one_of(*first, " local declare export readonly typeset ");
  // name=$x behind these is not split, as it is not in an assignment.
  auto sets_variable = [&](ShellId word) {
    const ShellWord& w = s_.words[word];
    return w.count > 1 && s_.parts[w.parts].kind == ShellPartKind::kLiteral &&
           s_.parts[w.parts].text.find('=') != std::string_view::npos;
  };
  for (alternative_ = 0; alternative_ < most_alternatives_ && alternative_ < 8; ++alternative_) {
    words.clear();
    for (ShellId w = n.words; w < n.words + n.word_count; ++w) {
      expand_into(w, !(declares && sets_variable(w)), words);
      if (words.size() > 4096) break;
    }
    std::size_t most = most_alternatives_;
    run_command(words, c);
    if (alternative_ == 0 && n.redirect_count > 0) keep_output(node, words, input);
    most_alternatives_ = most;
  }
  alternative_ = 0;
  redirects(node);
}

// A script that writes another one and then runs it has said what that one does.
void Analyser::keep_output(ShellId node, Args words, const std::optional<Field>& input) {
  const ShellNode& n = s_.nodes[node];
  for (ShellId i = n.redirects; i < n.redirects + n.redirect_count; ++i) {
    const ShellRedirect& r = s_.redirects[i];
    bool append = r.op == ShellRedirectOp::kAppend;
    if ((r.op != ShellRedirectOp::kWrite && r.op != ShellRedirectOp::kClobber && !append) || r.fd > 1) continue;
    Field path = expand_one(r.target);
    if (!path.known || st_.files.size() > 200) return;
    auto text = output_of(words, input);
    std::string& kept = st_.files[normalise_path(path.text, st_.folder)];
    if (!append) kept.clear();
    if (text && kept.size() + text->text.size() <= kTextCap) kept += text->text;
    return;
  }
}

bool Analyser::run_written_file(const Field& path, const Call& c, Fields arguments) {
  if (!path.known || st_.files.empty()) return false;
  auto it = st_.files.find(normalise_path(path.text, st_.folder));
  if (it == st_.files.end() || it->second.empty()) return false;
  Field code;
  code.text = it->second;
  code.known = code.text.find(kUnknown) == std::string::npos;
  code_from(code, "script it wrote", c, std::move(arguments));
  return true;
}

void Analyser::redirects(ShellId node) {
  const ShellNode& n = s_.nodes[node];
  if (n.kind != ShellNodeKind::kSimple && n.redirect_count > 0) keep_descriptors(node);
  for (ShellId i = n.redirects; i < n.redirects + n.redirect_count; ++i) {
    const ShellRedirect& r = s_.redirects[i];
    if (r.target == kNoShell) continue;
    if (r.op == ShellRedirectOp::kHereDocument || r.op == ShellRedirectOp::kHereString) {
      const ShellId word = r.op == ShellRedirectOp::kHereString ? r.target : s_.here_documents[r.target];
      if (n.kind != ShellNodeKind::kSimple && word != kNoShell) expand_one(word);  // what it computes
      continue;
    }
    Call c;
    c.at = r.begin;
    c.node = node;
    most_alternatives_ = 1;
    for (alternative_ = 0; alternative_ < most_alternatives_ && alternative_ < 8; ++alternative_) {
      Field f = expand_one(r.target);
      bool descriptor =
          f.text == "-" || (!f.text.empty() && f.text.find_first_not_of("0123456789-") == std::string::npos);
      if ((r.op == ShellRedirectOp::kReadDup || r.op == ShellRedirectOp::kWriteDup) && (descriptor || !f.known))
        continue;
      if (f.text.starts_with("/dev/tcp/") || f.text.starts_with("/dev/udp/")) {
        construct("dev-tcp", f.text, c);
        Field h = f;
        h.text = f.text.substr(9);
        h.text = h.text.substr(0, h.text.find('/'));
        host(h, c);
        continue;
      }
      if (r.op == ShellRedirectOp::kRead || r.op == ShellRedirectOp::kReadDup) {
        read_path(f, c);
        if (r.op == ShellRedirectOp::kRead) shown_file(f, c);
      } else {
        write_path(f, c);
        // cat /dev/urandom > file
        for (ShellId w = n.words; n.kind == ShellNodeKind::kSimple && w < n.words + std::min<ShellId>(n.word_count, 8);
             ++w)
          if (auto word = s_.plain(w); word && one_of(*word, " /dev/zero /dev/urandom /dev/random ") &&
                                       one_of(s_.plain(n.words).value_or(""), " cat tac od xxd hexdump base64 "))
            construct("endless-copy", std::string(*word), c);
      }
    }
    alternative_ = 0;
  }
}

}  // namespace hotcell::bash
