// `hotcell doctor --attack`: the built-in attacks, each in a cell of its own, and what became of them.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/settings.h"
#include "hotcell/policy.h"
#include "hotcell/report.h"
#include "hotcell/result.h"

namespace hotcell {

enum class AttackJudge : std::uint8_t {
  kProgram,  // the program's own line says it, unless a limit ended it first
  kLimit,    // only one of `reasons` counts: the program itself would never stop
  kOutside,  // it leaves something behind: what counts is that nothing is left, and that the answer came in time
};

struct AttackRow {
  std::string_view name;     // as people call it
  std::string_view command;  // for the attack program; {words} are filled in by the scene
  std::string_view wall;     // what is there to stop it
  AttackJudge judge = AttackJudge::kProgram;
  Layer layer = Layer::kSeccomp;  // when this one is only partial, going through is `partial` too
  std::span<const ExitReason> reasons = {};
  void (*limit)(Policy&) = nullptr;
  std::string_view control = {};  // the same outside a cell; empty: not harmless there, or not possible
};
std::span<const AttackRow> attack_rows();

enum class Held : std::uint8_t { kHeld, kPartial, kNotHeld };
std::string_view to_string(Held held);

struct AttackOutcome {
  std::string name, stopped_by, detail;
  Held held = Held::kPartial;
  std::int64_t milliseconds = 0;
};

// The last RESULT line of the attack program.
struct AttackLine {
  std::string word, detail;  // word: blocked open unclear started; empty: there was none
};
AttackLine parse_attack_line(std::string_view output);

// `damage` is what the scene shows afterwards; `wall_limit` what the policy allowed.
AttackOutcome judge_attack(const AttackRow& row, const Report& report, const std::vector<std::string>& damage,
                           Nanoseconds wall_limit);

// Beside the running program, or where it was installed.
Result<std::string> find_attack_program(std::string_view self);

struct AttackOptions {
  std::string backend = "native";
  bool json = false, colour = false;
  bool control = false;  // outside cells, only what is harmless: shows that the attacks are real
  std::string only;      // one row by name
  backends::Settings settings;  // of the tool behind the backend
};
int run_attacks(const AttackOptions& options);

}  // namespace hotcell
