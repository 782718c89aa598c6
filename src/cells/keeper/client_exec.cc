// One program in a lasting cell, from the client's side: its pipes are ours, and what comes out of them is bounded here.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "cells/keeper/client.h"
#include "hotcell/output_buffer.h"
#include "net/account.h"
#include "sys/file.h"
#include "sys/uuid.h"

namespace hotcell::cells {
namespace {

Ask ask_of(const ExecAsk& what) {
  Ask ask;
  ask.verb = "exec";
  ask.cell = what.cell;
  ask.words = what.argv;
  ask.env = what.env;
  if (!what.workdir.empty()) ask.fields["workdir"] = what.workdir;
  if (what.timeout.count() > 0) ask.fields["timeout_ns"] = cat(static_cast<std::uint64_t>(what.timeout.count()));
  return ask;
}

std::uint64_t number(const Told& told, const char* name) {
  auto it = told.fields.find(name);
  return it == told.fields.end() ? 0 : parse_u64(it->second).value_or(0);
}

struct Side {
  Stream stream;
  sys::Fd fd;
  OutputBuffer buffer;
};

// The caller's stdin through a pipe of ours: its own descriptor could be more than something to read from.
struct Feed {
  int source = -1;
  sys::Fd sink;
  std::string buffer;

  void step(bool readable, bool writable) {
    if (readable && buffer.empty() && source >= 0) {
      char chunk[32 << 10];
      ssize_t n = ::read(source, chunk, sizeof chunk);
      if (n > 0) buffer.assign(chunk, static_cast<std::size_t>(n));
      else if (n == 0 || (errno != EAGAIN && errno != EINTR)) source = -1;
    }
    if (writable && !buffer.empty()) {
      ssize_t n = ::write(sink.get(), buffer.data(), buffer.size());
      if (n > 0) buffer.erase(0, static_cast<std::size_t>(n));
      else if (n < 0 && errno != EAGAIN && errno != EINTR) source = -1, buffer.clear();
    }
    if (source < 0 && buffer.empty()) sink.reset();
  }
};

// False: end of file, or what is left belongs to processes that nobody waits for.
bool read_some(Side& side, const ExecAsk& what, bool& flooded) {
  static thread_local char chunk[64 << 10];
  ssize_t n = ::read(side.fd.get(), chunk, sizeof chunk);
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  if (n == 0) return false;
  std::string_view kept = side.buffer.append({chunk, static_cast<std::size_t>(n)});
  if (!kept.empty() && what.on_output) what.on_output(side.stream, kept);
  if (side.buffer.truncated()) flooded = true;
  return true;
}

}  // namespace

void set_exec_verdict(const Told& told, Report& report) {
  int status = static_cast<int>(number(told, "status"));
  Verdict& v = report.verdict;
  if (WIFEXITED(status)) v.exit_code = WEXITSTATUS(status);
  else v.signal = WTERMSIG(status);
  auto reason = told.fields.find("reason");
  if (reason != told.fields.end()) {
    v.reason = reason->second == "timeout_wall" ? ExitReason::kTimeoutWall : reason->second == "output" ? ExitReason::kOutput
               : reason->second == "memory"     ? ExitReason::kMemory
               : reason->second == "disk"       ? ExitReason::kDisk
                                                : ExitReason::kCancelled;
    v.exit_code.reset();
    v.signal = SIGKILL;
  } else if (v.signal == SIGSYS) {
    v.reason = ExitReason::kPolicy;
  } else if (v.signal == SIGXCPU) {
    v.reason = ExitReason::kTimeoutCpu;
  } else if (v.signal == SIGXFSZ) {
    v.reason = ExitReason::kDisk;
  } else {
    v.reason = v.signal ? ExitReason::kSignal : ExitReason::kExited;
  }
  report.usage.cpu_user = std::chrono::microseconds(number(told, "user_us"));
  report.usage.cpu_system = std::chrono::microseconds(number(told, "system_us"));
  report.usage.cpu = report.usage.cpu_user + report.usage.cpu_system;
  report.usage.memory_peak = Bytes{number(told, "max_rss_kib") << 10};
  report.usage.io_read = Bytes{number(told, "blocks_in") * 512};
  report.usage.io_written = Bytes{number(told, "blocks_out") * 512};
  if (auto network = told.fields.find("network"); network != told.fields.end()) net::read_denial_lines(network->second, report);
}

Result<Report> KeeperClient::exec(const ExecAsk& what) {
  TRY_SET(sys::Fd null, sys::open("/dev/null", O_RDONLY));
  TRY_SET(sys::Pipe out, sys::make_pipe(0));
  TRY_SET(sys::Pipe err, sys::make_pipe(0));
  // Of the read ends alone: the program's are blocking, as it expects.
  TRY(sys::set_nonblocking(out.read.get()));
  TRY(sys::set_nonblocking(err.read.get()));
  // Under another uid inside: what they open by name (/dev/stderr) must be theirs to open.
  for (int fd : {out.write.get(), err.write.get()}) (void)!::fchmod(fd, 0622);
  Feed feed;
  sys::Pipe in;
  if (what.stdin_fd >= 0) {
    TRY_SET(in, sys::make_pipe(0));
    TRY(sys::set_nonblocking(in.write.get()));
    (void)!::fchmod(in.read.get(), 0644);
    feed.source = what.stdin_fd;
    feed.sink = std::move(in.write);
  }
  int fds[] = {what.stdin_fd >= 0 ? in.read.get() : null.get(), out.write.get(), err.write.get(), out.read.get(), err.read.get()};
  Report report;
  report.start_time = std::chrono::system_clock::now();
  auto begun = std::chrono::steady_clock::now();
  TRY_SET(std::uint64_t asked, send(ask_of(what), fds));
  in.read.reset();
  out.write.reset();
  err.write.reset();
  Side sides[] = {{Stream::kStdout, std::move(out.read), OutputBuffer(what.output, what.collect)},
                  {Stream::kStderr, std::move(err.read), OutputBuffer(what.output, what.collect)}};
  std::optional<Told> last;
  bool killed = false, flooded = false;
  auto kill = [&](const char* why) -> Result<void> {
    if (std::exchange(killed, true)) return {};
    Ask order;
    order.number = asked;
    order.verb = "kill";
    order.words = {why};
    TRY(send(std::move(order)));
    return {};
  };
  while (!last) {
    bool full = !feed.buffer.empty();
    pollfd ready[5] = {{socket_.get(), POLLIN, 0}, {sides[0].fd.get(), POLLIN, 0}, {sides[1].fd.get(), POLLIN, 0},
                       {feed.sink.valid() && !full ? feed.source : -1, POLLIN, 0}, {full ? feed.sink.get() : -1, POLLOUT, 0}};
    if (::poll(ready, 5, what.cancelled ? 100 : -1) < 0 && errno != EINTR) return errno_error("poll", errno);
    for (int i = 0; i < 2; ++i)
      if (ready[i + 1].revents != 0 && !read_some(sides[i], what, flooded)) sides[i].fd.reset();
    if (feed.sink.valid()) feed.step(ready[3].revents != 0, ready[4].revents != 0);
    if (flooded && !what.truncate) TRY(kill("output"));
    if (what.cancelled && what.cancelled()) TRY(kill("cancelled"));
    if (ready[0].revents == 0) continue;
    TRY_SET(std::optional<Told> told, receive(std::chrono::milliseconds(0)));
    if (told && told->number == asked && told->last) last = std::move(told);
  }
  // The program is over; what it has written is in the pipes. What others still write there is not its output.
  for (auto& side : sides)
    while (side.fd.valid()) {
      pollfd ready{side.fd.get(), POLLIN, 0};
      if (::poll(&ready, 1, 0) <= 0 || !read_some(side, what, flooded)) break;
    }
  if (!last->error) {
    Ask done;
    done.number = asked;
    done.verb = "drained";
    TRY(send(std::move(done)));
  }
  report.duration = std::chrono::steady_clock::now() - begun;
  report.end_time = std::chrono::system_clock::now();
  if (last->error) return *std::move(last->error);
  set_exec_verdict(*last, report);
  if (flooded && !what.truncate) report.verdict.reason = ExitReason::kOutput;
  report.id = sys::random_id();
  report.out_bytes = sides[0].buffer.total();
  report.err_bytes = sides[1].buffer.total();
  report.out_truncated = sides[0].buffer.truncated();
  report.err_truncated = sides[1].buffer.truncated();
  report.out = sides[0].buffer.take();
  report.err = sides[1].buffer.take();
  return report;
}

Result<std::uint64_t> KeeperClient::exec_detached(const ExecAsk& what) {
  TRY_SET(sys::Fd null, sys::open("/dev/null", O_RDWR));
  int fds[] = {null.get(), null.get(), null.get()};
  Ask order = ask_of(what);
  order.fields["detach"] = "1";
  TRY_SET(Told told, ask(std::move(order), fds));
  return number(told, "execution");
}

}  // namespace hotcell::cells
