// One client of the proxy, from its first byte to its last. A state machine without a loop of its own: the proxy's
// epoll tells it what is ready.
#pragma once
#include <chrono>
#include <optional>

#include "net/http_request.h"
#include "net/proxy.h"
#include "net/relay.h"
#include "net/socks.h"
#include "net/watcher.h"

namespace hotcell::net {

using Clock = std::chrono::steady_clock;

enum class Spent : unsigned char { kNothing, kBytes, kTime };
Decision spent_decision(Spent what);

// What a connection needs of the proxy it belongs to.
class Door {
 public:
  virtual ~Door() = default;
  virtual std::shared_ptr<const RuleSet> rules() const = 0;
  virtual void look_up(std::uint64_t connection, const std::string& name) = 0;
  virtual bool own(const Address& address) const = 0;  // this machine's
  virtual Result<sys::Fd> dial(std::uint64_t connection, const Address& address, std::uint16_t port) = 0;
  // The same connection, or what stands for it when secrets are to be put into it.
  virtual Result<sys::Fd> through(std::uint64_t connection, const Target& target, sys::Fd server) = 0;
  virtual std::uint64_t allowance() const = 0;  // bytes that may be moved now
  virtual Spent spent() const = 0;              // what the whole door may have and has had
  virtual void spend(std::uint64_t taken) = 0;   // of the allowance

  PipePool pipes;
  ProxyLimits limits;
  bool check_sni = true;
  Log* log = nullptr;
  Watcher* watcher = nullptr;
};

class Connection {
 public:
  Connection(Door& door, std::uint64_t id, sys::Fd client);
  ~Connection();

  enum class After : unsigned char { kWait, kAgain, kThrottled, kGone };
  After run();                                          // as far as it goes
  void on_event(bool server, std::uint32_t events);
  void on_looked_up(Result<std::vector<Address>> found);
  bool on_tick(Clock::time_point now);                  // true: something is to be done
  bool still_allowed(const RuleSet& rules) const;
  void end(std::string_view why);

 private:
  enum class State : unsigned char { kHead, kSocks, kLooking, kDialling, kTunnel, kPlain, kLast, kDead };
  enum class Fill : unsigned char { kMore, kFull, kEnd, kBroken };
  Fill fill(std::string& buffer, End& from, std::size_t most);
  void read_head();
  void read_socks();
  void decide();
  void dial_next();
  void connected();
  Decision check_address(const Address& address) const;
  void sniff();
  void sniff_hello();
  void sniff_answer();
  void sniff_second();
  void refuse_tls(std::string_view why);
  void pass_body();
  bool read_response();                                 // true: there is more than it has read
  After relay();
  void last_words();
  void refuse(int status, Decision decision, std::string socks_text = {});
  void fail(int status, std::string_view rule, std::string reason);
  LogEntry entry() const;
  void write_log();
  void die() { state_ = State::kDead; }

  Door& door_;
  const std::uint64_t id_;
  State state_ = State::kHead;
  End client_, server_;
  Relay up_, down_;
  std::string buffer_, response_;
  // A tunnel's first words: what the client says; what a server says to TLS; what the client must say again for that.
  enum class Sniff : unsigned char { kHello, kAnswer, kSecond, kDone };
  Sniff sniff_ = Sniff::kDone;
  bool socks_ = false, greeted_ = false, response_begun_ = false, logged_ = false, lingering_ = false, told_open_ = false, failed_ = false;
  ProxyRequest request_;
  std::optional<BodyReader> body_;
  std::vector<Address> addresses_;
  std::size_t next_address_ = 0;
  std::optional<Address> address_;
  Decision decision_;
  Clock::time_point born_, deadline_, last_moved_;
  std::chrono::system_clock::time_point born_wall_;
  std::uint64_t counted_up_ = 0, counted_down_ = 0;
};

}  // namespace hotcell::net
