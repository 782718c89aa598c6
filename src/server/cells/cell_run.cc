#include "server/cells/cell_run.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "cells/keeper/client.h"
#include "sys/file.h"
#include "sys/uuid.h"

namespace hotcell::server {
namespace {

constexpr int kRounds = 16;   // of one pipe before others have their turn
constexpr std::size_t kEnoughIn = 128 << 10;

}  // namespace

CellRun::CellRun(KeeperLink& link, CellRunSpec spec, Output output, Done done)
    : link_(link),
      spec_(std::move(spec)),
      output_(std::move(output)),
      done_(std::move(done)),
      out_{OutStream::kStdout, {}, OutputBuffer(spec_.output, spec_.collect), {}},
      err_{OutStream::kStderr, {}, OutputBuffer(spec_.output, spec_.collect), {}} {}

CellRun::~CellRun() {
  if (number_ == 0 || over_) return;
  // An end of its input that nobody sent would be taken for the whole: it stays open until the program is dead.
  link_.forget(number_, stdin_.valid() && spec_.stdin_open ? std::make_shared<sys::Fd>(std::move(stdin_)) : nullptr);
  if (!answer_) link_.tell(number_, "kill", {"cancelled"});
}

std::shared_ptr<CellRun> CellRun::start(KeeperLink& link, CellRunSpec spec, Output output, Done done) {
  std::shared_ptr<CellRun> run(new CellRun(link, std::move(spec), std::move(output), std::move(done)));
  if (auto opened = run->open(); !opened.ok()) {
    run->over_ = true;
    link.loop().post([run, error = std::move(opened).error()] { std::exchange(run->done_, {})(error); });
  }
  return run;
}

Result<void> CellRun::open() {
  TRY_SET(sys::Pipe in, sys::make_pipe(0));
  TRY_SET(sys::Pipe out, sys::make_pipe(0));
  TRY_SET(sys::Pipe err, sys::make_pipe(0));
  // Of our own ends alone: the program's are blocking, as it expects.
  for (int fd : {in.write.get(), out.read.get(), err.read.get()}) TRY(sys::set_nonblocking(fd));
  // Under another uid inside: what they open by name (/dev/stderr) must be theirs to open.
  for (int fd : {out.write.get(), err.write.get()}) (void)!::fchmod(fd, 0622);
  (void)!::fchmod(in.read.get(), 0644);
  std::vector<sys::Fd> fds;
  fds.push_back(std::move(in.read));
  fds.push_back(std::move(out.write));
  fds.push_back(std::move(err.write));
  for (int fd : {out.read.get(), err.read.get()}) {
    // The keeper goes on reading when we have what the program wrote: others may still write there.
    TRY_SET(sys::Fd copy, sys::duplicate(fd));
    fds.push_back(std::move(copy));
  }
  out_.fd = std::move(out.read);
  err_.fd = std::move(err.read);
  if (spec_.stdin_open || !spec_.stdin_bytes.empty()) stdin_ = std::move(in.write);
  cells::Ask ask;
  ask.verb = "exec";
  ask.cell = spec_.cell;
  ask.words = spec_.argv;
  ask.env = spec_.env;
  if (!spec_.workdir.empty()) ask.fields["workdir"] = spec_.workdir;
  if (spec_.timeout.count() > 0) ask.fields["timeout_ns"] = cat(static_cast<std::uint64_t>(spec_.timeout.count()));
  report_.id = sys::random_id();
  report_.start_time = std::chrono::system_clock::now();
  begun_ = std::chrono::steady_clock::now();
  std::weak_ptr<CellRun> weak = weak_from_this();
  number_ = link_.ask(std::move(ask),
                      [weak](Result<KeeperLink::Answer> answer) {
                        if (auto run = weak.lock()) run->answered(std::move(answer));
                      },
                      [weak](const cells::Told& news) {
                        auto run = weak.lock();
                        auto question = news.fields.find("waiting"), reason = news.fields.find("reason");
                        if (run && run->spec_.waiting && question != news.fields.end())
                          run->spec_.waiting(question->second, reason == news.fields.end() ? std::string() : reason->second);
                      },
                      std::move(fds));
  watch(out_);
  watch(err_);
  feed_on();
  return {};
}

void CellRun::watch(Side& side) {
  if (!side.fd.valid() || held_ || side.watch) return;
  std::weak_ptr<CellRun> weak = weak_from_this();
  side.watch = link_.loop().when_readable(side.fd.get(), [weak, which = &side] {
    auto run = weak.lock();
    if (!run) return;
    for (int i = 0; i < kRounds && !run->held_ && run->read(*which); ++i) {
    }
    if (run->answer_ && !run->held_) run->conclude();
  });
}

// Later, since it may be the watch itself that is being called.
void CellRun::unwatch(Side& side, bool close) {
  auto old = std::make_shared<std::pair<Loop::Handle, sys::Fd>>(std::move(side.watch), close ? std::move(side.fd) : sys::Fd());
  side.watch = {};
  if (close) side.fd = {};
  link_.loop().post([old] {
    old->first.reset();
    old->second.reset();
  });
}

bool CellRun::read(Side& side) {
  static thread_local char chunk[64 << 10];
  if (!side.fd.valid()) return false;
  ssize_t n = ::read(side.fd.get(), chunk, sizeof chunk);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n <= 0) {
    unwatch(side, true);
    return false;
  }
  std::string_view kept = side.buffer.append({chunk, static_cast<std::size_t>(n)});
  if (!kept.empty() && output_) output_(side.stream, kept);
  if (side.buffer.truncated()) {
    flooded_ = true;
    if (!spec_.truncate) kill("output");
  }
  return true;
}

