#include "languages/engine.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "base/strings.h"
#include "languages/analysers.h"
#include "languages/c/loop_macros.h"
#include "languages/generic_facts.h"
#include "languages/line_patterns.h"
#include "languages/source_checks.h"
#include "parse/syntax_tree.h"
#include "verify/embedded_rules.h"
#include "verify/rule_index.h"

namespace hotcell {
namespace {

using TreeFacts = std::vector<Fact> (*)(const SyntaxTree&);

struct Analyser {
  std::string_view language;
  Grammar grammar;
  TreeFacts facts;
};

constexpr std::array kAnalysers = {
    Analyser{"python", Grammar::kPython, python_facts},
    Analyser{"c", Grammar::kC, c_facts},
    Analyser{"cpp", Grammar::kCpp, c_facts},
    Analyser{"rust", Grammar::kRust, rust_facts},
    Analyser{"go", Grammar::kGo, go_facts},
    Analyser{"java", Grammar::kJava, java_facts},
    Analyser{"javascript", Grammar::kJavascript, javascript_facts},
    Analyser{"typescript", Grammar::kTypescript, javascript_facts},
};

const RuleIndex& rules_for(std::string_view language) {
  static std::map<std::string, std::unique_ptr<RuleIndex>, std::less<>> kept;
  auto it = kept.find(language);
  if (it == kept.end())
    it = kept.emplace(std::string(language), std::make_unique<RuleIndex>(embedded_rules(language))).first;
  return *it->second;
}

// The grammars beside the language's own that a file may be written in.
Grammar other_grammar(Grammar grammar) {
  if (grammar == Grammar::kTypescript) return Grammar::kTsx;
  if (grammar == Grammar::kC) return Grammar::kCpp;  // a header's name does not say
  return grammar;
}

bool is_word_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The grammar of C++ does not know typeid(type). sizeof takes the same, is as long, and does as little.
std::string without_typeid(std::string text) {
  for (std::size_t at = text.find("typeid"); at != text.npos; at = text.find("typeid", at + 6)) {
    bool word = (at == 0 || !is_word_char(text[at - 1])) && (at + 6 >= text.size() || !is_word_char(text[at + 6]));
    if (word) text.replace(at, 6, "sizeof");
  }
  return text;
}

Result<SyntaxTree> parse_best(const Analyser& analyser, const std::string& file, const std::string& text) {
  TRY_SET(SyntaxTree tree, parse_source(analyser.grammar, text));
  if (tree.has_error() && (analyser.grammar == Grammar::kCpp || analyser.grammar == Grammar::kC)) {
    const bool cpp = analyser.grammar == Grammar::kCpp;
    std::string plain = c::without_loop_macros(cpp ? without_typeid(text) : text);
    if (plain != text) {
      TRY_SET(SyntaxTree second, parse_source(analyser.grammar, std::move(plain)));
      if (!second.has_error()) return second;
    }
  }
  Grammar other = other_grammar(analyser.grammar);
  // No element ends without one of these. Worth asking: that grammar's parser does not end on some broken texts.
  bool elements = text.find("</") != text.npos || text.find("/>") != text.npos;
  bool ambiguous = other != analyser.grammar && (other == Grammar::kTsx ? elements : file.ends_with(".h"));
  if (!tree.has_error() || !ambiguous) return tree;
  TRY_SET(SyntaxTree second, parse_source(other, text));
  return second.has_error() ? std::move(tree) : std::move(second);
}

class Verify {
 public:
  explicit Verify(WireRequest request) : r_(std::move(request)) {
    out_.language = r_.language;
    if (r_.source.starts_with("\xEF\xBB\xBF")) r_.source.erase(0, 3);
  }

  Verification run() {
    const bool bash = r_.language == "bash";
    const auto* analyser = std::find_if(kAnalysers.begin(), kAnalysers.end(),
                                        [&](const Analyser& a) { return a.language == r_.language; });
    if (!bash && analyser == kAnalysers.end()) generic();
    else if (r_.source.empty()) return finish();
    else if (auto problem = source_problem(r_.language, r_.source)) refuse_at(SourceText(r_.source), *problem);
    else if (bash) shell();
    else with_tree(*analyser);
    return finish();
  }

 private:
  void refuse(std::string_view why, Place at = {}) {
    out_.unverifiable = true;
    out_.findings.push_back(unverifiable_finding(why, at.line, at.column));
  }

  void refuse_at(const SourceText& source, const SourceProblem& problem) {
    refuse(problem.why, source.place(problem.offset));
    set_snippet(source, out_.findings.back());
  }

