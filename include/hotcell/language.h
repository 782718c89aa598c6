// A language: how its sources are known, verified, compiled and run. One folder under src/languages/ each, one line in
// the registry (src/languages/language_registry.cc). The walls around a program are the same for every language; a
// language only adds what is its own. Nothing in here touches a file or starts a process: a plugin says *what* to run.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/policy.h"
#include "hotcell/report.h"
#include "hotcell/result.h"

namespace hotcell {

// A program that a language needs. `/usr/bin` is looked at first: only what a cell sees can be used.
enum class ToolUse : std::uint8_t { kCompile, kRun, kCompileFast };
struct Tool {
  ToolUse use = ToolUse::kRun;
  std::string_view program;       // "g++"
  std::string_view package;       // the Debian package that brings it; "npm:NAME" for what set-up fetches from npm
  std::string_view version_flag = "--version";
};

struct SourceFile {
  std::string name;  // relative, no "..", where it will be below /work
  std::string text;
};

// What was asked for: one file, or a folder with a manifest (Cargo.toml, go.mod).
struct Sources {
  std::vector<SourceFile> files;
  std::string main;      // the name of the file to start with; the manifest of a folder
  bool project = false;  // a folder
  const SourceFile* find(std::string_view name) const {
    for (const auto& f : files)
      if (f.name == name) return &f;
    return nullptr;
  }
};

// Where a tool was found; absent when it is not there.
using ToolPaths = std::map<std::string, std::string, std::less<>>;

// A header that the compiler reads faster when it was read before: made once in a compile cell without any source of a
// caller's, kept, and shown to later steps: behind `option` comes a folder with `name` in it and nothing else.
struct ReadyHeader {
  std::vector<std::string> argv;      // makes `output` of `text`, which is in /work/header.h
  std::string text, output;
  std::string name;                   // in the folder
  std::string option;                 // "-I"
};

// One command in a compile cell. Options are the plugin's alone: nothing a caller writes becomes one.
struct CompileStep {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::string workdir;                // empty: /work
  std::vector<SourceFile> extra;      // files of ours beside the sources
  std::vector<std::string> read;      // host files or folders the step needs to see: a tool outside /usr
  std::vector<std::string> outputs;   // files or folders below /work that are the artefact; one file alone is later
                                      // found by its last name: out/main is /work/main in the run cell
  Limits limits;
  std::optional<ReadyHeader> header = {};  // does not change what is made, only how long it takes
};

// How the program is started. Its arguments follow argv.
struct RunStep {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::vector<SourceFile> extra;      // files of ours in /work
  std::vector<std::string> read;
  bool notes = false;                 // it leaves notes for us (languages/common/notes.h)
};

struct BuildInput {
  const Sources& sources;
  const Policy& policy;
  const ToolPaths& tools;
  bool fast = {};                     // the profile asks for the quickest compiler rather than the best code
  const std::map<std::string, std::string>* env = nullptr;  // the request's own variables, beside the policy's
};

// How many tasks and how much memory the runtime itself needs before the program's first line. Raised only where nobody
// has said otherwise; 0: what the policy has will do.
struct RuntimeNeeds {
  std::uint32_t processes = 0;
  Bytes memory{};
};

// How a runtime is started in advance, in a cell of its own, to wait for one program (hotcell/request.h, Runtime). It
// waits before it looks for the program and then goes on as in any other run, so what the program sees is the same.
// It serves programs that are called main_file; others are started cold.
struct WarmRecipe {
  // Adds to the way a program is started what makes it wait. `helper`: what `source` was compiled to. Null: cannot wait.
  Result<void> (*prepare)(const BuildInput&, std::span<const OutputFile> helper, RunStep&) = nullptr;
  std::string_view source;    // a program of ours in this language that must be compiled first
  bool arguments = true;      // can be given arguments and variables when it is running already
  bool (*rich)(const Policy&) = nullptr;  // can be told to show more than text (Request::rich) by then; null: never
};

struct Language {
  std::string_view name = {};
  std::span<const std::string_view> aliases = {}, extensions = {}, interpreters = {};  // with their dot; `#!` names
  std::string_view main_file = {};           // what the text of -c is called
  std::string_view default_profile = "default";
  std::string_view verify_as = {};           // whose rules apply; empty: those of `name`
  std::span<const Tool> tools = {};
  std::span<const std::string_view> manifests = {};  // file names that make a folder a project of this language
  RuntimeNeeds needs = {};

  // Empty: no compile step. The error is the caller's mistake, or a tool that is not there.
  Result<CompileStep> (*compile)(const BuildInput&) = nullptr;
  // Called before the compile step has run: the artefact's names are known in advance.
  Result<RunStep> (*run)(const BuildInput&) = nullptr;
  // What a compiler said, read into places. `text` is its standard error.
  std::vector<Diagnostic> (*diagnostics)(std::string_view text) = nullptr;
  // What the file must be called for the language: Java's public class. Empty: no matter.
  std::string (*file_name)(std::string_view text) = nullptr;
  // What the text of -c is called when that depends on the text (modules of JavaScript). Empty: main_file.
  std::string_view (*code_name)(std::string_view text) = nullptr;
  WarmRecipe warm = {};
  // Changes the way a program is started so that it shows its figures and tables (Request::rich). Null: cannot.
  Result<void> (*rich)(const BuildInput&, RunStep&) = nullptr;
  // What `compile` makes is a source of this other language, compiled again in a cell of its own. Its `run` is that one's.
  const Language* becomes = nullptr;
};

std::span<const Language* const> languages();
const Language* find_language(std::string_view name_or_alias);          // nullptr: unknown
const Language* as_wasm(const Language& language);                      // as a WASI module; nullptr: cannot be one
const Language* language_by_extension(std::string_view file);
const Language* language_by_shebang(std::string_view first_line);       // "#!/usr/bin/env -S python3 -u"
const Language* language_of_project(std::span<const std::string> names);  // by the manifest among a folder's names

// Where each of the language's tools is, as a cell of this policy would see it.
ToolPaths find_tools(const Language& language, const Policy& policy);

}  // namespace hotcell
