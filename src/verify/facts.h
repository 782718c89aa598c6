// What a source does, as far as reading it can tell: the one thing every language's analyser produces. Facts say what is
// there, never whether that is good; rules (data, rules.h) decide that. An analyser is pure: text in, facts out.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hotcell {

enum class FactKind : std::uint8_t {
  kImport,     // name: the module, crate, package or header, as the language names it: "os.path", "os/exec", "sys/mman.h"
  kUse,        // name: what a reference means after aliases are resolved: "os.system", "builtins.eval", "child_process.exec".
               //   Every reference counts, not only calls. detail: "call", "reference", "call shell=True" …
  kConstruct,  // name: a form of the language itself, from the analyser's own fixed vocabulary: "inline-asm",
               //   "dunder-attribute", "dynamic-code", "unsafe-block", "pipe-to-interpreter", "fork-bomb". detail: the word
  kReadPath,   // name: a constant path that is read, listed or stat'ed (normalised: "/etc/passwd")
  kWritePath,  // … written, created, deleted, renamed, its mode changed
  kHost,       // name: a constant host or URL that is contacted
  kCommand,    // name: the command of a shell or of a process call, detail: its words, one space apart
  kUnreadable, // the analyser cannot know what happens here ("name": why). Makes the whole source unverifiable
};

struct Fact {
  FactKind kind = FactKind::kUse;
  std::string name, detail;
  std::uint32_t begin = 0, end = 0;  // where in the text
};

}  // namespace hotcell
