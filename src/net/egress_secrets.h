// What the public secrets (hotcell/proxy.h) are to a proxy of the library.
#pragma once
#include <memory>

#include "hotcell/proxy.h"
#include "net/inserter.h"

namespace hotcell::net {

class EgressSecrets : public ProxySecrets {
 public:
  virtual const std::shared_ptr<TlsInserter>& inserter() const = 0;
};

}  // namespace hotcell::net
