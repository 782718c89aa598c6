// Names to addresses, away from the proxy's own thread.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hotcell/result.h"
#include "net/address.h"

namespace hotcell::net {

class Resolver {
 public:
  using Done = std::function<void(Result<std::vector<Address>>)>;
  virtual ~Resolver() = default;
  // `done` is called once, from any thread, also from within this call.
  virtual void resolve(const std::string& name, Done done) = 0;
};

// The host's own way: its hosts file and name servers.
std::shared_ptr<Resolver> host_resolver();
// Names with addresses of their own, asked before the other.
std::shared_ptr<Resolver> mapped_resolver(std::map<std::string, std::vector<Address>> names, std::shared_ptr<Resolver> other);

}  // namespace hotcell::net
