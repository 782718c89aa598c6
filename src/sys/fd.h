// A descriptor with one owner, close-on-exec from birth.
#pragma once
#include <unistd.h>

#include <utility>

#include "hotcell/result.h"

namespace hotcell::sys {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Fd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  Fd read, write;
};
Result<Pipe> make_pipe(int flags);  // O_CLOEXEC is added
Result<void> set_nonblocking(int fd);
Result<Fd> duplicate(int fd);

}  // namespace hotcell::sys
