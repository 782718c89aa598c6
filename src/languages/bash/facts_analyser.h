// How the analyser reads a script: commands in the order of the text, with what is known of variables, aliases,
// functions and the working folder carried along. A function's body is read where it is called, with the arguments it
// gets there.
//
// Where two values are possible (an assignment under `if`, a loop) both are kept, and a command that uses them is
// looked at once for each. What is not constant is unknown, which is a value, too: rules say what an unknown command
// name means.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "parse/shell.h"
#include "verify/facts.h"

namespace hotcell::bash {

enum Taint : std::uint8_t {
  kNoTaint = 0,
  kNetwork = 1,        // from a program that talks to the network
  kDecoded = 2,        // from a program that decodes
  kSubstitution = 4,   // what a command prints
  kSelf = 8,           // the script itself: $0
  kInput = 16,         // read from standard input
  kHarmlessTool = 32,  // from one of the programs whose output is meant to be evaluated
};

// One argument. `text` shows what is unknown as $…
struct Field {
  std::string text;
  std::string origin;   // the variable it begins with, when the script never sets it
  std::string outside;  // such a variable anywhere in it
  bool known = true, glob = false;
  std::uint8_t taint = kNoTaint;
  ShellId process = kNoShell;  // <(…): its node
};
using Fields = std::vector<Field>;
inline constexpr std::string_view kUnknown = "$…";

struct Variable {
  Fields values;    // the possible ones
  Fields elements;  // of an array
  std::string refers;  // declare -n: the variable that is meant
  bool array = false;
};

struct Function {
  const ShellScript* script = nullptr;
  ShellId node = kNoShell;
  int calls = 0;
};

// What all texts of one analysis share: the script itself and those it evaluates.
struct State {
  std::vector<Fact> facts;
  std::deque<ShellScript> scripts;
  std::unordered_map<std::string, Variable> variables;
  std::unordered_map<std::string, std::string> aliases;
  std::unordered_map<std::string, Function> functions;
  std::unordered_set<std::string> assigned;            // names that are set anywhere
  std::unordered_set<std::string> integers = {"RANDOM", "OPTIND", "HISTCMD"};  // declare -i: their values are computed
  std::unordered_set<std::uint64_t> said;              // hashes of facts
  std::unordered_map<std::string, std::string> files;  // what the script wrote, when it is constant
  std::unordered_map<std::string, Field> descriptors;  // what reading from one brings
  std::optional<Field> history;                        // the line that history -s put there
  std::string folder;                                  // where constant cd's lead; empty: the work folder
  std::size_t budget = 8 * 1024 * 1024;                // bytes of folded values; beyond it nothing is known
  std::size_t steps = 400000;                          // nodes looked at again for calls and evaluated texts
  bool exhausted = false;
  std::size_t programs = 0;  // said to be started
  bool sourced = false;      // a file that is not read here: names may be functions of it
};

class Analyser {
 public:
  Analyser(State& state, const ShellScript& script, int depth, std::optional<std::uint32_t> fixed = std::nullopt)
      : st_(state), s_(script), depth_(depth), fixed_(fixed) {}
  void run();
  void set_arguments(Fields arguments) { arguments_ = std::move(arguments), have_arguments_ = true; }

 private:
  struct Call {  // one command with its words resolved
    std::uint32_t at = 0;
    ShellId node = kNoShell;
    int depth = 0;                                // wrappers around it
    const std::optional<Field>* input = nullptr;  // what the pipe or here-document brings, if anything
  };
  using Args = std::span<const Field>;

  // facts.cc: the walk
  void collect_names();
  void walk(ShellId from, ShellId to);
  void pipeline(ShellId node);
  void simple(ShellId node);
  void loop_variable(const ShellNode& n);
  void redirects(ShellId node);
  void keep_output(ShellId node, Args words, const std::optional<Field>& input);
  bool run_written_file(const Field& path, const Call& c, Fields arguments = {});
  void assign(const ShellAssignment& a, ShellId node, bool local);
  void set_variable(const std::string& name, Field value, bool conditional, bool append);
  bool conditional(ShellId node) const;
  bool call_function(const std::string& name, Args words);
  std::optional<Field> input_of(ShellId node);
  std::vector<ShellId> stages(ShellId pipeline_node) const;
  void say(FactKind kind, std::string name, std::string detail, std::uint32_t at);
  void construct(std::string_view name, std::string detail, const Call& c) {
    say(FactKind::kConstruct, std::string(name), std::move(detail), c.at);
  }
  // Only where a profile has a single process does it matter, and there a few say as much as all.
  void starts_program(std::string_view what, const Call& c) {
    if (st_.programs++ < 64) construct("starts-program", std::string(what), c);
  }
  void evaluate_text(std::string text, const Call& c, Fields arguments = {});

  // facts_words.cc, facts_parameter.cc: what words mean
  Fields expand(ShellId word, bool split = true);
  void expand_into(ShellId word, bool split, Fields& out);
  Field expand_one(ShellId word);  // without splitting, as in assignments and redirections
  std::vector<std::vector<ShellPart>> expand_braces(const ShellWord& w) const;
  void expand_parts(std::span<const ShellPart> parts, bool split, Fields& out);
  Field parameter(const ShellPart& p);
  std::optional<Field> keyed_element(const ShellPart& p);
  Field apply_operator(const ShellPart& p, Field value, bool set);
  std::optional<Fields> many(const ShellPart& p);  // $@, ${a[@]}
  std::optional<Field> lookup(std::string_view name);
  Field unknown(std::string_view origin = {}, std::uint8_t taint = kNoTaint) const;
  Field substitution(ShellId node);
  std::uint8_t taint_of(ShellId from, ShellId to) const;
  std::optional<long> number(ShellId word);
  bool spend(std::size_t bytes);

