#include "manager/code_runner.h"

#include <array>

#include "manager/remote_proxy.h"

namespace hotcell {

void CodeRunner::keep(Workers::Tools& tools, const Language& language, const Policy& policy, MayRaise raise,
                      std::size_t count) {
  PipelineOptions o;
  o.cache_folder = cache_folder_;
  Pipeline pipeline(tools.launcher, std::move(o));
  std::lock_guard lock(mutex_);
  warm_.keep(tools.launcher, pipeline, language, policy, raise, count).ignore("programs start cold then");
}

Result<Report> CodeRunner::run(const std::shared_ptr<LiveExecution>& live, Workers::Tools& tools, OnUsage usage) {
  Job& job = live->job;
  if (!job.source) return start(live, tools, std::move(usage));
  PipelineOptions o;
  o.verify = job.spec.verify;
  o.cache_folder = cache_folder_;
  o.verifier = &tools.verifier;
  o.cancelled = [&live] { return live->cancelled.load(); };
  Pipeline pipeline(tools.launcher, std::move(o));
  TRY_SET(Prepared prepared, pipeline.prepare(*job.source, job.policy, job.request));
  live->verified_in = prepared.verified_in;
  if (prepared.stopped) {
    Report report = *std::move(prepared.stopped);
    prepared.stopped.reset();
    pipeline.complete(std::move(prepared), report);
    return report;
  }
  {
    std::lock_guard lock(mutex_);
    if (job.policy.warm) warm_.offer(*job.source, job.policy, job.request);
  }
  TRY_SET(Report report, start(live, tools, std::move(usage)));
  pipeline.complete(std::move(prepared), report);
  return report;
}

Result<Report> CodeRunner::start(const std::shared_ptr<LiveExecution>& live, Workers::Tools& tools, OnUsage usage) {
  Job& job = live->job;
  Request& request = job.request;
  if (!request.runtime || job.source->language->warm.arguments) request.id = live->record.id;
  // Cleaned of secrets that came back in a way the proxy could not see.
  auto scrubs = std::make_shared<std::array<net::Scrub, 2>>(std::array{net::Scrub(job.secrets), net::Scrub(job.secrets)});
  auto pass_on = [this, live](Stream stream, std::string text) {
    if (!text.empty()) loop_.post([live, stream, text = std::move(text)] { live->output(stream, text); });
  };
  if (!holds_output(job.inspect.mode))
    request.on_output = [scrubs, pass_on](Stream stream, std::string_view bytes) { pass_on(stream, (*scrubs)[stream == Stream::kStdout ? 0 : 1].push(bytes)); };
  auto on_event = [this, live](const Event& e) { loop_.post([live, e] { live->event(e); }); };
  request.on_event = on_event;
  request.on_usage = [this, usage = std::move(usage)](const LiveUsage& u) { loop_.post([usage, u] { usage(u); }); };
  std::optional<RemoteProxy> proxy;
  if (job.policy.network.mode == NetworkMode::kProxy) {
    TRY(proxy.emplace(tools.readers).start());
    if (!job.secrets.empty()) TRY(proxy->add_secrets(job.secrets, job.policy, request));
    request.on_network = [&](int door, int dns) { proxy->serve(job.policy.network, door, dns); };
  }
  std::optional<Result<Report>> out;
  TRY_SET(RunId id, tools.launcher.start(job.policy, std::move(request),
                                         [&](RunId, Result<Report> r) { out.emplace(std::move(r)); }));
  bool stopped = false;
  while (!out) {
    if (!stopped && live->cancelled) {
      tools.launcher.cancel(id);
      stopped = true;
    }
    TRY(tools.launcher.step(std::chrono::milliseconds(100)));
    if (proxy && !out) proxy->keep(journal_folder_, live->record.id);
  }
  live->from_stock = tools.launcher.last_from_stock();
  if (!out->ok()) return std::move(*out).error();
  Report report = std::move(*out).value();
  report.id = live->record.id;
  if (!job.secrets.empty()) {
    pass_on(Stream::kStdout, (*scrubs)[0].finish());
    pass_on(Stream::kStderr, (*scrubs)[1].finish());
    for (auto* text : {&report.out, &report.err}) *text = net::scrubbed(*text, job.secrets);
    for (auto& o : report.outputs) o.bytes = net::scrubbed(o.bytes, job.secrets);
  }
  if (proxy) proxy->conclude(report, journal_folder_, on_event);
  return report;
}

}  // namespace hotcell
