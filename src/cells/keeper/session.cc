#include "cells/keeper/session.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/json_write.h"
#include "base/strings.h"
#include "cells/contexts/context.h"
#include "sys/file.h"
#include "sys/socket.h"
#include "sys/uuid.h"

namespace hotcell::cells {
namespace {

constexpr std::size_t kMostOutput = 1 << 20, kScrollback = 64 << 10, kMostWaiting = 1 << 20, kMostHistory = 1000;
constexpr auto kLook = std::chrono::milliseconds(150);      // silence after which we ask whether input is awaited
constexpr auto kPatience = std::chrono::milliseconds(1000); // after SIGINT, before more is tried
constexpr auto kFenceTime = std::chrono::milliseconds(500); // a terminal that was stopped shows no end
constexpr int kGiveUp = 4;

}  // namespace

// An interactive bash comes to its prompt after every interrupt, whatever it was in the middle of; PROMPT_COMMAND is
// therefore where orders are taken. `hc_busy` set there means that an interrupt has brought us. While an order is read there are
// no interrupts, whoever sends them: bash reads it byte by byte, and would take what is left of it for the next one, and a command's
// end for a command that nobody gave. What the commands themselves have trapped is kept in `hc_trap` meanwhile.
std::string shell_driver() {
  return cat(jobs_driver(14), R"(exec 11<&3 12>&4 13>&1 14<&5 3<&- 4>&- 5<&-
unset HISTFILE
HISTSIZE=0 PS1= PS2= hc_busy= hc_status=0 hc_nonce= hc_command= hc_trap=
hc_before() { return "$hc_status"; }
hc_after() {
  # Neither traced nor ended by what the command has set.
  { builtin local -; builtin set +xeu; } 2>/dev/null
  hc_trap=
  builtin trap -p INT >|/proc/self/fd/14 && IFS= builtin read -r -d '' hc_trap </proc/self/fd/14
  builtin trap '' INT
  hc_busy= PROMPT_COMMAND=hc_serve
  hc_tidy
  IFS= builtin read -r -d '' -u 11 hc_nonce || builtin exit 0
  builtin printf '%s' "$hc_nonce" >&13
  builtin printf '%s %d\0' "$hc_nonce" "$hc_status" >&12
}
hc_serve() {
  if [[ -n $hc_busy ]]; then
    hc_status=130
    hc_after
  fi
  while IFS= builtin read -r -d '' -u 11 hc_command; do
    hc_busy=1
    builtin eval "builtin ${hc_trap:-trap - INT}"
    builtin printf '\0' >&12
    hc_before
    builtin eval "$hc_command" 11<&- 12>&- 13>&- 14<&-
    hc_status=$?
    hc_after
  done
  builtin exit 0
}
trap '' INT
PROMPT_COMMAND=hc_serve
)");
}

Session::~Session() {
  if (master_watch_ != 0) keeper_.unwatch(master_watch_, master_.get());
  if (status_watch_ != 0) keeper_.unwatch(status_watch_, status_.get());
  for (auto& [key, a] : attached_) keeper_.unwatch(a.watch, a.socket.get());
}

Result<void> Session::open_pipes() {
  TRY_SET(sys::SocketPair orders, sys::stream_pair());
  TRY_SET(sys::SocketPair status, sys::stream_pair());
  TRY_SET(scratch_theirs, sys::memfd("hotcell-scratch", {}, false, false));
  TRY(sys::set_nonblocking(orders.ours.get()));
  TRY(sys::set_nonblocking(status.ours.get()));
  orders_theirs = std::move(orders.theirs);
  status_theirs = std::move(status.theirs);
  orders_ = std::move(orders.ours);
  status_ = std::move(status.ours);
  status_watch_ = keeper_.watch(status_.get(), EPOLLIN, [this](std::uint32_t) { on_status(); });
  return {};
}

void Session::on_terminal(sys::Fd master) {
  master_ = std::move(master);
  sys::set_nonblocking(master_.get()).ignore("reads are made when there is something");
  master_watch_ = keeper_.watch(master_.get(), EPOLLIN, [this](std::uint32_t events) { on_master(events); });
  orders_theirs.reset();
  status_theirs.reset();
  scratch_theirs.reset();
  for (const Asker& asker : std::exchange(openers, {})) keeper_.answer_text(asker, name_);
}

void Session::on_master(std::uint32_t events) {
  if (events & EPOLLOUT) to_master({});
  if ((events & ~static_cast<std::uint32_t>(EPOLLOUT)) == 0) return;
  char bytes[16 << 10];
  for (int i = 0; i < 8; ++i) {
    ssize_t n = ::read(master_.get(), bytes, sizeof bytes);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n <= 0) {
      // EIO: nobody has the terminal open any more.
      keeper_.unwatch(std::exchange(master_watch_, 0), master_.get());
      return;
    }
    take_output(keeper_.cleaned(cell_, {bytes, static_cast<std::size_t>(n)}));
  }
}

