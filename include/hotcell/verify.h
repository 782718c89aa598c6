// Reading a source before it runs: what it does that its profile would rather not see. Advice, never a wall: the
// kernel's layers hold a program whatever was read in it.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/policy.h"
#include "hotcell/report.h"
#include "hotcell/result.h"
#include "hotcell/units.h"

namespace hotcell {

struct Verification {
  bool safe = false;          // no finding of severity error, and it could be read
  std::string language;       // the canonical name; of an unknown language what the caller said, or "unknown"
  bool unverifiable = false;  // it could not be read, or not to the end: never safe
  std::vector<Finding> findings;  // in the order of the text
};

// "python" for "py", "cpp" for "C++"; what nobody knows comes back in lower case.
std::string verify_language_name(std::string_view name);
// By extension, else by the `#!` line; empty when neither tells.
std::string detect_verify_language(std::string_view file, std::string_view source);

// A running hotcell-verify: the socket to it, now the Verifier's, and how it is ended (its wait status; it has the given
// milliseconds to end by itself).
struct SpawnedVerifier {
  int socket = -1;
  std::function<int(int grace_ms)> end;
};
using VerifierSpawn = std::function<Result<SpawnedVerifier>(Bytes memory)>;

struct VerifierOptions {
  Nanoseconds wall = std::chrono::seconds(10);  // for one source; past it the child is killed
  Bytes memory = 1_GiB;                         // address space of the child
  // Each source gets a child of its own, for who verifies on behalf of several people: a child that one source took
  // over could lie about the next. Costs a process start for each source.
  bool fresh_child = false;
  std::string program;                          // the child; empty: the one that came with this library
  VerifierSpawn spawn;                          // for a process that starts nothing itself; empty: a child of this one
};

// Parsers of hostile text take gigabytes or crash, so they live in a child process that can do nothing but compute and
// answer. One child is kept waiting between sources; when it dies, the next source gets a new one. For one thread.
class Verifier {
 public:
  explicit Verifier(VerifierOptions options = {});
  ~Verifier();
  Verifier(Verifier&&) noexcept;
  Verifier& operator=(Verifier&&) noexcept;

  // Starts the child now, so that the first source does not wait for it.
  Result<void> park();
  bool asked() const;   // a source came since

  // Never fails: what cannot be verified for whatever reason is a finding `unverifiable` that says why.
  // `language` may be empty: by the file's name, its first line, then the policy's own language.
  Verification verify(std::string_view source, std::string_view language, std::string_view file, const Policy& policy);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// For people: each finding with its line and a caret below the column. `source` is the text that was verified.
std::string verification_text(const Verification& verification, std::string_view source);
// {"safe","language","findings":[…]}; of several: safe when all are, "mixed" when they are of different languages.
std::string verification_json(std::span<const Verification> all);
// SARIF 2.1.0, one run.
std::string verification_sarif(std::span<const Verification> all);

}  // namespace hotcell
