// The launcher process's side: takes orders from any number of connections, carries them out with one Launcher, and tells
// each connection what became of its own. A connection that closes takes its runs with it.
#pragma once
#include <memory>
#include <string>

#include "core/remote/ceiling.h"
#include "core/remote/readers.h"
#include "hotcell/launcher.h"
#include "sys/fd.h"

namespace hotcell::remote {

struct ServiceOptions {
  Ceiling ceiling;
  ReaderPrograms readers;
};

class Service {
 public:
  static Result<std::unique_ptr<Service>> create(std::unique_ptr<Launcher> launcher, ServiceOptions options);
  virtual ~Service() = default;
  virtual Result<void> add(sys::Fd socket) = 0;
  // Until the last connection has closed and nothing runs any more.
  virtual Result<void> serve() = 0;
};

}  // namespace hotcell::remote