void Session::take_output(std::string_view bytes) {
  if (!agent_) {
    scrollback_ += bytes;
    if (scrollback_.size() > 2 * kScrollback) scrollback_.erase(0, scrollback_.size() - kScrollback);
    std::vector<std::uint64_t> keys;
    for (const auto& [key, a] : attached_) keys.push_back(key);
    for (auto key : keys) send_attached(key, bytes);
    return;
  }
  if (!command_) return;  // of a job left in the background: nobody's
  Command& c = *command_;
  c.last_output = Clock::now();
  c.awaiting = false;
  c.window += bytes;
  auto fence = c.window.find(c.nonce);
  std::size_t sure = fence != c.window.npos ? fence : c.window.size() > c.nonce.size() ? c.window.size() - c.nonce.size() : 0;
  std::size_t room = kMostOutput - std::min(kMostOutput, c.output.size());
  if (sure > room) c.cut = true;
  c.output.append(c.window, 0, std::min(sure, room));
  if (fence != c.window.npos) {
    c.fenced = true;
    c.window.clear();
    if (c.status) conclude();
    return;
  }
  c.window.erase(0, sure);
}

void Session::on_status() {
  char bytes[4096];
  ssize_t n = ::read(status_.get(), bytes, sizeof bytes);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    keeper_.unwatch(std::exchange(status_watch_, 0), status_.get());
    return;
  }
  status_text_.append(bytes, static_cast<std::size_t>(n));
  for (auto end = status_text_.find('\0'); end != status_text_.npos; end = status_text_.find('\0')) {
    std::string line = status_text_.substr(0, end);
    status_text_.erase(0, end + 1);
    if (line.empty()) {
      taken();
      continue;
    }
    auto space = line.find(' ');
    // Only this command's own word counts; whatever else may have got hold of the pipe does not know it.
    if (!command_ || command_->status || space == line.npos || line.substr(0, space) != command_->nonce) continue;
    command_->status = static_cast<int>(parse_u64(line.substr(space + 1)).value_or(1));
    command_->fence_by = Clock::now() + kFenceTime;
  }
  if (status_text_.size() > 4096) status_text_.clear();
  if (command_ && command_->status && command_->fenced) conclude();
}

// The shell has read the command, and can be interrupted from now on.
void Session::taken() {
  if (!command_ || std::exchange(command_->taken, true)) return;
  if (command_->interrupted || command_->timed_out) signal_foreground(SIGINT);
}

void Session::conclude() {
  Command& c = *command_;
  if (!c.fenced) c.output += c.window;
  reply(c.timed_out ? "timeout" : c.interrupted ? "interrupted" : "done", true);
  history_.push_back({c.text, *c.status, c.timed_out, c.at, Clock::now() - c.begun});
  if (history_.size() > kMostHistory) history_.pop_front();
  command_.reset();
}