bool CellRun::feed(std::string_view piece, bool last) {
  if (last) spec_.stdin_open = false;
  if (!stdin_.valid()) return true;   // it has ended, or does not read any more: its verdict says why
  spec_.stdin_bytes += piece;
  if (!feeding_) feed_on();
  return spec_.stdin_bytes.size() - fed_ < kEnoughIn;
}

void CellRun::feed_on() {
  while (stdin_.valid() && fed_ < spec_.stdin_bytes.size()) {
    ssize_t n = ::write(stdin_.get(), spec_.stdin_bytes.data() + fed_, spec_.stdin_bytes.size() - fed_);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      std::weak_ptr<CellRun> weak = weak_from_this();
      feeding_ = link_.loop().when_writable(stdin_.get(), [weak] {
        auto run = weak.lock();
        if (!run) return;
        auto once = std::exchange(run->feeding_, {});
        run->feed_on();
      });
      return;
    }
    if (n <= 0) return end_stdin();   // it does not read any more
    fed_ += static_cast<std::size_t>(n);
  }
  if (!spec_.stdin_open) return end_stdin();
  spec_.stdin_bytes.clear();
  fed_ = 0;
  if (auto fed = fed_all_) fed();
}

void CellRun::end_stdin() {
  auto old = std::make_shared<std::pair<Loop::Handle, sys::Fd>>(std::move(feeding_), std::move(stdin_));
  feeding_ = {};
  stdin_ = {};
  spec_.stdin_bytes = {};
  fed_ = 0;
  link_.loop().post([old] {
    old->first.reset();
    old->second.reset();
  });
  if (auto fed = std::exchange(fed_all_, nullptr)) fed();
}

void CellRun::kill(const char* why) {
  if (std::exchange(killed_, true) || answer_ || over_) return;
  link_.tell(number_, "kill", {why});
}

void CellRun::hold(bool still) {
  if (held_ == still || over_) return;
  held_ = still;
  if (still) {
    unwatch(out_, false);
    unwatch(err_, false);
    return;
  }
  watch(out_);
  watch(err_);
  if (answer_) {
    auto self = shared_from_this();
    link_.loop().post([self] {
      if (!self->over_ && !self->held_) self->conclude();
    });
  }
}

void CellRun::answered(Result<KeeperLink::Answer> answer) {
  answer_.emplace(std::move(answer));
  if (!held_) conclude();
}

// The program is over; what it has written is in the pipes. What others still write there is not its output.
void CellRun::conclude() {
  if (over_) return;
  auto self = shared_from_this();
  for (Side* side : {&out_, &err_})
    while (!held_ && read(*side)) {
    }
  if (held_ || over_) return;
  over_ = true;
  unwatch(out_, true);
  unwatch(err_, true);
  if (!answer_->ok()) return std::exchange(done_, {})(answer_->error());
  link_.tell(number_, "drained");
  cells::set_exec_verdict(answer_->value().told, report_);
  if (flooded_ && !spec_.truncate) report_.verdict.reason = ExitReason::kOutput;
  report_.duration = std::chrono::steady_clock::now() - begun_;
  report_.end_time = std::chrono::system_clock::now();
  report_.out_bytes = out_.buffer.total();
  report_.err_bytes = err_.buffer.total();
  report_.out_truncated = out_.buffer.truncated();
  report_.err_truncated = err_.buffer.truncated();
  report_.out = out_.buffer.take();
  report_.err = err_.buffer.take();
  std::exchange(done_, {})(std::move(report_));
}

}  // namespace hotcell::server
