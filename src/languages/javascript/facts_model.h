// The meaning of a JavaScript or TypeScript source, as far as constants carry it: which declaration a name has, and
// what an expression is known to be (a text, a number, "the function child_process.exec"). facts.cc turns it into
// facts.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "languages/name_scopes.h"
#include "parse/syntax_tree.h"

namespace hotcell::javascript {

enum class K : std::uint8_t {
  kOther,
  kIdentifier,
  kShorthand,
  kShorthandPattern,
  kMember,
  kSubscript,
  kCall,
  kNew,
  kArguments,
  kString,
  kTemplate,
  kTemplateSubstitution,
  kStringFragment,
  kEscape,
  kNumber,
  kBinary,
  kUnary,
  kParenthesized,
  kSequence,
  kAwait,
  kTernary,
  kArray,
  kObject,
  kPair,
  kSpread,
  kFunction,
  kFunctionDeclaration,
  kArrow,
  kMethod,
  kClass,
  kClassDeclaration,
  kThis,
  kRegex,
  kImport,
  kMetaProperty,
  kVariableDeclarator,
  kVar,
  kLet,
  kFormalParameters,
  kParameter,
  kCatch,
  kForIn,
  kFor,
  kBlock,
  kProgram,
  kSwitchBody,
  kClassBody,
  kImportStatement,
  kExportStatement,
  kImportClause,
  kAssignment,
  kAugmented,
  kUpdate,
  kObjectPattern,
  kArrayPattern,
  kPairPattern,
  kAssignmentPattern,
  kObjectAssignmentPattern,
  kRest,
  kWith,
  kDebugger,
  kType,
  kCast,
  kReturn,
  kComputed,
  kJsxName,
  kJsxAttribute,
  kEnum,
  kNamespace,
  kImportAlias,
  kAmbient,
  kUndefined,
  kYield,
};

using ValueId = std::uint32_t;
inline constexpr ValueId kUnknownValue = 0;

struct Value {
  enum Kind : std::uint8_t {
    kUnknown,
    kText,      // a constant string
    kPrefix,    // a string of which only the beginning is known
    kBytes,     // a Buffer or typed array
    kNumber,
    kPath,      // what a name means: "eval", "child_process.exec", "XMLHttpRequest()"; "?.x" hangs on something unknown
    kArray,
    kObject,    // an object literal, `node`
    kFunction,  // a function or class written here, `node`
  };
  Kind kind = kUnknown;
  bool folded = false;  // a text that stands nowhere in one piece
  std::string text;
  double number = 0;
  NodeId node = kNoNode;
  std::vector<ValueId> items;
};

inline constexpr std::size_t kMaxText = 64 * 1024, kMaxItems = 4096, kMaxPath = 240;
inline constexpr int kMaxDepth = 64;
inline constexpr std::size_t kFoldBudget = 16u << 20;  // bytes of folded texts for one source; literals are free

class Model {
 public:
  explicit Model(const SyntaxTree& tree);

  const SyntaxTree& tree() const { return tree_; }
  K kind(NodeId n) const { return n == kNoNode ? K::kOther : kinds_[tree_[n].kind]; }
  ValueId evaluate(NodeId n);
  const Value& value(ValueId v) const { return values_[v]; }
  const Value& value_of(NodeId n) { return values_[evaluate(n)]; }

  bool is_dead(NodeId n) const { return marks_[n] & kTypeOnly; }      // a type: nothing of it exists at run time
  bool is_declaration(NodeId n) const { return marks_[n] & kDeclares; }
  std::string name_of(NodeId identifier) const;                       // escapes decoded
  std::string string_of(NodeId string_or_fragment) const;
  std::vector<NodeId> arguments_of(NodeId call) const;                // comments left out
  NodeId callee_of(NodeId call) const;
  NodeId inside(NodeId n) const;                                      // without parentheses, casts, `0,` and await
  struct Key {
    enum : std::uint8_t { kUnknown, kText, kIndex } kind = kUnknown;
    bool folded = false;
    std::string text;
  };
  Key key_of(NodeId member_or_subscript);
  ValueId property(NodeId object, std::string_view key);              // of an object literal
  bool gave_up() const { return folded_ > kFoldBudget; }              // some constants are taken for unknown

