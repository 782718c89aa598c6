#include "cli/doctor_attack.h"

#include <unistd.h>

#include <algorithm>
#include <memory>

#include "backends/tool_launcher.h"
#include "base/json_write.h"
#include "base/strings.h"
#include "cli/doctor_control.h"
#include "cli/doctor_scene.h"
#include "cli/say.h"
#include "hotcell/launcher.h"
#include "sys/file.h"

namespace hotcell {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kProgramAtMost = 16 << 20;
// How late the answer may come after the deadline, and how long an orphan may hold it up (it sleeps for 20 s).
constexpr milliseconds kLate{1500};
constexpr milliseconds kOrphanGrace{6000};

bool is_among(ExitReason reason, std::span<const ExitReason> list) {
  return std::find(list.begin(), list.end(), reason) != list.end();
}

// Which layer answered: the denials know it exactly, the row only by expectation.
std::string stopped_by(const AttackRow& row, const Report& report) {
  std::vector<std::string> layers;
  for (const Denial& d : report.denials)
    if (std::find(layers.begin(), layers.end(), d.layer) == layers.end()) layers.push_back(d.layer);
  if (layers.empty()) return std::string(row.wall);
  for (const auto& layer : layers)
    if (row.wall.find(layer) == std::string_view::npos) return cat(row.wall, ", ", join(layers, ", "));
  return std::string(row.wall);
}

std::string ending(const Report& report) {
  if (report.verdict.signal) return cat(to_string(report.verdict.reason), ", signal ", *report.verdict.signal);
  if (report.verdict.exit_code) return cat(to_string(report.verdict.reason), " with ", *report.verdict.exit_code);
  return std::string(to_string(report.verdict.reason));
}

Policy policy_for(const AttackRow& row) {
  Policy policy = default_policy();
  policy.limits.wall = seconds(20);
  if (row.limit != nullptr) row.limit(policy);
  return policy;
}

AttackOutcome attack_once(Launcher& launcher, const AttackRow& row, const std::string& program, Scene& scene) {
  const Policy policy = policy_for(row);
  Request request;
  request.argv = {"/work/attack"};
  for (auto& word : scene.words(row.command)) request.argv.push_back(std::move(word));
  request.files.push_back({"attack", program, 0755});
  auto began = std::chrono::steady_clock::now();
  auto report = launcher.run(policy, std::move(request));
  const auto took = duration_cast<milliseconds>(std::chrono::steady_clock::now() - began);
  AttackOutcome out;
  if (report.ok()) {
    // Our own clock, not the report's: what counts is when the caller had the answer.
    report.value().duration = took;
    out = judge_attack(row, report.value(), scene.damage(), policy.limits.wall);
  } else {
    out.name = row.name;
    out.detail = cat("the cell did not start: ", report.error().message);
  }
  out.milliseconds = took.count();
  return out;
}

std::string_view colour_of(Held held) {
  return held == Held::kHeld ? "\x1b[32m" : held == Held::kPartial ? "\x1b[33m" : "\x1b[31m";
}

std::string padded(std::string_view text, std::size_t width) {
  std::string out = printable(text);
  if (out.size() > width) out = out.substr(0, width - 1) + "+";
  out.resize(width, ' ');
  return out;
}

void print_row(const AttackOutcome& o, bool colour) {
  std::string line = cat(padded(o.name, 29), padded(o.stopped_by, 28));
  const std::string verdict = padded(to_string(o.held), 9);
  line += colour ? cat(colour_of(o.held), verdict, "\x1b[0m") : verdict;
  std::string ms = cat(o.milliseconds);
  line += cat(std::string(ms.size() < 6 ? 6 - ms.size() : 0, ' '), ms, " ms  ");
  // What went wrong is shown whole; what held is only sketched, --json has all of it.
  std::string detail = printable(o.detail);
  if (o.held == Held::kHeld && detail.size() > 60) detail = detail.substr(0, 57) + "...";
  print(cat(line, detail, "\n"));
}

std::string as_json(const std::vector<AttackOutcome>& all, bool held) {
  JsonWriter w(JsonStyle::kPretty);
  w.begin_object();
  w.field("held", held);
  w.key("attacks");
  w.begin_array();
  for (const auto& o : all) {
    w.begin_object();
    w.field("name", o.name);
    w.field("stopped_by", o.stopped_by);
    w.field("verdict", to_string(o.held));
    w.field("detail", o.detail);
    w.field("milliseconds", o.milliseconds);
    w.end_object();
  }
  w.end_array();
  w.end_object();
  return w.take() + "\n";
}

Result<std::vector<AttackOutcome>> attack_all(const AttackOptions& options, const std::string& program) {
  // Before the launcher: the victim and the leaked descriptors must be there when it starts.
  TRY_SET(Scene scene, Scene::set());
  LauncherOptions launch;
  launch.backend = options.backend;
  std::unique_ptr<Launcher> launcher;
  if (!options.control) {
    TRY_SET(launcher, backends::open_backend(options.backend, launch, {{}, true, options.settings}));
  }
  std::vector<AttackOutcome> all;
  if (!options.json) print(cat(padded("attack", 29), padded("stopped by", 28), padded("verdict", 11), "  time\n"));
  for (const AttackRow& row : attack_rows()) {
    if (!options.only.empty() && row.name != options.only) continue;
    if (options.control && row.control.empty()) continue;
    all.push_back(options.control ? attack_outside(row, program, scene) : attack_once(*launcher, row, program, scene));
    TRY(scene.mend());
    if (!options.json) print_row(all.back(), options.colour);
  }
  if (all.empty()) return make_error(ErrorCode::kNotFound, cat("no attack is called ", options.only));
  return all;
}

}  // namespace

