// A shell script as flat lists: commands in the order of the text, with their words taken apart. POSIX and bash.
//
// Nodes come before what is inside them, so one loop over the indices sees every command, those in $(…), `…`,
// here-documents, arithmetic and function bodies too; a node's descendants are the nodes from it to `after`. Nothing is
// expanded here: what a word means is the analyser's business.
//
// The text is hostile: nesting is capped, time is linear, and what cannot be read is an error with its place. What
// stands before the error has been read, since a shell would run it, too.
#pragma once
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hotcell {

using ShellId = std::uint32_t;
inline constexpr ShellId kNoShell = ~ShellId{0};
inline constexpr int kShellDepth = 200;  // deeper than any person writes; each level costs about 2 KiB of stack

enum class ShellPartKind : std::uint8_t {
  kLiteral,     // text; quoted: no expansion applies to it. An empty quoted one makes "" a word
  kParameter,   // text: name; op: "", "len", "!", ":-" "-" ":=" "=" ":?" "?" ":+" "+" "#" "##" "%" "%%" "/" "//" "/#"
                // "/%"
                //   ":" (substring) "^" "^^" "," ",," "@"; first, second: words; index: the word in [ ]
  kCommand,     // $(…) or `…`; node: its kSubstitution
  kProcess,     // <(…) or >(…); text: "<" or ">"; node
  kArithmetic,  // $((…)); first: its text as a word, whose substitutions are code
  kGlob,        // text: one of * ? [ ] or the sign before an extended pattern's bracket
  kBrace,       // text: one of { , }
  kTilde,       // text: "~" or "~user"
};

struct ShellPart {
  ShellPartKind kind = ShellPartKind::kLiteral;
  bool quoted = false;
  std::uint32_t begin = 0, end = 0;
  std::string_view text = {}, op = {};
  ShellId index = kNoShell, first = kNoShell, second = kNoShell, node = kNoShell;
};

struct ShellWord {
  std::uint32_t begin = 0, end = 0;
  ShellId parts = 0, count = 0;
};

struct ShellAssignment {
  std::string_view name;
  bool append = false, array = false;
  std::uint32_t begin = 0;
  ShellId index = kNoShell, value = kNoShell;  // words; value only when it is no array
  ShellId elements = 0, count = 0;             // of an array: words
};

enum class ShellRedirectOp : std::uint8_t {
  kRead,
  kWrite,
  kAppend,
  kClobber,
  kReadWrite,
  kBoth,
  kBothAppend,
  kReadDup,
  kWriteDup,
  kHereDocument,
  kHereString
};

struct ShellRedirect {
  ShellRedirectOp op = ShellRedirectOp::kRead;
  int fd = -1;                // -1: the usual one
  std::string_view fd_name;   // {name}>…
  ShellId target = kNoShell;  // the word after the sign; of a here-document: ShellScript::here_documents[target]
  std::uint32_t begin = 0;
};

enum class ShellNodeKind : std::uint8_t {
  kProgram,
  kSubstitution,
  kPipeline,
  kSimple,
  kGroup,
  kSubshell,
  kIf,
  kWhile,
  kUntil,
  kFor,
  kForArithmetic,
  kSelect,
  kCase,
  kTest,
  kArithmetic,
  kFunction,
  kCoproc
};

struct ShellNode {
  ShellNodeKind kind = ShellNodeKind::kProgram;
  char op = ';';                             // of a pipeline, what joins it to the one before: ; & (for &&) | (for ||)
  bool background = false, negated = false;  // of a pipeline
  std::uint32_t begin = 0, end = 0;
  ShellId parent = kNoShell, after = 0;
  ShellId words = 0, word_count = 0;  // of a command; of `for`, what it runs over; of `case`, its word and patterns
  ShellId assignments = 0, assignment_count = 0;
  ShellId redirects = 0, redirect_count = 0;
  std::string_view name;  // of a function, of a loop's variable, of a coprocess
};

struct ShellError {
  std::uint32_t at = 0;
  std::string what;
};

struct ShellScript {
  std::deque<std::string> texts;  // the source first, then what had to be decoded; the views point into these
  std::vector<ShellNode> nodes;
  std::vector<ShellWord> words;
  std::vector<ShellPart> parts;
  std::vector<ShellAssignment> assignments;
  std::vector<ShellRedirect> redirects;
  std::vector<ShellId> here_documents;  // words
  std::optional<ShellError> error;

  ShellScript() = default;
  ShellScript(ShellScript&&) = default;  // never copied: the views would point into the other one
  ShellScript& operator=(ShellScript&&) = default;

  std::string_view text() const { return texts.front(); }
  // What the word says when nothing in it is expanded; nullopt otherwise.
  std::optional<std::string> plain(ShellId word) const;
};

ShellScript parse_shell(std::string text);

}  // namespace hotcell