  // `f.call(x, a)`, `f.apply(x, [a])`, `Reflect.apply(f, x, [a])`: the function that is called and what it is given.
  struct Call {
    std::string path;              // empty: unknown
    std::vector<ValueId> arguments;
    std::vector<NodeId> nodes;     // the same, kNoNode where there is no node
    ValueId self = kUnknownValue;  // what a method is called on
    std::string method;
  };
  Call call_of(NodeId call);

  ValueId text(std::string s, bool folded = true);
  ValueId path(std::string s);
  ValueId make(Value v);
  ValueId member(ValueId object, const std::string& key);

 private:
  enum Mark : std::uint8_t { kTypeOnly = 1, kDeclares = 2, kRunning = 4 };
  struct Source {  // what a declaration is given: a value, taken apart by `steps`
    enum Kind : std::uint8_t { kExpression, kParameter, kModule, kOpaque } kind = kOpaque;
    NodeId node = kNoNode;                 // the expression, or the function
    std::uint32_t index = 0;               // of the parameter
    std::vector<std::string> steps;
    std::string module;
  };
  struct Binding {
    std::vector<Source> sources;
    ValueId known = kUnknownValue;
    enum : std::uint8_t { kNew, kBusy, kDone } state = kNew;
  };

  // facts_bindings.cc
  void mark_types();
  void collect();
  std::uint32_t declare_name(NodeId identifier, NodeId scope);
  void declare(NodeId identifier, NodeId scope, Source source);
  void declare_pattern(NodeId pattern, NodeId scope, const Source& source);
  void declare_imports(NodeId statement);
  void declare_parameters(NodeId function);
  void assign(NodeId statement);
  void assign_pattern(NodeId pattern, const Source& source);
  template <typename Visit>
  void for_each_name(NodeId pattern, const Source& source, Visit visit);
  std::string key_text(NodeId key);

  // facts_eval.cc
  ValueId evaluate_now(NodeId n);
  ValueId evaluate_identifier(NodeId n);
  ValueId evaluate_binding(std::uint32_t id);
  ValueId evaluate_source(const Source& source);
  ValueId evaluate_parameter(const Source& source);
  ValueId evaluate_call(NodeId n);
  ValueId returned_by(NodeId function);
  ValueId evaluate_binary(NodeId n);
  ValueId evaluate_template(NodeId n);
  ValueId evaluate_array(NodeId n);
  bool called_on_nothing(NodeId this_expression) const;
  ValueId dotted(std::string_view source);  // "this.process.env" as a value

  // facts_fold.cc
  ValueId fold_method(const Call& call);
  ValueId fold_text_method(const Call& call);
  ValueId fold_array_method(const Call& call);
  ValueId fold_function(const Call& call);
  bool as_text(ValueId v, std::string& out) const;
  ValueId add_texts(const std::vector<ValueId>& parts);

  const SyntaxTree& tree_;
  std::vector<K> kinds_;
  std::vector<std::uint8_t> marks_;
  std::vector<ValueId> memo_;
  std::deque<Value> values_;  // references to values stay good while more are made
  std::deque<std::string> decoded_;  // names with escapes in them, for scopes_
  NameScopes scopes_;
  std::vector<Binding> bindings_;
  int depth_ = 0;
  std::size_t folded_ = 0;
};

// facts_text.cc: what the language's own functions do with texts.
std::string decode_string(std::string_view inside_quotes);
std::string from_base64(std::string_view s);
std::string from_hex(std::string_view s);
std::string from_percent(std::string_view s);
std::string join_paths(const std::vector<std::string>& parts, bool resolve);
bool has_nested_repetition(std::string_view pattern);
std::string module_path(std::string_view specifier);  // "node:fs/promises" → "fs.promises"

}  // namespace hotcell::javascript
