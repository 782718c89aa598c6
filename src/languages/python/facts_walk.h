// One walk over a source: every reference, call, import and text that may be worth a fact.
#pragma once
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "languages/python/facts_value.h"
#include "verify/facts.h"

namespace hotcell::python {

// How much a name that begins and ends with __ (or an attribute of frames) gives away.
enum class Dunder : std::uint8_t { kNone, kMild, kWalk };

class Analyser {
 public:
  Analyser(const SyntaxTree& tree, int depth);
  std::vector<Fact> run();
  const std::string& brought() const { return brought_; }  // imports that texts run as code make here, one in each line

 private:
  using Kind = Value::Kind;
  void visit(NodeId n);
  std::string_view block_fault(NodeId block, NodeId& at);
  void check_whole();  // facts_whole.cc: what the grammar takes and Python does not
  void check_text();  // what the letters of the file say before any grammar: encoding, line ends, direction marks

  // facts.cc
  void on_import(NodeId n);
  void on_import_from(NodeId n);
  void on_identifier(NodeId n);
  void on_attribute(NodeId n);
  void on_subscript(NodeId n);
  void on_pattern(NodeId n);
  void close_loops(NodeId n);
  void report_name(const Value& v, NodeId at, std::string_view detail);
  bool only_asks(const Value& v, NodeId n) const;
  void report_through(NodeId at, std::string_view holder, std::string_view name);

  // facts_dunder.cc
  Dunder judge_dunder(NodeId attribute, const std::string& name);
  void dunder_text(const std::string& name, NodeId at);  // a name given as text where an attribute is meant
  void check_format(std::string_view text, NodeId at);

  // facts_strings.cc
  void on_string(NodeId n);
  void check_secret(std::string_view text, NodeId at);
  bool built_from_parts(NodeId n);

  // facts_calls.cc
  void on_call(NodeId n);
  void known_call(const Value& f, NodeId n, const Arguments& a);
  void reflective_call(const Value& f, NodeId n, const Arguments& a);
  void code_call(const Value& f, NodeId n, const Arguments& a);
  void attribute_by_text(NodeId object, NodeId name, NodeId at);
  bool only_parameters(NodeId n);
  bool carries_code();
  void nested(const std::string& source, NodeId at, bool must_parse);
  void plain_call(NodeId function, const Values& functions);
  const std::vector<std::pair<std::string, std::string>>& surroundings();

  // facts_handed.cc
  void module_handed_on(NodeId n, const Value& module);
  void modules_handed_on();
  void called_on_unknown(NodeId n, std::string_view method, const Values& objects);
  void report_handed_on();

  // facts_namespaces.cc
  std::string namespace_of(NodeId n);
  void namespace_handed_on(NodeId n);
  bool meets_getattr(NodeId n);
  bool reads_own_pickle(std::string_view function, const Arguments& a);
  void run_examples(NodeId string);
  void environment_changes(std::string_view function, NodeId n, const Arguments& a);

  // facts_declared.cc
  void declared(NodeId n);
  bool about_people(NodeId n);
  void made_by_random(NodeId function);
  void own_crypto(NodeId n);
  void decided_by(NodeId condition, NodeId at, int depth = 0);
  bool comes_from_input(NodeId n);

  // facts_resources.cc
  void resources(NodeId n);
  bool never_ends(NodeId loop);
  void endless_recursion(NodeId function);
  void lock_order(NodeId item);

  // facts_quality.cc
  void quality(NodeId n);
  std::string last_name(NodeId n, int depth = 0);
  void on_comparison(NodeId n);
  void on_match(NodeId n);
  void named_call(NodeId n);
  void regex_call(const Value& f, NodeId n, const Arguments& a);
  void check_markup(std::string_view raw, std::string_view inner, NodeId n);

  // facts_files.cc
  void file_call(const Value& f, NodeId n, const Arguments& a);
  void path_fact(FactKind kind, const Value& v, NodeId at);
  void path_facts(FactKind kind, NodeId argument, NodeId at);
  void host_call(const Value& f, NodeId n, const Arguments& a);
  void host_fact(const Value& v, NodeId at);
  void process_call(const Value& f, NodeId n, const Arguments& a);
  void command_fact(const Value& v, NodeId at);

  void fact(FactKind kind, std::string name, std::string detail, NodeId at);
  void construct(std::string name, std::string detail, NodeId at) {
    fact(FactKind::kConstruct, std::move(name), std::move(detail), at);
  }
  Values eval(NodeId n) { return e_.eval(n); }

  const SyntaxTree& tree_;
  PyTree t_;
  Scopes s_;
  Evaluator e_;
  int depth_;
  FactList facts_;
  std::unordered_map<std::string, int> seen_;  // the same fact a thousand times says no more than fifty times
  std::vector<NodeId> loops_;                  // `while True` that are open
  NodeId last_exit_ = 0, last_spawn_ = 0;
  bool namespaces_ = false;  // of modules: looked for where a name could stand for one
  bool dynamic_getattr_ = false, evaluates_annotations_ = false, runs_examples_ = false;
  std::optional<bool> carries_code_;
  std::set<std::string> handed_on_, imported_;                   // modules as values; modules the source imports
  std::vector<std::pair<std::string, NodeId>> unknown_methods_;  // telling methods of objects that are not followed
  std::vector<std::pair<std::string, NodeId>> written_modules_;  // stems of the .py files it writes
  std::vector<std::pair<std::string, NodeId>> dunder_texts_;
  std::set<std::pair<std::string_view, std::string_view>> lock_pairs_;  // taken one inside the other
  std::optional<std::vector<std::pair<std::string, std::string>>> surroundings_;  // a name, the line that binds it
  std::string brought_;
  int nested_count_ = 0;
};

bool is_hard_dunder(std::string_view name);
bool names_secret(std::string_view variable);  // AWS_SECRET_ACCESS_KEY, DB_PASSWORD

}  // namespace hotcell::python
