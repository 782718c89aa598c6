// The seccomp listener of one cell: every named-denied call is recorded and answered EPERM. Nothing is decided on the
// program's memory (another thread could change it), only on the number.
#pragma once
#include <linux/types.h>

#include <map>
#include <string>
#include <vector>

#include "hotcell/report.h"
#include "sys/fd.h"

namespace hotcell {

class NotifyListener {
 public:
  NotifyListener() = default;
  explicit NotifyListener(sys::Fd fd) : fd_(std::move(fd)) {}
  int fd() const { return fd_.get(); }
  bool valid() const { return fd_.valid(); }
  void close() { fd_.reset(); }

  void serve();                               // one pending call; more wait for the next readiness
  bool flooded() const { return served_ > 512; }  // then the supervisor serves it only once a millisecond
  std::vector<Denial> denials() const;

 private:
  void record(int nr, std::uint32_t arch, const __u64 (&args)[6]);
  sys::Fd fd_;
  std::uint64_t served_ = 0;
  std::map<std::string, Denial> denials_;     // by what was tried; at most kMostKinds
  static constexpr std::size_t kMostKinds = 64;
};

}  // namespace hotcell
