#include "cli/doctor_report.h"

#include <algorithm>

#include "base/json_write.h"
#include "base/strings.h"

namespace hotcell {
namespace {

constexpr std::string_view kGreen = "\x1b[32m", kYellow = "\x1b[33m", kRed = "\x1b[31m", kBold = "\x1b[1m",
                           kPlain = "\x1b[0m";
constexpr std::size_t kStateWidth = 9, kNameWidth = 22;

// The fact that explains a layer; the rest carry the fact's own name.
std::string_view fact_for(Layer layer) {
  switch (layer) {
    case Layer::kRootfs:
      return "mount_ns";
    case Layer::kLandlockBroad:
    case Layer::kLandlock:
      return "landlock_abi";
    case Layer::kSeccomp:
      return "seccomp_filter";
    case Layer::kRlimits:
      return "raise_limits";
    case Layer::kMemory:
      return "cgroup_memory";
    case Layer::kCpu:
      return "cgroup_cpu";
    case Layer::kProcesses:
      return "cgroup_pids";
    case Layer::kDisk:
      return "mount_ns";
    case Layer::kGroups:
      return "supplementary_groups";
    default:
      return to_string(layer);
  }
}

std::string advice_for(const sys::Facts& facts, const LayerReport& layer) {
  if (layer.status == LayerStatus::kFull) return "";
  const sys::Fact* fact = facts.find(fact_for(layer.layer));
  return fact == nullptr ? "" : fact->advice;
}

struct Painter {
  bool colour;
  std::string state(std::string_view word, std::string_view with) const {
    std::string padded(word);
    padded.resize(std::max(kStateWidth, padded.size() + 1), ' ');
    return colour ? cat(with, padded, kPlain) : padded;
  }
  std::string title(std::string_view text) const { return colour ? cat(kBold, text, kPlain) : std::string(text); }
};

std::string entry(const std::string& state, std::string_view name, std::string_view value, std::string_view reason,
                  std::string_view advice) {
  const std::string indent(2 + kStateWidth + kNameWidth, ' ');
  std::string padded(name);
  padded.resize(std::max(kNameWidth, padded.size() + 1), ' ');
  // The first thing there is to say stands on the line of the name, the others below it.
  std::string out = cat("  ", state, padded);
  bool first = true;
  for (const std::string& text :
       {printable(value), printable(reason), advice.empty() ? "" : cat("-> ", printable(advice))}) {
    if (text.empty()) continue;
    out += first ? text : cat("\n", indent, text);
    first = false;
  }
  while (out.ends_with(' ')) out.pop_back();
  return out + "\n";
}

std::string_view heading(std::string_view group) {
  if (group == "landlock") return "Landlock";
  if (group == "seccomp") return "seccomp";
  if (group == "cgroups") return "cgroups";
  if (group == "kernel") return "Kernel and user";
  if (group == "namespaces") return "Namespaces";
  if (group == "limits") return "Limits and switches";
  return "Backends";
}

}  // namespace

DoctorReport make_doctor_report(sys::Facts facts, const Result<Report>& trial) {
  DoctorReport out;
  out.facts = std::move(facts);
  if (!trial.ok()) {
    out.error = trial.error().message;
    return out;
  }
  const Report& report = trial.value();
  out.backend = report.enforcement.backend;
  const bool ran = report.verdict.reason == ExitReason::kExited && report.verdict.exit_code == 0;
  if (!ran)
    out.error = report.error.empty() ? cat("/bin/true ended with ", to_string(report.verdict.reason)) : report.error;
  out.ok = ran && !report.enforcement.layers.empty();
  for (const LayerReport& layer : report.enforcement.layers) {
    // AppArmor and SELinux are one more wall where a host has them, not one that every host should have.
    if (layer.status == LayerStatus::kNone && layer.layer != Layer::kLsm) out.ok = false;
    out.layers.push_back({layer, advice_for(out.facts, layer)});
  }
  return out;
}

std::string doctor_text(const DoctorReport& report, bool colour) {
  const Painter paint{colour};
  std::string out, group;
  for (const sys::Fact& f : report.facts.all) {
    if (f.group != group) {
      out += cat(out.empty() ? "" : "\n", paint.title(heading(f.group)), "\n");
      group = f.group;
    }
    const std::string_view with = f.have == sys::Have::kYes ? kGreen : f.have == sys::Have::kPartial ? kYellow : kRed;
    out += entry(paint.state(to_string(f.have), with), f.name, f.value, f.reason, f.advice);
  }
  out += cat("\n", paint.title("Layers in force for a default cell here"),
             report.backend.empty() ? "" : cat(" (", report.backend, ")"), "\n");
  for (const LayerAdvice& l : report.layers) {
    const auto status = l.report.status;
    const std::string_view with = status == LayerStatus::kFull      ? kGreen
                                  : status == LayerStatus::kPartial ? kYellow
                                                                    : kRed;
    out += entry(paint.state(to_string(status), with), to_string(l.report.layer), l.report.detail, "", l.advice);
  }
  if (!report.error.empty()) out += cat("  a default cell did not run: ", printable(report.error), "\n");
  out += cat(
      "\n", report.ok ? "A default cell runs here with every layer." : "A default cell does not have every layer here.",
      "\n");
  return out;
}

std::string doctor_json(const DoctorReport& report) {
  JsonWriter w(JsonStyle::kPretty);
  w.begin_object();
  w.field("ok", report.ok);
  w.key("facts");
  w.begin_array();
  for (const sys::Fact& f : report.facts.all) {
    w.begin_object();
    w.field("group", f.group);
    w.field("name", f.name);
    w.field("have", to_string(f.have));
    w.field("value", f.value);
    w.field("reason", f.reason);
    w.field("advice", f.advice);
    w.end_object();
  }
  w.end_array();
  w.key("cell");
  w.begin_object();
  w.field("error", report.error);
  w.field("backend", report.backend);
  w.key("layers");
  w.begin_array();
  for (const LayerAdvice& l : report.layers) {
    w.begin_object();
    w.field("name", to_string(l.report.layer));
    w.field("status", to_string(l.report.status));
    w.field("detail", l.report.detail);
    w.field("advice", l.advice);
    w.end_object();
  }
  w.end_array();
  w.end_object();
  w.end_object();
  return w.take() + "\n";
}

}  // namespace hotcell
