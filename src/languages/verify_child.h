// The verifier's child, seen from its owner: started, asked, killed. Nothing here waits for any process but its own.
#pragma once
#include <string>
#include <string_view>

#include "hotcell/result.h"
#include "hotcell/units.h"
#include "sys/fd.h"
#include "sys/process.h"

namespace hotcell {

// `hotcell-verify`: beside the running program, in ../libexec/hotcell from there, then where it was to be installed.
Result<std::string> find_verify_program();

class VerifyChild {
 public:
  VerifyChild() = default;
  VerifyChild(const VerifyChild&) = delete;
  VerifyChild& operator=(const VerifyChild&) = delete;
  ~VerifyChild() { stop(); }

  // Costs the same however large this process is: nothing of it is copied.
  Result<void> start(const std::string& program, Bytes memory);
  bool running() const { return socket_.valid(); }

  enum class End : std::uint8_t { kAnswered, kTimeout, kDied, kNonsense };
  struct Answer {
    End end = End::kDied;
    std::string payload;  // when answered
    int status = 0;       // as of wait(2), when it died
  };
  // One frame out, one frame in. After anything but kAnswered there is no child any more.
  Answer ask(std::string_view frame, Nanoseconds wall);

  void stop();  // kills and reaps; nothing when there is none

 private:
  int end_it(int grace_ms = 0);  // its wait status; it has this long to die of its own cause

  sys::Fd socket_;
  sys::Child child_;
};

}  // namespace hotcell
