// One piece of text, all inspectors: what stands in it, and what stands in what it hides.
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/commands.h"
#include "inspect/decode.h"
#include "inspect/injection.h"
#include "inspect/rule_set.h"

namespace hotcell::inspect {

class Examiner {
 public:
  enum class Source : std::uint8_t { kText, kArgument };
  static Result<Examiner> create(const InspectOptions& options, Source source);

  // Findings with offsets from the beginning of `text`, plus `base`.
  void examine(std::string_view text, std::size_t base, std::vector<InspectFinding>& to);
  void examine_command(std::string_view text, CommandPlace place, std::vector<InspectFinding>& to);

 private:
  // Text and where it comes from: a layer is reported where its outside begins.
  struct View {
    std::string_view text;
    std::size_t base = 0;
    const std::vector<std::pair<std::size_t, std::size_t>>* lines = nullptr;  // place here → place outside
    bool fixed = false;                                                       // all of it is at `base`
    std::string name;                                                         // of the encoding
    bool hidden = false;
    int depth = 0;
    std::size_t origin(std::size_t at) const;
  };

  void look(const View& view);
  // What one pass over a view gathers before it is judged.
  struct Gathered {
    std::vector<Evidence> evidence;
    std::vector<Layer> layers;
    std::vector<std::size_t> commands;  // where the names of programs end
  };
  void take_match(const View& view, const ScanMatch& match, Gathered& to);
  void take_caesar(const View& view, const ScanMatch& match, std::vector<Layer>& layers) const;
  void take_argument(const View& view, const ScanMatch& match);
  std::optional<Regex::Match> matched(const View& view, std::uint32_t rule, const ScanMatch& match);
  void long_base64(const View& view);
  void take_secret(const View& view, const BuiltinRule& rule, const Regex::Match& match);
  void take_url(const View& view, std::size_t at);
  void take_trigger(const View& view, std::string_view check, std::size_t end, std::vector<Layer>& layers);
  void squeeze(const View& view, std::vector<Evidence>& evidence);
  void take_commands(const View& view, const std::vector<std::size_t>& found, std::vector<Evidence>& evidence);
  void normalised(const View& view);
  void judge(const View& view, std::vector<Evidence> evidence);
  void users_rules(const View& view);
  void add(const View& view, InspectFinding finding, std::size_t at);
  // Nothing is passed over in silence: what is not read because there is too much of it is a finding.
  void limited(const View& view, std::string_view what);
  InspectKind any_kind() const;
  bool wants(InspectKind kind) const { return options_.kinds.has(kind); }
  bool wants_secrets() const { return wants(InspectKind::kSecrets) || wants(InspectKind::kEgress); }

  InspectOptions options_;
  Source source_ = Source::kText;
  const RuleSet* rules_ = nullptr;
  std::shared_ptr<Scanner::Scratch> text_scratch_, arguments_scratch_, squeezed_scratch_;
  std::vector<InspectFinding>* to_ = nullptr;
  std::string letters_;   // of the text at hand; nothing is looked into while they are read
  std::size_t left_ = 0;  // bytes that may still be decoded
  bool limited_ = false;  // of this window it has been said
};

std::string snippet_of(std::string_view text, std::size_t begin, std::size_t end);

}  // namespace hotcell::inspect
