#include "server/cells/keeper_link.h"

#include <sys/socket.h>

#include <cerrno>

#include "base/strings.h"
#include "sys/file.h"

namespace hotcell::server {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);   // for a keeper to be started and to listen
constexpr std::size_t kMostWaiting = 4096;             // questions at once, of all clients

Error gone() {
  return make_error(ErrorCode::kCancelled, "the keeper of cells is gone; its cells have stopped, their files are kept");
}

}  // namespace

std::uint64_t KeeperLink::ask(cells::Ask ask, Done done, News news, std::vector<sys::Fd> fds) {
  const std::uint64_t number = ++last_;
  if (waiting_.size() >= kMostWaiting) {
    loop_.post([done = std::move(done)] { done(make_error(ErrorCode::kLimit, "too many questions wait for the keeper of cells; try again")); });
    return number;
  }
  ask.number = number;
  waiting_[number] = {std::move(done), std::move(news), false};
  out_.push_back({number, cells::pack(ask), std::move(fds)});
  if (!socket_.valid()) need();
  else flush();
  return number;
}

void KeeperLink::tell(std::uint64_t number, std::string verb, std::vector<std::string> words) {
  if (!socket_.valid()) return;
  cells::Ask ask;
  ask.number = number;
  ask.verb = std::move(verb);
  ask.words = std::move(words);
  out_.push_back({0, cells::pack(ask), {}});
  flush();
}

void KeeperLink::need() {
  if (patience_) return;
  want_();
  patience_ = loop_.after(kPatience, [this] { give_up(make_error(ErrorCode::kIo, "the keeper of cells does not answer")); });
}

void KeeperLink::attach(sys::Fd socket) {
  patience_.reset();
  if (socket_.valid()) lost();
  if (!sys::set_nonblocking(socket.get()).ok()) return;
  socket_ = std::move(socket);
  readable_ = loop_.when_readable(socket_.get(), [this] { read(); });
  flush();
}

void KeeperLink::refused(std::string why) { give_up(make_error(ErrorCode::kUnsupported, std::move(why))); }

void KeeperLink::give_up(const Error& error) {
  auto timer = std::make_shared<Loop::Handle>(std::move(patience_));
  loop_.post([timer] { timer->reset(); });  // this may be inside of it
  patience_ = {};
  out_.clear();
  for (auto& [number, w] : std::exchange(waiting_, {})) w.done(error);
}

void KeeperLink::forget(std::uint64_t number, std::shared_ptr<void> until) {
  auto it = waiting_.find(number);
  if (it == waiting_.end()) return;
  if (!until || !it->second.sent) {
    waiting_.erase(it);
    return;
  }
  it->second.news = {};
  it->second.done = [until](Result<Answer>) {};
}

void KeeperLink::flush() {
  while (!out_.empty() && socket_.valid()) {
    Outgoing& next = out_.front();
    auto it = waiting_.find(next.number);
    if (next.number != 0 && it == waiting_.end()) {   // forgotten before it went
      out_.pop_front();
      continue;
    }
    std::vector<int> raw;
    for (const auto& fd : next.fds) raw.push_back(fd.get());
    auto sent = cells::send_message(socket_.get(), next.bytes, raw, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (!sent.ok()) {
      if (sent.error().err == EAGAIN) {
        writable_ = loop_.when_writable(socket_.get(), [this] { flush(); });
        return;
      }
      // A message that this socket will never take fails alone; the end of the connection is seen by reading.
      if (sent.error().err == EPIPE || sent.error().err == ECONNRESET || sent.error().err == ENOTCONN) return lost();
      auto failed = it == waiting_.end() ? Done() : std::move(it->second.done);
      if (it != waiting_.end()) waiting_.erase(it);
      out_.pop_front();
      if (failed) loop_.post([failed, error = sent.error()] { failed(error); });
      continue;
    }
    if (it != waiting_.end()) it->second.sent = true;
    out_.pop_front();
  }
}

void KeeperLink::read() {
  for (int rounds = 0; rounds < 32 && socket_.valid(); ++rounds) {
    auto got = cells::receive_message(socket_.get(), MSG_DONTWAIT);
    if (got.ok() && got.value().again) return;
    Answer answer;
    if (!got.ok() || got.value().closed || !cells::unpack(got.value().bytes, answer.told)) return lost();
    answer.fds = std::move(got.value().fds);
    auto it = waiting_.find(answer.told.number);
    if (it == waiting_.end()) continue;   // of `bind`, or of a question that nobody waits for
    if (!answer.told.last) {
      auto news = it->second.news;
      if (news) news(answer.told);
      continue;
    }
    Done done = std::move(it->second.done);
    waiting_.erase(it);
    if (answer.told.error) done(*std::move(answer.told.error));
    else done(std::move(answer));
  }
}

void KeeperLink::lost() {
  auto old = std::make_shared<std::pair<Loop::Handle, Loop::Handle>>(std::move(readable_), std::move(writable_));
  loop_.post([old] {
    old->first.reset();
    old->second.reset();
  });
  readable_ = {};
  writable_ = {};
  auto closing = std::make_shared<sys::Fd>(std::move(socket_));
  loop_.post([closing] { closing->reset(); });   // after the watches, which are on it
  socket_ = {};
  std::vector<Done> failed;
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (!it->second.sent) {
      ++it;
      continue;
    }
    failed.push_back(std::move(it->second.done));
    it = waiting_.erase(it);
  }
  std::erase_if(out_, [](const Outgoing& o) { return o.number == 0; });
  for (auto& done : failed) done(gone());
  if (!out_.empty()) need();
}

}  // namespace hotcell::server
