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

constexpr std::size_t kMostKnown = 64;  // a daemon may be asked with ever other limits

const LayerReport* find_layer(const std::vector<LayerReport>& list, Layer layer) {
  auto it = std::find_if(list.begin(), list.end(), [&](const LayerReport& r) { return r.layer == layer; });
  return it == list.end() ? nullptr : &*it;
}

// What is seen from inside where a statement is held.
std::vector<Layer> layers_of(const Held& held, const Policy& policy) {
  bool full = held.status == LayerStatus::kFull;
  if (held.statement == "files") return full ? std::vector{Layer::kMountNs, Layer::kRootfs} : std::vector{Layer::kMountNs};
  if (held.statement == "network" && policy.network.mode != NetworkMode::kHost) return {Layer::kNetNs};
  if (held.statement == "syscalls" && full) return {Layer::kSeccomp};
  if (held.statement == "processes") return {Layer::kPidNs};
  if (held.statement == "identity") return full ? std::vector{Layer::kUserNs, Layer::kCapabilities, Layer::kNoNewPrivs} : std::vector{Layer::kCapabilities, Layer::kNoNewPrivs};
  return {};
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

Result<void> check_promises(const Backend& backend, const Policy& policy, const std::vector<std::string>& waived, const Posture& found) {
  if (!backend.walls()) return {};
  for (const auto& h : backend.judge(policy)) {
    if (h.status == LayerStatus::kNone || std::find(waived.begin(), waived.end(), h.statement) != waived.end()) continue;
    for (Layer layer : layers_of(h, policy)) {
      const LayerReport* l = find_layer(found.walls, layer);
      // A bounding set that is not empty is a matter of degree, and told.
      if (l != nullptr && (l->status == LayerStatus::kFull || (layer == Layer::kCapabilities && l->status == LayerStatus::kPartial))) continue;
      return make_error(ErrorCode::kUnsupported, cat("backend ", backend.name(), " does not hold here what it should: ", h.statement, ": ", to_string(layer), " is ",
                                                     l == nullptr ? "none" : to_string(l->status), " as seen from inside", l == nullptr ? "" : cat(" (", l->detail, ")"),
                                                     "; nothing was run (--waive ", h.statement, " does without)"));
    }
  }
  return {};
}

Result<void> check_required(const Policy& policy, const Posture& found) {
  for (Layer layer : policy.required) {
    const LayerReport* l = find_layer(found.walls, layer);
    if (l == nullptr) l = find_layer(found.limits, layer);
    if (l != nullptr && l->status == LayerStatus::kFull) continue;
    return make_error(ErrorCode::kUnsupported, cat("required layer ", to_string(layer), " is ", l == nullptr ? "none" : to_string(l->status), " here: ",
                                                   l == nullptr ? "not of this backend" : l->detail));
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

Result<Posture> Postures::of(const Backend& backend, const Policy& policy, const std::string& tool, Nanoseconds patience, const Open& open) {
  if (tool != tool_) known_.clear();
  tool_ = tool;
  for (const auto& [known, found] : known_)
    if (known == policy) return found;
  TRY_SET(auto launcher, open());
  Request request;
  request.argv = posture_command();
  auto ran = launcher->run(posture_policy(policy, patience), std::move(request));
  if (!ran.ok() && ran.error().code == ErrorCode::kIo) return make_error(ErrorCode::kUnsupported, cat("backend ", backend.name(), " does not work here: ", ran.error().message));
  TRY_SET(Report report, std::move(ran));
  if (report.verdict.reason != ExitReason::kExited || report.verdict.exit_code != 0)
    return make_error(ErrorCode::kUnsupported, cat("backend ", backend.name(), " does not work here: ", ended(report, patience)));
  if (known_.size() >= kMostKnown) known_.erase(known_.begin());
  Posture found{read_posture(report.out, backend), std::move(report.enforcement.layers), has_own_kernel(report.out)};
  found.walls.push_back(read_rlimits(report.out, policy.limits));
  known_.emplace_back(policy, std::move(found));
  return known_.back().second;
}

}  // namespace hotcell::backends
