#include "cells/contexts/context.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/strings.h"
#include "languages/common/notes.h"
#include "sys/uuid.h"

namespace hotcell::cells {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::size_t kLongestHead = 64, kChunk = 64 << 10;
constexpr auto kEndTime = milliseconds(500);
constexpr std::string_view kNonsense = "what it says is no answer: the code has used, closed or copied the interpreter's own descriptors";

// At most `upto` bytes, of which `into` keeps what fits. False: end of file.
bool read_some(const sys::Fd& fd, std::string& into, std::size_t most, bool& cut, std::size_t& upto) {
  static thread_local char chunk[kChunk];
  ssize_t n = ::read(fd.get(), chunk, std::min(upto, sizeof chunk));
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  if (n == 0) return false;
  auto size = static_cast<std::size_t>(n);
  upto -= size;
  std::size_t room = most - std::min(most, into.size());
  if (size > room) cut = true;
  into.append(chunk, std::min(size, room));
  return true;
}

// What is in the pipe now and no more: a thread of the code may write for ever.
void read_rest(const sys::Fd& fd, std::string& into, std::size_t most, bool& cut) {
  int there = 0;
  if (!fd.valid() || ::ioctl(fd.get(), FIONREAD, &there) < 0) return;
  for (auto left = static_cast<std::size_t>(std::max(there, 0)); left > 0;)
    if (std::size_t before = left; !read_some(fd, into, most, cut, left) || before == left) return;
}

void add_rich(const Note& note, std::size_t& together, std::vector<RichOutput>& rich) {
  if (rich.size() == kMostOutputs) return;
  RichOutput output{std::string(note.kind), std::string(note.name), {}};
  if (auto fault = output_fault(note, together); fault.empty()) {
    output.bytes = std::string(note.bytes);
  } else {
    output.kind = "text";
    output.bytes = cat(note.name, fault);
  }
  together += output.bytes.size();
  rich.push_back(std::move(output));
}

}  // namespace

struct Context::Running {
  CallResult result;
  std::string nonce, unsent;
  bool begun = false, interrupted = false;
  Clock::time_point deadline = Clock::time_point::max(), give_up = Clock::time_point::max(), next_signal = Clock::time_point::max();
  bool done = false;
};

Context::Context(Ends ends, ContextLimits limits) : ends_(std::move(ends)), limits_(limits), signals_(std::make_unique<Signals>()) {
  signals_->event = sys::Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  for (const sys::Fd* fd : {&ends_.requests, &ends_.answers, &ends_.output, &ends_.errors})
    if (fd->valid() && !sys::set_nonblocking(fd->get()).ok()) usable_ = false;
  if (!signals_->event.valid()) usable_ = false;
}

// A clock that stands still while the interpreter does.
Clock::time_point Context::awake_now() const { return Clock::now() - (ends_.slept ? ends_.slept() : std::chrono::nanoseconds(0)); }

