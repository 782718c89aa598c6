#include "backends/walls.h"

#include <algorithm>

#include "backends/posture.h"
#include "base/strings.h"
#include "core/policy/units.h"

namespace hotcell::backends {
namespace {

// For the run that reads them back.
Policy posture_policy(const Policy& policy, Nanoseconds patience) {
  Policy like = policy;
  like.required.clear();
  like.filesystem.grants.clear();
  like.limits.wall = patience;
  like.limits.cpu_time = std::max<Nanoseconds>(like.limits.cpu_time, patience);  // gVisor's own start takes more than some programs may
  like.limits.output = 64_KiB;
  like.limits.processes = std::max<std::uint32_t>(like.limits.processes, 8);
  return like;
}

std::string ended(const Report& report, Nanoseconds patience) {
  if (report.verdict.reason == ExitReason::kTimeoutWall) return cat("it gave no answer within ", format_duration(patience), " and was ended");
  std::string_view said = trim(report.err);
  said = said.substr(said.rfind('\n') == said.npos ? 0 : said.rfind('\n') + 1);
  return cat("it ended with ", to_string(report.verdict.reason), report.verdict.exit_code ? cat(" ", *report.verdict.exit_code) : "", said.empty() ? "" : ": ",
             printable(said.substr(0, 300)));
}

}  // namespace

Result<void> refuse_unheld(const Backend& backend, const Policy& policy, const std::vector<std::string>& waived) {
  TRY(check_waivers(waived));
  for (const auto& h : unheld(backend, policy, waived)) {
    if (h.status != LayerStatus::kNone) continue;
    return make_error(ErrorCode::kUnsupported, cat("backend ", backend.name(), " cannot hold this policy: ", h.statement, ": ", h.detail,
                                                   " (--waive ", h.statement, " does without)"));
  }
  return {};
}

Result<void> check_required(const Policy& policy, const std::vector<LayerReport>& walls) {
  for (Layer layer : policy.required) {
    auto it = std::find_if(walls.begin(), walls.end(), [&](const LayerReport& r) { return r.layer == layer; });
    bool ours = layer == Layer::kMemory || layer == Layer::kCpu;
    if (ours || (it != walls.end() && it->status == LayerStatus::kFull)) continue;
    return make_error(ErrorCode::kUnsupported, cat("required layer ", to_string(layer), " is ", it == walls.end() ? "none" : to_string(it->status), " here: ",
                                                   it == walls.end() ? "not of this backend" : it->detail));
  }
  return {};
}

std::vector<Denial> told_waivers(const Backend& backend, const Policy& policy, const std::vector<std::string>& waived) {
  std::vector<Denial> out;
  for (const auto& h : backend.judge(policy))
    if (std::find(waived.begin(), waived.end(), h.statement) != waived.end())
      out.push_back({"waiver", cat(h.statement, " was waived: ", h.detail), h.statement, "", 1});
  return out;
}

Result<std::vector<LayerReport>> Postures::of(const Backend& backend, const Policy& policy, Nanoseconds patience, const Open& open) {
  for (const auto& [known, walls] : known_)
    if (known == policy) return walls;
  TRY_SET(auto launcher, open());
  Request request;
  request.argv = posture_command();
  TRY_SET(Report report, launcher->run(posture_policy(policy, patience), std::move(request)));
  if (report.verdict.reason != ExitReason::kExited || report.verdict.exit_code != 0)
    return make_error(ErrorCode::kUnsupported, cat("backend ", backend.name(), " does not work here: ", ended(report, patience)));
  known_.emplace_back(policy, read_posture(report.out, backend));
  return known_.back().second;
}

}  // namespace hotcell::backends