void Session::reply(const char* state, bool last_word) {
  Command& c = *command_;
  if (!c.asker && !last_word) return;
  Told told;
  told.fields = {{"state", state}, {"truncated", c.cut ? "1" : "0"},
                 {"duration_ns", cat(static_cast<std::uint64_t>(std::chrono::duration_cast<Nanoseconds>(Clock::now() - c.begun).count()))}};
  if (c.status) told.fields["exit_code"] = cat(static_cast<unsigned>(*c.status));
  told.text = c.output;
  if (!c.asker) {
    // Between a line of input and the question what became of it: whoever comes next is told.
    unclaimed_ = std::move(told);
    return;
  }
  keeper_.answer(*c.asker, std::move(told));
  c.asker.reset();
  if (!last_word) c.output.clear();  // what was told is not told again
}

void Session::on_tty(const News& news) {
  if (!command_ || news.waiting == 0) return;
  Command& c = *command_;
  if (c.awaiting || Clock::now() - c.last_output < kLook / 2) return;
  c.awaiting = true;
  if (!c.asker) return;
  c.output += std::exchange(c.window, {});  // a prompt without an end of line, which may look like the start of a fence
  if (c.stop_on_input) {
    Told told;
    told.fields["echo"] = cat(news.echo);
    std::optional<Asker> asker = c.asker;
    told.fields.insert({{"state", "awaiting_input"}, {"truncated", c.cut ? "1" : "0"}});
    told.text = std::exchange(c.output, {});
    c.asker.reset();
    keeper_.answer(*asker, std::move(told));
    return;
  }
  Told told;
  told.last = false;
  told.fields = {{"state", "awaiting_input"}, {"echo", cat(news.echo)}};
  told.text = c.output;
  keeper_.answer(*c.asker, std::move(told));
}

Result<void> Session::run(const Asker& asker, std::string text, Nanoseconds timeout, bool stop_on_input) {
  if (!agent_) return make_error(ErrorCode::kInvalid, cat("shell ", name_, " is a terminal for people; attach to it"));
  if (command_) return not_now(cat("shell ", name_, " is busy with a command; wait for it, or interrupt it"));
  if (text.find('\0') != text.npos) return make_error(ErrorCode::kInvalid, "a command contains a NUL byte");
  std::string nonce = sys::random_hex();
  std::string order = text;
  order += '\0';
  order += nonce;
  order += '\0';
  // So much fits in the socket at once; larger ones would have to wait for the shell.
  if (order.size() > 60 << 10) return too_large("a command is longer than 60 KiB; write it to a file first");
  Command c;
  c.text = std::move(text);
  c.nonce = std::move(nonce);
  c.asker = asker;
  c.stop_on_input = stop_on_input;
  c.begun = c.last_output = Clock::now();
  c.deadline = timeout.count() > 0 ? c.begun + timeout : Clock::time_point::max();
  c.next_look = c.begun + kLook;
  c.at = now();
  TRY(sys::write_all(orders_.get(), order).context("the shell"));
  command_ = std::move(c);
  unclaimed_.reset();
  return {};
}

Result<void> Session::wait(const Asker& asker, bool stop_on_input) {
  if (!command_ && unclaimed_) {
    keeper_.answer(asker, *std::exchange(unclaimed_, std::nullopt));
    return {};
  }
  if (!command_) return not_now(cat("shell ", name_, " runs no command"));
  if (command_->asker) return not_now("somebody waits for it already");
  command_->asker = asker;
  command_->stop_on_input = stop_on_input;
  command_->awaiting = false;
  command_->last_output = Clock::now();
  command_->next_look = Clock::now() + kLook;
  return {};
}

Result<void> Session::input(std::string_view bytes) {
  if (!master_.valid()) return make_error(ErrorCode::kInvalid, "the shell has no terminal yet");
  to_master(bytes);
  if (command_) command_->awaiting = false, command_->last_output = Clock::now();
  return {};
}

