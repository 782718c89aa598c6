// Output is bounded while it flows. Past the limit a program is killed, or goes on with the rest counted and dropped;
// either way the caller holds no more than the limit. OutputBuffer is the same for any other stream.
#include <cstdio>
#include <string>

#include "hotcell/launcher.h"
#include "hotcell/output_buffer.h"

using namespace hotcell;

namespace {

Result<Report> flood(OnOutput what_then, const char* script) {
  Policy policy = default_policy();
  policy.limits.output = 64_KiB;
  policy.on_output = what_then;
  Request request;
  request.argv = {"/bin/sh", "-c", script};
  TRY_SET(auto launcher, Launcher::create());
  TRY_SET(Report report, launcher->run(policy, request));
  std::printf("%-28s %s: kept %zu of %llu bytes%s\n", script, std::string(to_string(report.verdict.reason)).c_str(), report.out.size(),
              static_cast<unsigned long long>(report.out_bytes), report.out_truncated ? ", truncated" : "");
  return report;
}

Result<bool> show() {
  TRY_SET(Report killed, flood(OnOutput::kKill, "yes"));
  TRY_SET(Report cut, flood(OnOutput::kTruncate, "head -c 1000000 /dev/zero"));
  TRY_SET(Report small, flood(OnOutput::kKill, "echo a few words"));
  return killed.verdict.reason == ExitReason::kOutput && killed.out.size() == 64 << 10 && killed.out_truncated &&
         cut.verdict.status() == RunStatus::kCompleted && cut.out.size() == 64 << 10 && cut.out_bytes == 1'000'000 && cut.out_truncated &&
         small.verdict.status() == RunStatus::kCompleted && small.out == "a few words\n" && !small.out_truncated;
}

bool show_buffer() {
  OutputBuffer buffer(64_KiB);
  const std::string chunk(1000, 'x');
  while (!buffer.truncated()) buffer.append(chunk);
  std::printf("%-28s stopped at %llu bytes, kept %zu\n", "OutputBuffer", static_cast<unsigned long long>(buffer.total()), buffer.text().size());
  return buffer.total() == 66'000 && buffer.text().size() == 64 << 10;
}

}  // namespace

int main() {
  auto held = show();
  if (!held.ok()) std::fprintf(stderr, "%s\n", held.error().message.c_str());
  return held.ok() && held.value() && show_buffer() ? 0 : 1;
}
