#include "manager/inspect_output.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "core/policy/stages.h"
#include "sys/uuid.h"

namespace hotcell {
namespace {

constexpr std::array<std::string_view, 5> kLevels = {"none", "low", "medium", "high", "critical"};
constexpr std::size_t kMedium = 2;

std::size_t level_of(std::string_view name) {
  return static_cast<std::size_t>(std::find(kLevels.begin(), kLevels.end(), name) - kLevels.begin());
}
bool counts(const OutputFinding& f) { return level_of(f.level) >= kMedium; }

struct Piece {
  std::string stream;
  std::string* text;
};

std::vector<Piece> pieces_of(Report& report) {
  std::vector<Piece> out = {{"stdout", &report.out}, {"stderr", &report.err}};
  if (report.compile) out.push_back({"compile", &report.compile->err});
  for (auto& o : report.outputs)
    if (o.type != RichType::kPng) out.push_back({o.name, &o.bytes});
  std::erase_if(out, [](const Piece& p) { return p.text->empty(); });
  return out;
}

// The child reads hostile text: what it says is what a child would say, or it is nothing.
Result<OutputFinding> finding_of(const Piece& piece, InspectPart& part) {
  if (level_of(part.level) >= kLevels.size()) return make_error(ErrorCode::kInternal, "the inspector's answer makes no sense");
  OutputFinding f;
  f.stream = piece.stream;
  f.kind = printable(part.kind);
  f.type = printable(part.type);
  f.level = part.level;
  f.rule = printable(part.rule);
  f.message = printable(part.message);
  f.snippet = std::move(part.snippet);
  f.offset = std::min<std::uint64_t>(part.offset, piece.text->size());
  return f;
}

Result<void> look(const std::vector<Piece>& pieces, const OutputOrder& order, const StartInspector& start, OutputInspection& out) {
  if (pieces.empty()) return {};
  TRY_SET(auto child, start());
  std::size_t worst = 0;
  for (const auto& piece : pieces) {
    InspectQuestion question;
    question.allowed_domains = order.allowed_domains;
    question.rules = order.rules;
    question.as_parts = true;
    question.text = *piece.text;
    auto answer = child->ask(question);
    if (!answer.ok()) return std::move(answer).error().context(piece.stream);
    out.cut = out.cut || answer.value().cut;
    for (auto& part : answer.value().parts) {
      TRY_SET(OutputFinding f, finding_of(piece, part));
      worst = std::max(worst, level_of(f.level));
      out.findings.push_back(std::move(f));
    }
  }
  out.level = kLevels[worst];
  return {};
}

// How the program itself ended, so that nobody takes a withheld output for a failure of it.
std::string ended(const Verdict& v) {
  switch (v.reason) {
    case ExitReason::kExited: return cat("the program ran and exited with ", v.exit_code.value_or(0));
    case ExitReason::kSignal: return cat("the program ran and ended by signal ", v.signal.value_or(0));
    case ExitReason::kCompileError:
    case ExitReason::kVerification:
    case ExitReason::kSandboxError: return cat("the program did not run (", to_string(v.reason), ")");
    default: return cat("the program ran and was stopped (", to_string(v.reason), ")");
  }
}

// The worst of them, and how many there are: "3 findings, the worst critical: prompt_injection in stdout [override-previous]".
std::string summary(const OutputInspection& i) {
  auto worst = std::max_element(i.findings.begin(), i.findings.end(),
                                [](const auto& a, const auto& b) { return level_of(a.level) < level_of(b.level); });
  if (worst == i.findings.end()) return {};
  auto what = cat(worst->level, ": ", worst->type, " in ", printable(worst->stream), " [", worst->rule, "]");
  if (i.findings.size() == 1) return cat("one finding, ", what);
  return cat(i.cut ? "more than " : "", i.findings.size(), " findings, the worst ", what);
}

void withhold(Report& report, OutputInspection& inspection) {
  report.out.clear(), report.err.clear();
  report.outputs.clear();  // pictures, too: nobody can read those, and the same program drew them
  if (report.compile) report.compile->err.clear(), report.compile->diagnostics.clear();
  // A compiler's own words are also in these: `#error` and `#warning` say what the source wants them to.
  if (report.verdict.reason == ExitReason::kCompileError) report.error.clear();
  for (auto& f : report.findings) {
    f.snippet.clear();
    if (report.compile && f.severity == "info") f.message = "withheld";
  }
  for (auto& f : inspection.findings) f.snippet.clear();
  inspection.withheld = true;
}

void mark(const std::vector<Piece>& pieces, OutputInspection& i) {
  i.mark = cat("[hotcell ", sys::random_uuid().substr(0, 8));
  for (const auto& piece : pieces) {
    std::vector<const OutputFinding*> here;
    for (const auto& f : i.findings)
      if (f.stream == piece.stream && counts(f)) here.push_back(&f);
    if (!here.empty()) *piece.text = marked_text(*piece.text, here, i.mark);
  }
}

}  // namespace

OutputOrder output_order(InspectMode asked, const Policy& policy) {
  OutputOrder order;
  order.mode = std::max(asked, inspect_stage(policy));
  if (policy.network.mode != NetworkMode::kProxy) return order;
  // Ports, networks and lists by name mean nothing to an inspector.
  for (const auto& host : policy.network.allow)
    if (host.find_first_of("@:/") == host.npos) order.allowed_domains.push_back(host);
  return order;
}

std::string marked_text(std::string_view text, const std::vector<const OutputFinding*>& findings, std::string_view mark) {
  std::string out;
  std::size_t done = 0;
  for (std::size_t i = 0; i < findings.size();) {
    auto at = std::min<std::size_t>(findings[i]->offset, text.size());
    auto before = at == 0 ? text.npos : text.rfind('\n', at - 1);
    auto begin = std::max(done, before == text.npos ? 0 : before + 1);
    std::size_t end = begin;
    std::string above;
    // What begins on the same lines is told in one place.
    for (; i < findings.size() && (end == begin || findings[i]->offset < end); ++i) {
      const auto& f = *findings[i];
      above += cat(mark, ": ", f.level, " ", f.type, " (", f.rule, "): ", f.message, "]\n");
      auto last = std::min<std::size_t>(f.offset + std::max<std::size_t>(f.snippet.size(), 1) - 1, text.size());
      auto line_end = text.find('\n', last);
      end = std::max(end, line_end == text.npos ? text.size() : line_end + 1);
    }
    out += cat(text.substr(done, begin - done), above, text.substr(begin, end - begin));
    if (!out.ends_with('\n')) out += '\n';
    out += cat(mark, ": end]\n");
    done = end;
  }
  return out += text.substr(done);
}

std::optional<OutputInspection> inspect_output(Report& report, const OutputOrder& order, const StartInspector& start) {
  if (order.mode == InspectMode::kOff) return std::nullopt;
  OutputInspection i;
  i.mode = order.mode;
  auto pieces = pieces_of(report);
  if (auto looked = look(pieces, order, start, i); !looked.ok()) {
    i.findings.clear();  // half of an answer is none
    i.level = "none";
    i.failure = looked.error().message;
    if (holds_output(order.mode)) withhold(report, i);
    i.message = i.withheld ? cat("the output could not be inspected and is withheld: ", i.failure, "; ", ended(report.verdict))
                           : cat("the output could not be inspected: ", i.failure);
    return i;
  }
  if (i.findings.empty()) return i;
  const bool act = std::any_of(i.findings.begin(), i.findings.end(), counts);
  if (act && order.mode == InspectMode::kBlock) {
    i.message = cat("the output is withheld: ", summary(i), "; ", ended(report.verdict));
    withhold(report, i);
  } else if (act && order.mode == InspectMode::kMark) {
    mark(pieces, i);
    i.message = cat("found in the output, and marked there by ", i.mark, "]: ", summary(i));
  } else {
    i.message = cat("found in the output: ", summary(i));
  }
  return i;
}

}  // namespace hotcell
