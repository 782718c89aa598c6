// A stateful interpreter in a cell: what one call defines, the next one sees.
//
// The driver is a program of ours that the interpreter runs (driver_argv). It is started in the cell by whoever starts
// programs there, with two descriptors of its own besides stdin, stdout and stderr: requests come in on one, answers go
// out on the other. Both are close-on-exec inside, so what the code starts does not have them; but the code itself could
// find and write to them. So every answer carries the nonce of its request, which comes behind the code and is read when the
// code is over, a driver that breaks the protocol is given up, and an answer is what the *program* says, never what we know.
//   request: ten digits, the length of the code; the code; NUL; 32 digits of the nonce; NUL
//   answers: frames, each `TYPE NONCE LENGTH\n` and LENGTH bytes: H the driver is there, B it begins (nonce -: from now on an
//            interrupt is the code's), R the result: records as in languages/common/notes.h.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/result.h"
#include "hotcell/units.h"
#include "sys/fd.h"

namespace hotcell::cells {

// "python", "javascript", "bash" or another name of theirs. `requests` and `answers` are the descriptors as the driver will see
// them, both below 10, and so is `scratch`, an empty file of bash's alone. The program is the first word and is looked for by the caller.
Result<std::vector<std::string>> driver_argv(std::string_view language, int requests, int answers, int scratch);
// For a bash that shows no prompt: hc_tidy, which leaves the user's own jobs alone in its table. `scratch` as above.
std::string jobs_driver(int scratch);
// Their first names; nothing for what is none of them.
std::string_view context_language(std::string_view name);

struct RichOutput {
  std::string kind;                  // png, svg, html, json, text
  std::string name;
  std::string bytes;
};

struct CallResult {
  enum class State : std::uint8_t {
    kOk,
    kError,        // the code raised; `error` and `traceback` say what
    kInterrupted,  // by interrupt()
    kTimeout,      // `timeout` passed; it was interrupted and has come back
    kGone,         // the interpreter ended, hangs, or speaks nonsense: the context is of no use any more
  };
  State state = State::kGone;
  std::string value;                 // repr of the last expression; bash: nothing
  bool value_cut = false;            // it is too long: a part of it, or a sentence that says so
  std::string output, errors;        // what the call wrote to stdout and stderr, as far as it was given their pipes
  bool output_cut = false;
  std::string error, traceback;      // "ValueError: x"; of kGone: what went wrong
  int exit_code = 0;                 // bash: of the last command
  bool timed_out = false;            // also where it did not come back
  std::vector<RichOutput> rich;
  std::chrono::nanoseconds duration{0};
};
std::string_view to_string(CallResult::State state);
std::string call_json(const CallResult& result);

struct ContextLimits {
  Bytes output = 1_MiB;              // of stdout and of stderr, each; the rest is read and dropped
  Bytes answer = 32_MiB;             // of one answer
  std::chrono::milliseconds patience{5000};  // how long an interrupted call may take to come back
};

class Context {
 public:
  // SIGPIPE is ignored in a process that has one.
  struct Ends {
    sys::Fd requests;                // ours: written
    sys::Fd answers;                 // ours: read
    sys::Fd output, errors;          // read ends of its stdout and stderr; may be empty: somebody else reads them
    std::function<Result<void>()> interrupt;  // sends SIGINT to the interpreter; called by the thread that calls
    std::function<std::chrono::nanoseconds()> slept;  // how long it was paused so far: that is not its time; may be empty
    bool told_of_end = false;        // over() will be called when it ends
  };
  Context(Ends ends, ContextLimits limits = {});
  Context(Context&&) = default;

  // The driver says that it is there.
  Result<void> wait_ready(std::chrono::milliseconds timeout);
  // From any thread: a call comes, and an interrupt from now on is meant for it, even if the thread that is to make it is late.
  void announce();
  // One at a time, and blocking. A zero timeout: none.
  CallResult call(std::string_view code, std::chrono::milliseconds timeout);
  // From any thread: the call that runs now is interrupted; the interpreter has ended.
  void interrupt();
  void over(std::string why);
  bool usable() const { return usable_; }  // the calling thread's

 private:
  struct Frame {
    char type = 0;
    std::string nonce, body;
  };
  struct Signals {
    sys::Fd event;
    std::mutex mutex;
    bool announced = false, interrupt = false;
    std::optional<std::string> over;
  };
  struct Running;
  enum class Got : std::uint8_t { kNothing, kFrame, kNonsense };
  Got take_frame(Frame& frame);
  bool read_answers();               // false: end of file
  bool hear(Running& running);       // false: it is over
  void settle(Running& running, const Frame& frame);
  void leave(Running& running, std::string why);
  std::string how_it_ended();
  std::chrono::steady_clock::time_point awake_now() const;
  int poll_time(std::chrono::steady_clock::time_point until) const;

  Ends ends_;
  ContextLimits limits_;
  std::unique_ptr<Signals> signals_;
  std::string pending_;
  bool usable_ = true, ready_ = false;
};

}  // namespace hotcell::cells