int Context::poll_time(Clock::time_point until) const {
  if (until == Clock::time_point::max()) return -1;
  auto left = std::chrono::ceil<milliseconds>(until - awake_now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

void Context::announce() {
  std::lock_guard hold(signals_->mutex);
  signals_->announced = true;
  signals_->interrupt = false;
}

void Context::interrupt() {
  std::lock_guard hold(signals_->mutex);
  signals_->interrupt = true;
  ::eventfd_write(signals_->event.get(), 1);
}

void Context::over(std::string why) {
  std::lock_guard hold(signals_->mutex);
  if (!signals_->over) signals_->over = std::move(why);
  ::eventfd_write(signals_->event.get(), 1);
}

// End of file comes a little before whoever waits for the process can say how it ended.
std::string Context::how_it_ended() {
  auto until = awake_now() + (ends_.told_of_end ? kEndTime : milliseconds(0));
  for (;;) {
    {
      std::lock_guard hold(signals_->mutex);
      if (signals_->over) return *signals_->over;
      eventfd_t count;
      ::eventfd_read(signals_->event.get(), &count);
    }
    if (awake_now() >= until) return "the interpreter has ended";
    pollfd ready{signals_->event.get(), POLLIN, 0};
    ::poll(&ready, 1, poll_time(until));
  }
}

Context::Got Context::take_frame(Frame& frame) {
  auto end = pending_.find('\n');
  if (end == pending_.npos) return pending_.size() > kLongestHead ? Got::kNonsense : Got::kNothing;
  if (end > kLongestHead) return Got::kNonsense;
  auto words = split(std::string_view(pending_).substr(0, end), ' ');
  if (words.size() != 3 || words[0].size() != 1) return Got::kNonsense;
  auto size = parse_u64(words[2]);
  if (!size || *size > limits_.answer.n) return Got::kNonsense;
  if (pending_.size() - end - 1 < *size) {
    pending_.reserve(end + 1 + *size);
    return Got::kNothing;
  }
  frame.type = words[0][0];
  frame.nonce = std::string(words[1]);
  frame.body = pending_.substr(end + 1, *size);
  pending_.erase(0, end + 1 + *size);
  return Got::kFrame;
}

bool Context::read_answers() {
  bool cut = false;
  std::size_t upto = kChunk;
  return read_some(ends_.answers, pending_, limits_.answer.n + kLongestHead + kChunk, cut, upto);
}

Result<void> Context::wait_ready(milliseconds timeout) {
  auto until = awake_now() + timeout;
  std::string said, ignored;
  bool cut = false;
  auto failed = [&](std::string why) {
    usable_ = false;
    read_rest(ends_.errors, said, 4096, cut);
    std::string_view words = trim(said);
    return make_error(ErrorCode::kIo, words.empty() ? std::move(why) : cat(why, ": ", printable(words.substr(0, 600))));
  };
  while (usable_) {
    pollfd ready[4] = {{ends_.answers.get(), POLLIN, 0}, {ends_.output.get(), POLLIN, 0}, {ends_.errors.get(), POLLIN, 0}, {signals_->event.get(), POLLIN, 0}};
    int n = ::poll(ready, 4, poll_time(until));
    if (n < 0 && errno != EINTR) return errno_error("poll", errno);
    if (n == 0 && awake_now() >= until) return failed("the interpreter did not start in time");
    if (n <= 0) continue;
    std::size_t upto = kChunk;
    if (ready[1].revents != 0 && !read_some(ends_.output, ignored, 0, cut, upto)) ends_.output.reset();
    if (ready[2].revents != 0 && !read_some(ends_.errors, said, 4096, cut, upto = kChunk)) ends_.errors.reset();
    if (ready[3].revents != 0) {
      std::lock_guard hold(signals_->mutex);
      eventfd_t count;
      ::eventfd_read(signals_->event.get(), &count);
      if (signals_->over) return failed(*signals_->over);
    }
    if (ready[0].revents == 0) continue;
    if (!read_answers()) return failed(how_it_ended());
    Frame frame;
    switch (take_frame(frame)) {
      case Got::kNothing: continue;
      case Got::kNonsense: return failed(std::string(kNonsense));
      case Got::kFrame: break;
    }
    if (frame.type != 'H') return failed(std::string(kNonsense));
    // What it said while it was starting is of nobody's call.
    read_rest(ends_.output, ignored, 0, cut);
    read_rest(ends_.errors, ignored, 0, cut);
    ready_ = true;
    return {};
  }
  return make_error(ErrorCode::kIo, "the interpreter is gone");
}

void Context::leave(Running& running, std::string why) {
  CallResult& r = running.result;
  read_rest(ends_.output, r.output, limits_.output.n, r.output_cut);
  read_rest(ends_.errors, r.errors, limits_.output.n, r.output_cut);
  r.state = CallResult::State::kGone;
  r.error = std::move(why);
  usable_ = false;
  running.done = true;
  ends_ = {};
}

void Context::settle(Running& running, const Frame& frame) {
  CallResult& r = running.result;
  std::string_view rest = frame.body, state;
  std::size_t together = 0;
  while (auto note = take_note(rest)) {
    if (note->kind == "state") state = note->name;
    else if (note->kind == "error") r.error = note->bytes;
    else if (note->kind == "traceback") r.traceback = note->bytes;
    else if (note->kind == "text" && note->name == "value.txt") {
      r.value = note->bytes;
      r.value_cut = r.value_cut || r.value.starts_with("value.txt is left out: ");
    } else if (note->kind == "cut") r.value_cut = true;
    else if (is_output_kind(note->kind)) add_rich(*note, together, r.rich);
    else if (note->kind == "exit") {
      r.exit_code = static_cast<int>(std::min<std::uint64_t>(parse_u64(note->bytes).value_or(1), 255));
      state = r.exit_code == 0 ? "ok" : "error";
      if (r.exit_code != 0) r.error = cat("exit code ", r.exit_code);
    } else {
      return leave(running, std::string(kNonsense));
    }
  }
  if (!rest.empty() || state.empty()) return leave(running, std::string(kNonsense));
  read_rest(ends_.output, r.output, limits_.output.n, r.output_cut);
  read_rest(ends_.errors, r.errors, limits_.output.n, r.output_cut);
  // What was interrupted and came to its end all the same has done what it was to do; but its time is over either way.
  r.state = r.timed_out ? CallResult::State::kTimeout
            : state == "ok" ? CallResult::State::kOk
            : running.next_signal != Clock::time_point::max() ? CallResult::State::kInterrupted
                                : CallResult::State::kError;
  running.done = true;
}

bool Context::hear(Running& running) {
  if (!read_answers()) return leave(running, how_it_ended()), false;
  Frame frame;
  while (!running.done) {
    Got got = take_frame(frame);
    if (got == Got::kNothing) return true;
    bool begins = got == Got::kFrame && frame.type == 'B' && !running.begun && frame.body.empty();
    if (begins) {
      running.begun = true;
      continue;
    }
    if (got == Got::kNonsense || frame.type != 'R' || frame.nonce != running.nonce) return leave(running, std::string(kNonsense)), false;
    settle(running, frame);
  }
  return false;
}

CallResult Context::call(std::string_view code, milliseconds timeout) {
  auto begun = Clock::now();
  Running running;
  CallResult& result = running.result;
  auto finished = [&] {
    result.duration = Clock::now() - begun;
    return std::move(result);
  };
  if (!usable_ || !ready_) {
    result.error = "the interpreter is gone";
    return finished();
  }
  if (code.find('\0') != code.npos) {
    result.state = CallResult::State::kError;
    result.error = "the code contains a NUL byte";
    return finished();
  }
  running.nonce = sys::random_hex();
  std::string digits = cat(code.size());
  running.unsent = cat(std::string(10 - std::min<std::size_t>(10, digits.size()), '0'), digits, code, '\0', running.nonce, '\0');
  if (timeout.count() > 0) running.deadline = awake_now() + std::min<milliseconds>(timeout, std::chrono::hours(24 * 365));
  {
    std::lock_guard hold(signals_->mutex);
    if (!std::exchange(signals_->announced, false)) signals_->interrupt = false;  // nothing ran when it was asked for
    if (signals_->interrupt) {
      result.state = CallResult::State::kInterrupted;
      result.error = "interrupted before it began";
      return finished();
    }
  }
  // Nobody was asked anything: what is there already is no answer.
  if (pollfd early{ends_.answers.get(), POLLIN, 0}; !pending_.empty() || ::poll(&early, 1, 0) > 0) {
    bool open = read_answers();
    leave(running, open ? std::string(kNonsense) : how_it_ended());
    return finished();
  }
  while (!running.done) {
    if (!running.unsent.empty()) {
      ssize_t n = ::write(ends_.requests.get(), running.unsent.data(), running.unsent.size());
      if (n > 0) running.unsent.erase(0, static_cast<std::size_t>(n));
      else if (n < 0 && errno != EAGAIN && errno != EINTR) {
        leave(running, how_it_ended());
        break;
      }
    }
    pollfd ready[5] = {{ends_.answers.get(), POLLIN, 0}, {ends_.output.get(), POLLIN, 0}, {ends_.errors.get(), POLLIN, 0},
                       {signals_->event.get(), POLLIN, 0}, {running.unsent.empty() ? -1 : ends_.requests.get(), POLLOUT, 0}};
    int n = ::poll(ready, 5, poll_time(std::min({running.deadline, running.give_up, running.next_signal})));
    if (n < 0 && errno != EINTR) {
      leave(running, "poll failed");
      break;
    }
    std::size_t upto = kChunk;
    if (n > 0 && ready[1].revents != 0 && !read_some(ends_.output, result.output, limits_.output.n, result.output_cut, upto)) ends_.output.reset();
    if (n > 0 && ready[2].revents != 0 && !read_some(ends_.errors, result.errors, limits_.output.n, result.output_cut, upto = kChunk)) ends_.errors.reset();
    if (n > 0 && ready[0].revents != 0 && !hear(running)) break;
    if (n > 0 && ready[3].revents != 0) {
      std::optional<std::string> over;
      {
        std::lock_guard hold(signals_->mutex);
        eventfd_t count;
        ::eventfd_read(signals_->event.get(), &count);
        running.interrupted = running.interrupted || signals_->interrupt;
        over = signals_->over;
      }
      if (over) {
        // The answer may have been its last words.
        if (!running.done && hear(running) && !running.done) leave(running, *over);
        break;
      }
    }
    auto at = awake_now();
    if (at >= running.give_up) {
      leave(running, cat(running.result.timed_out ? "its time was over and " : "", "it did not come back within ", limits_.patience.count(), " ms after it was interrupted"));
      break;
    }
    if (at >= running.deadline) {
      running.deadline = Clock::time_point::max();
      result.timed_out = running.interrupted = true;
    }
    if (running.interrupted && running.give_up == Clock::time_point::max()) running.give_up = at + limits_.patience;
    // Not before the code runs: the driver would take it for nothing.
    if (running.interrupted && running.begun && (running.next_signal == Clock::time_point::max() || at >= running.next_signal)) {
      // Again, until it comes back: a shell between two commands takes one for nothing.
      running.next_signal = at + std::chrono::milliseconds(250);
      if (ends_.interrupt) ends_.interrupt().ignore("it is given up when it does not come back");
    }
  }
  return finished();
}

}  // namespace hotcell::cells
