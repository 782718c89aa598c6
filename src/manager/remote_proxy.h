// The egress proxy of one run for a process that dials nobody itself: hotcell-proxy, started by the launcher, serves the
// cell's door. For a worker's thread.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/remote/remote_launcher.h"
#include "hotcell/policy.h"
#include "hotcell/report.h"
#include "hotcell/request.h"
#include "net/inserter.h"
#include "net/journal.h"
#include "sys/framed_child.h"

namespace hotcell {

class RemoteProxy {
 public:
  explicit RemoteProxy(RemoteLauncher& link) : link_(link) {}
  ~RemoteProxy() { end_tls(); }
  RemoteProxy(const RemoteProxy&) = delete;
  RemoteProxy& operator=(const RemoteProxy&) = delete;

  // Before the cell is there, so that a run that wants a network and cannot have one is refused.
  Result<void> start();
  // Then, before the request is handed on: a hotcell-tls beside it, and what the program needs of that.
  Result<void> add_secrets(std::vector<net::Secret> secrets, const Policy& policy, Request& request);
  // The cell's two sockets; as Request::on_network. When it fails the door stays shut, and conclude() says so.
  void serve(const Network& network, int door, int dns);
  // While the cell runs, as often as one likes: what was asked since goes into the log that is kept in `folder`, about once in a second.
  void keep(const std::string& folder, const std::string& run);
  // When the cell has ended: denials and events, and the log that is kept in `folder`.
  void conclude(Report& report, const std::string& folder, const std::function<void(const Event&)>& on_event);

 private:
  using Clock = std::chrono::steady_clock;
  void end_tls();
  std::string shown(const std::string& text) const;
  void clean(net::LogEntry& entry) const;
  net::JournalWriter& journal(const std::string& folder, const std::string& run);

  RemoteLauncher& link_;
  std::optional<net::JournalWriter> journal_;
  Clock::time_point keep_next_{};
  sys::FramedChild child_;
  std::shared_ptr<net::TlsInserter> tls_;
  std::uint64_t tls_number_ = 0;             // of the reader; 0: none
  std::string failed_;
  bool serving_ = false;
};

}  // namespace hotcell
