// Give a program some of the network. The cell has none but one door; what serves it is this process, by rules that are
// asked first, hold while the program runs, and tell afterwards what was refused and what would allow it.
#include <cstdio>

#include "hotcell/launcher.h"
#include "hotcell/proxy.h"

using namespace hotcell;

namespace {

Result<bool> show() {
  EgressProxyOptions options;
  options.rules.allow = {"*.example.org"};
  options.rules.block = {"secret.example.org"};
  for (const char* host : {"www.example.org", "secret.example.org", "elsewhere.test", "127.0.0.1"}) {
    TRY_SET(ProxyDecision d, check_host(options.rules, host));
    std::printf("%-20s %s: %s\n", host, d.allowed ? "allowed" : "refused", d.reason.c_str());
  }

  Policy policy = default_policy();
  policy.network.mode = NetworkMode::kProxy;
  Request request;
  request.argv = {"/bin/bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/3128 && printf 'CONNECT elsewhere.test:443 HTTP/1.1\\r\\nHost: elsewhere.test:443\\r\\n\\r\\n' >&3 && head -1 <&3"};
  Result<std::unique_ptr<EgressProxy>> proxy = make_error(ErrorCode::kInternal, "the cell had no door");
  request.on_network = [&](int door, int dns) { proxy = EgressProxy::serve(options, door, dns); };
  TRY_SET(auto launcher, Launcher::create());
  TRY_SET(Report report, launcher->run(policy, request));
  if (!proxy) return std::move(proxy).error();
  proxy.value()->close();
  std::printf("the program heard: %s", report.out.c_str());
  for (const auto& e : proxy.value()->log()) std::printf("log: %s %s:%u %s\n", e.method.c_str(), e.host.c_str(), e.port, e.reason.c_str());
  const auto denials = proxy.value()->denials();
  for (const auto& d : denials) std::printf("to allow it: %s\n", d.fix.c_str());
  return report.out.starts_with("HTTP/1.1 403") && denials.size() == 1 && denials[0].fix == "--allow-domain elsewhere.test" &&
         proxy.value()->stats().refused == 1;
}

}  // namespace

int main() {
  auto shown = show();
  if (!shown) std::fprintf(stderr, "%s\n", shown.error().message.c_str());
  return shown.ok() && shown.value() ? 0 : 1;
}
