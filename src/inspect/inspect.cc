// Windows over a stream, and what the examiner says of each.
#include "hotcell/inspect.h"

#include <algorithm>

#include "base/strings.h"
#include "inspect/examiner.h"
#include "inspect/inspect.h"

namespace hotcell {

namespace {

using inspect::Examiner;

constexpr std::size_t kWindow = 128u << 10;  // in the cache, and large enough that the overlap costs little
constexpr std::size_t kOverlap = 4u << 10;   // longer than any phrase or key that is looked for
constexpr std::size_t kMostFindings = 1000;

}  // namespace

namespace inspect {

// The same found twice: in the overlap, in a layer and in the text around it, by two rules in one sentence.
void tidy(std::vector<InspectFinding>& findings) {
  std::stable_sort(findings.begin(), findings.end(), [](const auto& a, const auto& b) {
    return std::pair(a.offset, -static_cast<int>(a.level)) < std::pair(b.offset, -static_cast<int>(b.level));
  });
  std::vector<InspectFinding> kept;
  for (auto& f : findings) {
    bool again = false;
    for (auto other = kept.rbegin(); other != kept.rend() && f.offset - other->offset < 400; ++other) {
      bool near = f.kind == InspectKind::kInjection ? true : f.offset - other->offset < (f.rule == other->rule ? 1u : 40u);
      if (other->kind != f.kind || other->type != f.type || other->path != f.path || !near) continue;
      if (f.level > other->level) {
        std::size_t at = other->offset;
        *other = std::move(f);
        other->offset = at;
      }
      again = true;
      break;
    }
    if (!again) kept.push_back(std::move(f));
  }
  findings = std::move(kept);
}

Inspection finished(std::vector<InspectFinding> findings) {
  tidy(findings);
  Inspection result;
  result.cut = findings.size() > kMostFindings;
  if (result.cut) {  // the worst are kept
    std::stable_sort(findings.begin(), findings.end(), [](const auto& a, const auto& b) { return a.level > b.level; });
    findings.resize(kMostFindings);
    tidy(findings);
  }
  result.findings = std::move(findings);
  return result;
}

}  // namespace inspect

struct Inspector::State {
  Examiner examiner;
  std::string window;
  std::size_t base = 0;  // of the window in the stream
  std::vector<InspectFinding> findings;

  void examine(std::string_view text) {
    examiner.examine(text, base, findings);
    if (findings.size() > 4 * kMostFindings) findings = inspect::finished(std::move(findings)).findings;
  }
};

Inspector::Inspector(std::unique_ptr<State> state) : state_(std::move(state)) {}
Inspector::Inspector(Inspector&&) noexcept = default;
Inspector& Inspector::operator=(Inspector&&) noexcept = default;
Inspector::~Inspector() = default;

Result<Inspector> Inspector::create(InspectOptions options) {
  TRY_SET(Examiner examiner, Examiner::create(options, Examiner::Source::kText));
  auto state = std::make_unique<State>(State{std::move(examiner), {}, 0, {}});
  return Inspector(std::move(state));
}

void Inspector::feed(std::string_view piece) {
  State& s = *state_;
  while (!piece.empty()) {
    std::size_t taken = std::min(piece.size(), kWindow + kOverlap - s.window.size());
    s.window += piece.substr(0, taken);
    piece.remove_prefix(taken);
    if (s.window.size() < kWindow + kOverlap) return;
    s.examine(s.window);
    // Begin the next at a line, so that commands and keys are whole in one of the two.
    std::size_t keep = s.window.size() - kOverlap;
    if (auto line = s.window.find('\n', keep); line != s.window.npos && line < keep + kOverlap / 2) keep = line + 1;
    s.window.erase(0, keep);
    s.base += keep;
  }
}

Inspection Inspector::finish() {
  State& s = *state_;
  s.examine(s.window);
  if (s.base == 0 && inspect::is_command_text(s.window))
    s.examiner.examine_command(s.window, inspect::CommandPlace::kShown, s.findings);
  s.window.clear();
  s.base = 0;
  return inspect::finished(std::exchange(s.findings, {}));
}

Result<Inspection> inspect_text(std::string_view text, const InspectOptions& options) {
  TRY_SET(Inspector inspector, Inspector::create(options));
  inspector.feed(text);
  return inspector.finish();
}

Result<Inspection> inspect_command(std::string_view command, const InspectOptions& options) {
  TRY_SET(Examiner examiner, Examiner::create(options, Examiner::Source::kText));
  TRY_SET(Inspection result, inspect_text(command, options));
  std::vector<InspectFinding> findings = std::move(result.findings);
  // A secret in a command goes wherever the command goes.
  examiner.examine_command(command, inspect::CommandPlace::kToRun, findings);
  return inspect::finished(std::move(findings));
}

}  // namespace hotcell
