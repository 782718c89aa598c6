// DNS for a cell: addresses of names that the rules allow, nothing else.
#pragma once
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>

#include "net/dns.h"
#include "net/log.h"
#include "net/rules.h"
#include "net/watcher.h"
#include "sys/fd.h"

namespace hotcell::net {

class DnsDoor {
 public:
  // `look_up` calls back in the proxy's own thread; `own` says whether an address is this machine's.
  using LookUp = std::function<void(const std::string&, std::function<void(Result<std::vector<Address>>)>)>;
  using Own = std::function<bool(const Address&)>;
  DnsDoor(sys::Fd fd, Log& log, Watcher& watcher, LookUp look_up, Own own)
      : fd_(std::move(fd)), log_(log), watcher_(watcher), look_up_(std::move(look_up)), own_(std::move(own)) {}

  int fd() const { return fd_.get(); }
  // `shut`: why nothing is answered any more, if so.
  void on_readable(const std::shared_ptr<const RuleSet>& rules, const Decision* shut);

 private:
  struct Client {
    sockaddr_storage address{};
    socklen_t size = 0;
  };
  void serve(std::string_view packet, const Client& client, const std::shared_ptr<const RuleSet>& rules, const Decision* shut);
  void answer(const DnsQuery& query, const Client& client, DnsCode code, const std::vector<Address>& addresses = {});

  sys::Fd fd_;
  Log& log_;
  Watcher& watcher_;
  LookUp look_up_;
  Own own_;
  unsigned in_flight_ = 0;
};

}  // namespace hotcell::net