  static void set_snippet(const SourceText& source, Finding& f) {
    f.snippet = printable(trim(source.line_text(f.line).substr(0, 160)));
  }

  void judge_facts(const SourceText& source, const std::vector<Fact>& facts, std::string_view rules) {
    for (const Fact& f : facts) out_.unverifiable |= f.kind == FactKind::kUnreadable;
    auto found = judge(source, r_.file, facts, rules_for(rules), r_.options);
    std::move(found.begin(), found.end(), std::back_inserter(out_.findings));
  }

  void add_patterns(const SourceText& source, std::string_view code) {
    if (r_.options.patterns.empty()) return;
    auto found = find_patterns(source, code, r_.options.patterns);
    if (!found.ok()) return refuse(cat("a pattern of the profile is wrong: ", found.error().message));
    std::move(found.value().begin(), found.value().end(), std::back_inserter(out_.findings));
  }

  void generic() {
    refuse(cat("nobody here can read ", r_.language.empty() ? "an unknown language" : printable(r_.language),
               "; the words of each line were looked at, no more"));
    SourceText source(std::move(r_.source));
    judge_facts(source, generic_facts(source.text()), "generic");
    add_patterns(source, source.text());
  }

  void shell() {
    SourceText source(std::move(r_.source));
    judge_facts(source, bash_facts(source.text()), "bash");
    add_patterns(source, source.text());
  }

  void with_tree(const Analyser& analyser) {
    std::optional<UnescapedJava> java;
    if (analyser.grammar == Grammar::kJava) java.emplace(r_.source);
    const bool moved = java && java->changed();
    auto parsed = parse_best(analyser, r_.file, moved ? java->text() : r_.source);
    if (!parsed.ok()) return refuse(parsed.error().message);
    const SyntaxTree& tree = parsed.value();
    std::optional<std::vector<Fact>> preprocessed;
    if (tree.has_error() && (analyser.grammar == Grammar::kC || analyser.grammar == Grammar::kCpp))
      preprocessed = c_facts_preprocessed(tree);
    auto facts = preprocessed ? std::move(*preprocessed) : analyser.facts(tree);
    std::optional<SourceText> original;
    if (moved) {
      original.emplace(std::move(r_.source));
      for (Fact& f : facts) f.begin = java->at(f.begin);
    }
    const SourceText& source = moved ? *original : tree.source();
    if (tree.has_error() && !preprocessed) {
      std::uint32_t begin = tree[tree.first_error()].begin;
      refuse_at(source, {describe_error(tree), moved ? java->at(begin) : begin});
    }
    judge_facts(source, facts, analyser.language);
    // Where escapes were decoded or macros replaced, lines are not what they were: there the text itself is looked at.
    add_patterns(source, moved || preprocessed ? std::string(source.text()) : code_only(tree));
  }

  std::string describe_error(const SyntaxTree& tree) const {
    NodeId n = tree.first_error();
    if (tree[n].missing)
      return cat("it is not whole ", r_.language, ": `", printable(tree.kind(n)), "` is missing here");
    std::string_view near = trim(tree.text(n));
    near = near.substr(0, std::min<std::size_t>(near.find('\n'), 40));
    std::string_view gap = near.empty() ? "" : " near ";
    return cat("it cannot be read as ", r_.language, gap, printable(near));
  }

  Verification finish() {
    auto before = [](const Finding& a, const Finding& b) {
      return a.line != b.line ? a.line < b.line : a.column < b.column;
    };
    // The count of what is not listed stays last.
    auto end = std::find_if(out_.findings.begin(), out_.findings.end(),
                            [](const Finding& f) { return f.rule == "more-findings"; });
    if (end != out_.findings.end()) std::rotate(end, end + 1, out_.findings.end()), end = out_.findings.end() - 1;
    std::stable_sort(out_.findings.begin(), end, before);
    out_.safe = !out_.unverifiable && std::none_of(out_.findings.begin(), out_.findings.end(),
                                                   [](const Finding& f) { return f.severity == "error"; });
    return std::move(out_);
  }

  WireRequest r_;
  Verification out_;
};

}  // namespace

Verification verify_source(WireRequest request) { return Verify(std::move(request)).run(); }

std::vector<std::string_view> analysed_languages() {
  std::vector<std::string_view> out = {"bash"};
  for (const Analyser& a : kAnalysers) out.push_back(a.language);
  return out;
}

}  // namespace hotcell
