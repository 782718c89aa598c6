// The egress proxy of one run, and what it is told.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/options.h"
#include "hotcell/policy.h"
#include "hotcell/report.h"
#include "hotcell/request.h"
#include "net/inserter.h"
#include "net/journal.h"
#include "net/proxy.h"

namespace hotcell {

// What the policy and the options say: rules, limits, names with addresses of their own. Without sockets.
Result<net::ProxyOptions> proxy_options(const Network& network, const Parsed& parsed);

// Of --map-host NAME=ADDRESS.
Result<std::map<std::string, std::vector<net::Address>>> mapped_names(const Parsed& parsed);

// The same as words for hotcell-proxy (net/door/order.h): the most that a lasting cell may reach.
Result<std::vector<std::string>> door_words(const Network& network, const Parsed& parsed);

// Of --secret NAME@HOST: that, and the value from this process's environment.
Result<std::map<std::string, std::string>> given_secrets(const Parsed& parsed);

// Serves the door of one cell, in a thread of its own, from the moment the cell has one.
class RunNetwork {
 public:
  // Sets up the request when the policy wants a proxy, and does nothing otherwise.
  Result<void> attach(const Policy& policy, const Parsed& parsed, Request& request);
  // When the cell is gone: what was refused and asked for goes into the report and events. The log is kept as it goes.
  void conclude(Report& report, const std::function<void(const Event&)>& on_event);
  // Secrets that came back in a way the proxy could not see.
  std::string clean(Stream stream, std::string_view bytes);
  std::string rest(Stream stream);
  bool has_secrets() const { return !secrets_.empty(); }

 private:
  Result<void> add_secrets(const Policy& policy, const Parsed& parsed, Request& request, Network& network);
  void scrub(net::LogEntry& entry) const;

  net::ProxyOptions options_;
  std::vector<net::Secret> secrets_;
  std::unique_ptr<net::Proxy> proxy_;
  std::unique_ptr<net::JournalKeeper> keeper_;  // of the proxy's log, with the secrets taken out: it goes before both
  net::Scrub out_, err_;
  std::string failed_, state_;
};

}  // namespace hotcell