void Session::to_master(std::string_view bytes) {
  typed_ += bytes;
  while (!typed_.empty()) {
    ssize_t n = ::write(master_.get(), typed_.data(), typed_.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    typed_.erase(0, static_cast<std::size_t>(n));
  }
  if (typed_.size() > kMostWaiting) typed_.clear();
  if (master_watch_ != 0) keeper_.rewatch(master_watch_, master_.get(), typed_.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

bool Session::in_use() const {
  if (agent_ || !attached_.empty()) return command_.has_value() || !attached_.empty();
  // Somebody else than the shell itself has the terminal: what was started there goes on after whoever started it left.
  pid_t foreground = 0, leader = 0;
  return ::ioctl(master_.get(), TIOCGPGRP, &foreground) == 0 && ::ioctl(master_.get(), TIOCGSID, &leader) == 0 && foreground != leader;
}

void Session::later(Clock::duration by) {
  if (!command_) return;
  for (auto* time : {&command_->deadline, &command_->next_look, &command_->last_output, &command_->fence_by})
    if (*time != Clock::time_point::max() && *time != Clock::time_point{}) *time += by;
}

Result<void> Session::resize(unsigned rows, unsigned columns) {
  winsize size{};
  size.ws_row = static_cast<unsigned short>(std::min(rows, 10'000u));
  size.ws_col = static_cast<unsigned short>(std::min(columns, 10'000u));
  if (::ioctl(master_.get(), TIOCSWINSZ, &size) < 0) return errno_error("TIOCSWINSZ", errno);
  return {};
}

void Session::signal_foreground(int signal) {
  auto it = keeper_.kept_.find(cell_);
  if (it != keeper_.kept_.end() && it->second->spawned)
    it->second->spawned->tell(OrderKind::kSignal, execution, signal, kOrderForeground).ignore("the cell is ending");
}

Result<void> Session::interrupt() {
  if (command_) command_->interrupted = true;
  if (!command_ || command_->taken) signal_foreground(SIGINT);
  return {};
}

Clock::time_point Session::due() const {
  if (!command_) return Clock::time_point::max();
  auto due = std::min(command_->deadline, command_->next_look);
  return command_->status ? std::min(due, command_->fence_by) : due;
}

void Session::tick(Clock::time_point at) {
  if (!command_) return;
  Command& c = *command_;
  if (c.status && at >= c.fence_by) return conclude();
  if (at >= c.deadline) {
    c.timed_out = true;
    c.deadline = at + kPatience;
    // The command ends, the shell lives on. What ignores SIGINT is killed; a shell that does not come back even then is
    // of no use any more.
    if (c.taken) {
      signal_foreground(c.escalations == 0 ? SIGINT : SIGKILL);
      if (c.escalations > 0) signal_foreground(SIGINT);
    }
    if (++c.escalations > kGiveUp) {
      auto it = keeper_.kept_.find(cell_);
      if (it != keeper_.kept_.end())
        if (auto e = it->second->executions.find(execution); e != it->second->executions.end()) keeper_.kill_execution(*it->second, e->second, "timeout_wall");
      c.deadline = Clock::time_point::max();
    }
  }
  if (at < c.next_look) return;
  c.next_look = at + kLook;
  if (c.awaiting || c.status || at - c.last_output < kLook / 2) return;
  auto it = keeper_.kept_.find(cell_);
  if (it != keeper_.kept_.end() && it->second->spawned && it->second->record.state == CellState::kRunning)
    it->second->spawned->tell(OrderKind::kTty, execution).ignore("it is asked again");
}

void Session::on_end(const News& news) {
  for (const Asker& asker : std::exchange(openers, {}))
    keeper_.answer(asker,
                   Error{ErrorCode::kInvalid, news.err, news.kind == NewsKind::kFailed ? cat("bash cannot be started in the cell: ", ::strerror(news.err)) : "the shell ended at once"});
  if (master_watch_ != 0) on_master(EPOLLIN);
  if (command_ && command_->asker) {
    Told told;
    told.fields = {{"state", "ended"}, {"truncated", command_->cut ? "1" : "0"}};
    if (news.kind == NewsKind::kExited && WIFEXITED(news.status)) told.fields["exit_code"] = cat(WEXITSTATUS(news.status));
    told.text = command_->output + command_->window;
    keeper_.answer(*command_->asker, std::move(told));
  }
  command_.reset();
  std::vector<std::uint64_t> keys;
  for (const auto& [key, a] : attached_) keys.push_back(key);
  for (auto key : keys) detach(key);
}

Result<void> Session::attach(const Asker& asker) {
  if (agent_) return make_error(ErrorCode::kInvalid, cat("shell ", name_, " belongs to a program; choose another --session"));
  if (!master_.valid()) return make_error(ErrorCode::kInvalid, "the shell has no terminal yet");
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) < 0) return errno_error("socketpair", errno);
  sys::Fd theirs(ends[1]);
  std::uint64_t key = ++last_attached_;
  Attached& a = attached_[key];
  a.socket = sys::Fd(ends[0]);
  a.watch = keeper_.watch(ends[0], EPOLLIN, [this, key](std::uint32_t events) { on_attached(key, events); });
  int fd = theirs.get();
  keeper_.answer(asker, Told{}, {&fd, 1});
  send_attached(key, scrollback_);
  return {};
}

void Session::send_attached(std::uint64_t key, std::string_view bytes) {
  auto it = attached_.find(key);
  if (it == attached_.end()) return;
  Attached& a = it->second;
  a.waiting += bytes;
  while (!a.waiting.empty()) {
    ssize_t n = ::send(a.socket.get(), a.waiting.data(), a.waiting.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) return detach(key);
    if (n <= 0) break;
    a.waiting.erase(0, static_cast<std::size_t>(n));
  }
  if (a.waiting.size() > kMostWaiting) return detach(key);
  keeper_.rewatch(a.watch, a.socket.get(), a.waiting.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

void Session::on_attached(std::uint64_t key, std::uint32_t events) {
  auto it = attached_.find(key);
  if (it == attached_.end()) return;
  if (events & EPOLLOUT) send_attached(key, {});
  if ((it = attached_.find(key)) == attached_.end() || (events & (EPOLLIN | EPOLLHUP)) == 0) return;
  char bytes[8 << 10];
  ssize_t n = ::read(it->second.socket.get(), bytes, sizeof bytes);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return detach(key);
  to_master({bytes, static_cast<std::size_t>(n)});
  // Typing is use, and wakes it; what was typed waits in the terminal meanwhile.
  if (auto cell = keeper_.kept_.find(cell_); cell != keeper_.kept_.end()) keeper_.awake(*cell->second, [](const Result<void>&) {});
}

void Session::detach(std::uint64_t key) {
  auto it = attached_.find(key);
  if (it == attached_.end()) return;
  keeper_.unwatch(it->second.watch, it->second.socket.get());
  attached_.erase(it);
}

void Session::forget_client(std::uint64_t client) {
  if (command_ && command_->asker && command_->asker->client == client) command_->asker.reset();
  std::erase_if(openers, [&](const Asker& asker) { return asker.client == client; });
}

std::string Session::history_json() const {
  JsonWriter w;
  w.begin_array();
  for (const auto& p : history_) {
    w.begin_object();
    w.field("command", std::string_view(p.command));
    w.field("exit_code", p.status);
    w.field("timed_out", p.timed_out);
    w.field("at", std::string_view(rfc3339(p.at)));
    w.field("duration_ns", static_cast<std::int64_t>(p.took.count()));
    w.end_object();
  }
  w.end_array();
  return w.take();
}

}  // namespace hotcell::cells
