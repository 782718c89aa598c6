#include "net/resolver.h"

#include <ares.h>
#include <netdb.h>
#include <poll.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "base/strings.h"
#include "sys/thread.h"

namespace hotcell::net {
namespace {

constexpr unsigned kThreads = 4;
constexpr std::size_t kMostWaiting = 4096;
constexpr int kTimeoutMs = 2000, kTries = 3;

struct Answer {
  bool done = false;
  int status = ARES_SUCCESS;
  std::vector<Address> addresses;
};

void on_answer(void* raw, int status, int, ares_addrinfo* info) {
  auto& answer = *static_cast<Answer*>(raw);
  answer.done = true;
  answer.status = status;
  for (auto* n = info != nullptr ? info->nodes : nullptr; n != nullptr; n = n->ai_next)
    if (auto a = Address::from(n->ai_addr)) answer.addresses.push_back(*a);
  if (info != nullptr) ares_freeaddrinfo(info);
}

// c-ares waits through us, in the thread that asks.
Result<std::vector<Address>> look_up(const std::string& name, const std::atomic<bool>& stop) {
  ares_options options{};
  options.timeout = kTimeoutMs;
  options.tries = kTries;
  options.flags = ARES_FLAG_NOSEARCH;
  ares_channel channel = nullptr;
  // A channel of its own for each: the host's settings may have changed since the last.
  if (int s = ares_init_options(&channel, &options, ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_FLAGS); s != ARES_SUCCESS)
    return make_error(ErrorCode::kIo, cat("resolver: ", ares_strerror(s)));
  Answer answer;
  ares_addrinfo_hints hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  ares_getaddrinfo(channel, name.c_str(), nullptr, &hints, on_answer, &answer);
  while (!answer.done) {
    std::array<ares_socket_t, ARES_GETSOCK_MAXNUM> sockets{};
    auto mask = static_cast<unsigned>(ares_getsock(channel, sockets.data(), ARES_GETSOCK_MAXNUM));
    std::vector<pollfd> fds;
    for (unsigned i = 0; i < ARES_GETSOCK_MAXNUM; ++i) {
      short events = 0;
      if (ARES_GETSOCK_READABLE(mask, i)) events |= POLLIN;
      if (ARES_GETSOCK_WRITABLE(mask, i)) events |= POLLOUT;
      if (events != 0) fds.push_back({sockets[i], events, 0});
    }
    if (stop) ares_cancel(channel);  // answers what is open
    timeval most{0, 100'000}, wait{};
    timeval* next = ares_timeout(channel, &most, &wait);
    ::poll(fds.data(), fds.size(), static_cast<int>(next->tv_sec * 1000 + next->tv_usec / 1000 + 1));
    bool any = false;
    for (const auto& f : fds) {
      if (f.revents == 0) continue;
      any = true;
      ares_process_fd(channel, f.revents & (POLLIN | POLLERR | POLLHUP) ? f.fd : ARES_SOCKET_BAD,
                      f.revents & POLLOUT ? f.fd : ARES_SOCKET_BAD);
    }
    if (!any) ares_process_fd(channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
  }
  ares_destroy(channel);
  if (answer.status != ARES_SUCCESS) return make_error(ErrorCode::kNotFound, cat(name, ": ", ares_strerror(answer.status)));
  return std::move(answer.addresses);
}

class HostResolver final : public Resolver {
 public:
  HostResolver() {
    // It counts who uses it without a lock, and several cells may begin at once. What it holds is not worth giving back.
    static const int once = ares_library_init(ARES_LIB_INIT_ALL);
    (void)once;
    for (unsigned i = 0; i < kThreads; ++i) {
      auto thread = sys::quiet_thread([this] { work(); });
      if (!thread.ok()) break;   // fewer will do
      threads_.push_back(std::move(thread).value());
    }
  }
  ~HostResolver() override {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (auto& t : threads_) t.join();
  }

  void resolve(const std::string& name, Done done) override {
    if (threads_.empty()) return done(make_error(ErrorCode::kLimit, "no thread can be started to look names up"));
    std::unique_lock lock(mutex_);
    if (waiting_.size() >= kMostWaiting) {
      lock.unlock();
      return done(make_error(ErrorCode::kLimit, "too many names are being looked up"));
    }
    waiting_.emplace_back(name, std::move(done));
    lock.unlock();
    wake_.notify_one();
  }

 private:
  void work() {
    for (;;) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return stop_ || !waiting_.empty(); });
      if (stop_) return;
      auto [name, done] = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      done(look_up(name, stop_));
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::pair<std::string, Done>> waiting_;
  std::atomic<bool> stop_ = false;
  std::vector<std::thread> threads_;   // all of them from the beginning on
};

class MappedResolver final : public Resolver {
 public:
  MappedResolver(std::map<std::string, std::vector<Address>> names, std::shared_ptr<Resolver> other)
      : names_(std::move(names)), other_(std::move(other)) {}
  void resolve(const std::string& name, Done done) override {
    auto it = names_.find(name);
    if (it == names_.end()) return other_->resolve(name, std::move(done));
    done(it->second);
  }

 private:
  std::map<std::string, std::vector<Address>> names_;
  std::shared_ptr<Resolver> other_;
};

}  // namespace

std::shared_ptr<Resolver> host_resolver() { return std::make_shared<HostResolver>(); }

std::shared_ptr<Resolver> mapped_resolver(std::map<std::string, std::vector<Address>> names, std::shared_ptr<Resolver> other) {
  return std::make_shared<MappedResolver>(std::move(names), std::move(other));
}

}  // namespace hotcell::net