  // facts_output.cc: what constant commands print
  std::optional<Field> output_of_list(ShellId node);
  std::optional<Field> output_of_stages(const std::vector<ShellId>& nodes, std::size_t count);
  std::optional<Field> output_of(Args words, const std::optional<Field>& input);

  // facts_commands.cc: what commands do
  void run_command(Args words, Call c);
  bool pointed_elsewhere(const std::string& name) const;
  void run_without_unset(Args words, Call c);
  void runs_command(const std::string& spelled, const std::string& shown, const Call& c);
  std::string command_name(const Field& f, const Call& c);
  bool wrapper(const std::string& name, Args words, const Call& c);
  bool shell_builtin(const std::string& name, Args words, const Call& c);
  bool interpreter(const std::string& name, Args words, const Call& c);
  void shell_program(const std::string& name, Args words, const Call& c);
  void code_from(const Field& f, std::string_view by, const Call& c, Fields arguments = {});
  void evaluate(Args words, const Call& c);
  void source(Args words, const Call& c);
  void alias_builtin(Args words);
  void find(Args words, const Call& c);
  void xargs(Args words, const Call& c);
  void inline_code(std::string_view name, const Field& code, const Call& c);
  void runs_program_by_option(const std::string& name, Args words, const Call& c);
  void declare(Args words, const Call& c);
  void special_variable(std::string_view name, const Field& value, std::uint32_t at);

  // facts_subscripts.cc: texts that bash takes for arithmetic or for a variable's name
  bool computes(std::string_view text, const Call& c, std::size_t from = 0);
  bool named(std::string_view text, const Call& c);
  bool subscript(const Field& f, const Call& c);
  void test_or_arithmetic(ShellId node);
  void tested_numbers(Args words, const Call& c);

  // facts_descriptors.cc
  void keep_descriptors(ShellId node);
  std::optional<Field> text_behind(const ShellRedirect& r);
  std::optional<Field> descriptor(const Field& path);
  void history(const std::string& name, Args words, const Call& c);
  void completion(const std::string& name, Args words, const Call& c);

  // facts_made.cc: programs whose text the script makes: makefiles, files it wrote, calculators that start commands
  bool makefile(Args words, const Call& c);
  void make_text(std::string_view text, const Call& c);
  std::optional<Field> text_of(const Field& file);
  bool written_program(const std::string& kind, Args words, const Call& c);
  void calculator(Args words, const Call& c);
  void run_parts(Args words, const Call& c);
  void python_module(Args words, std::size_t at, const Call& c);

  // facts_people.cc: what a script decides and carries
  void decisions(ShellId node);
  void carried(std::string_view name, const Field& value, std::uint32_t at);
  void grown(const ShellAssignment& a, ShellId node);
  void computed_input(ShellId word, std::uint32_t at);
  void shown(Args words, const Call& c);
  void tested_paths(Args words, const Call& c);

  // facts_programs.cc: awk and sed
  void text_tool(const std::string& name, Args words, const Call& c);
  void awk_program(const Field& program, std::string_view name, bool outside, const Call& c);
  void sed_program(const Field& program, const Call& c);

  // facts_files.cc, facts_hosts.cc: paths and hosts of well-known commands
  void files(const std::string& name, Args words, const Call& c);
  void output_files(const std::string& name, Args words, const Call& c);
  void other_files(Args words, const Call& c);
  void read_path(const Field& f, const Call& c);
  void write_path(const Field& f, const Call& c);
  void shown_file(const Field& f, const Call& c);
  void recursive(std::string_view construct_name, const Field& target, const Call& c);
  std::string target_class(const Field& f) const;
  void hosts(const std::string& name, Args words, const Call& c);
  void host(const Field& f, const Call& c);

  // facts_bombs.cc
  void look_for_bombs();
  void endless_loop(ShellId node);
  bool condition_stays(ShellId node) const;
  bool calls_itself(ShellId function) const;

  bool reads_stdin(const std::string& name, Args words) const;

  State& st_;
  const ShellScript& s_;
  int depth_;
  std::optional<std::uint32_t> fixed_;
  Fields arguments_;
  bool have_arguments_ = false;
  int folding_ = 0, call_depth_ = 0;
  std::size_t alternative_ = 0, most_alternatives_ = 1;
  std::unordered_map<ShellId, std::optional<Field>> inputs_;  // what pipes bring to a command
};

std::string base_name(std::string_view path);
std::string joined(std::span<const Field> words);
bool git_key_runs(std::string key);  // facts_code.cc: a setting of git whose value is a command
// facts_descriptors.cc
std::optional<Field> option_value(std::span<const Field> words, char letter, std::string_view valued);
bool one_of(std::string_view word, std::string_view list);  // list: words with one space between and around

// facts_looks.cc: `docker ps`, `mount`, `crontab -l`: the command shows something and changes nothing.
bool only_looks(const std::string& name, std::span<const Field> words);
bool changes_machine(const std::string& name, std::span<const Field> words);

// facts_tables.cc
bool is_shell(std::string_view name);
bool is_interpreter(std::string_view name);
bool is_network(std::string_view name);
bool is_decoder(std::string_view name);
bool is_builtin(std::string_view name);     // bash does it itself, without another process
bool is_everyday(std::string_view name);    // a command whose name means the same to everybody: ls, cat, sudo
bool acts_on_input(std::string_view name);  // programs to which a pipe brings commands
std::string known_program(
    std::string_view pattern);  // which program a pattern such as /bin/s[h] means; empty: none known

}  // namespace hotcell::bash