std::string_view to_string(Held held) {
  switch (held) {
    case Held::kHeld:
      return "held";
    case Held::kPartial:
      return "partial";
    case Held::kNotHeld:
      return "NOT HELD";
  }
  return "NOT HELD";
}

AttackLine parse_attack_line(std::string_view output) {
  AttackLine out;
  for (std::string_view line : split(output, '\n')) {
    if (!line.starts_with("RESULT ")) continue;
    auto parts = split(line, ' ');
    if (parts.size() < 3) continue;
    out.word = parts[2];
    const std::size_t head = 7 + parts[1].size() + 1 + parts[2].size();
    out.detail = head < line.size() ? line.substr(head + 1) : "";
  }
  return out;
}

AttackOutcome judge_attack(const AttackRow& row, const Report& report, const std::vector<std::string>& damage,
                           Nanoseconds wall_limit) {
  AttackOutcome out;
  out.name = row.name;
  out.stopped_by = stopped_by(row, report);
  const AttackLine line = parse_attack_line(report.out);
  const LayerReport* layer = report.enforcement.find(row.layer);
  const bool weak = layer != nullptr && layer->status == LayerStatus::kPartial;
  auto says = [&](Held held, std::string detail) {
    out.held = held;
    out.detail = std::move(detail);
    if (held == Held::kNotHeld) out.stopped_by = "nothing";
    return out;
  };
  if (!damage.empty()) return says(Held::kNotHeld, join(damage, ", "));
  if (report.verdict.reason == ExitReason::kSandboxError)
    return says(Held::kPartial, cat("the cell did not start: ", report.error));
  if (report.duration > wall_limit + kLate)
    return says(Held::kNotHeld,
                cat("the answer came ", duration_cast<milliseconds>(report.duration - wall_limit).count(),
                    " ms after the deadline"));
  if (line.word == "open") {
    if (weak)
      return says(Held::kPartial, cat(line.detail, "; ", to_string(row.layer), " is partial here: ", layer->detail));
    return says(Held::kNotHeld, line.detail);
  }
  if (is_among(report.verdict.reason, row.reasons)) return says(Held::kHeld, cat("killed: ", ending(report)));
  switch (row.judge) {
    case AttackJudge::kProgram:
      if (line.word == "blocked") return says(Held::kHeld, line.detail);
      if (line.word == "unclear") return says(Held::kPartial, cat("proves nothing: ", line.detail));
      return says(Held::kPartial, cat("ended before it could say: ", ending(report)));
    case AttackJudge::kLimit:
      return says(Held::kPartial, cat("ended by something else: ", ending(report)));
    case AttackJudge::kOutside:
      if (line.word == "blocked") return says(Held::kHeld, line.detail);
      if (line.word != "started") return says(Held::kPartial, cat("did not start: ", ending(report)));
      if (report.duration > kOrphanGrace) return says(Held::kNotHeld, "what it left behind held up the answer");
      return says(Held::kHeld, "nothing is left of it");
  }
  return out;
}

Result<std::string> find_attack_program(std::string_view self) {
  const std::string dir(self.substr(0, self.rfind('/')));
  for (const char* place : {"/hotcell-attack", "/../libexec/hotcell/hotcell-attack"}) {
    std::string path = dir + place;
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return make_error(ErrorCode::kNotFound,
                    cat("the attack program is neither in ", dir, " nor in ", dir, "/../libexec/hotcell"));
}

int run_attacks(const AttackOptions& options) {
  auto self = sys::read_link("/proc/self/exe");
  if (!self.ok()) return refuse(self.error());
  auto path = find_attack_program(self.value());
  if (!path.ok()) return refuse(path.error());
  std::string program = path.value();
  if (!options.control) {
    auto bytes = sys::read_file(path.value().c_str(), kProgramAtMost);
    if (!bytes.ok()) return refuse(bytes.error());
    program = std::move(bytes).value();
  }
  auto all = attack_all(options, program);
  if (!all.ok()) return refuse(std::move(all).error().context("attack"));
  std::size_t count[3] = {};
  for (const auto& o : all.value()) ++count[static_cast<std::size_t>(o.held)];
  const bool held = count[1] == 0 && count[2] == 0;
  if (options.json) {
    if (int failed = print(as_json(all.value(), held)); failed != 0) return failed;
  } else {
    if (options.control) print(cat(count[2], " of ", all.value().size(), " attacks work outside a cell\n"));
    else print(cat(count[0], " held, ", count[1], " partial, ", count[2], " not held\n"));
  }
  // Outside, success is the opposite: each attack must have gone through.
  if (options.control) return count[0] == 0 && count[1] == 0 ? 0 : 1;
  return held ? 0 : 1;
}

}  // namespace hotcell
