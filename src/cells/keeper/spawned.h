// The keeper's end of a cell's spawner: orders out, news in.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cells/spawner/orders.h"
#include "hotcell/result.h"
#include "sys/fd.h"

namespace hotcell::cells {

std::string_view spawner_image();  // the program, as it is put into each cell

struct ExecOrder {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::string directory = "/work";
  std::vector<int> fds;              // 0, 1, 2 and more; with a terminal: from 3 on
  bool terminal = false;
  bool plain = false;                // of a terminal: line ends as they are written
  unsigned rows = 24, columns = 80;
  std::uint64_t cpu_seconds = 0;
};

class Spawned {
 public:
  explicit Spawned(sys::Fd socket) : socket_(std::move(socket)) {}
  int fd() const { return socket_.get(); }

  Result<void> exec(std::uint64_t id, const ExecOrder& order);
  Result<void> tell(OrderKind kind, std::uint64_t id, int signal = 0, std::uint32_t flags = 0);
  struct Heard {
    News news{};
    sys::Fd fd;
  };
  // Nothing when nothing is there, or when the spawner is gone.
  std::optional<Heard> hear();
  bool gone() const { return gone_; }

 private:
  sys::Fd socket_;
  bool gone_ = false;
};

}  // namespace hotcell::cells
