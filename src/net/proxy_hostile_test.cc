// What a hostile program, or a hostile server that it may talk to, does to the proxy.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <future>

#include "net/net_testing.h"

namespace hotcell::net {
namespace {

using namespace std::string_literals;
using testing::client_hello;
using testing::connect_to;
using testing::echo;
using testing::hear;
using testing::kLoopback;
using testing::say;
using testing::Server;
using testing::TableResolver;
using testing::World;

const RuleOptions kGood{.allow = {"api.good.test", "*.pkg.test"}};

std::string connect_line(const std::string& target) { return cat("CONNECT ", target, " HTTP/1.1\r\nHost: ", target, "\r\n\r\n"); }

bool wait_for(const std::function<bool()>& what) {
  for (int i = 0; i < 500 && !what(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return what();
}

// For what a World does not let a test choose.
ProxyOptions options_for(const RuleOptions& rules, std::map<std::string, std::vector<std::string>> names) {
  ProxyOptions out;
  out.listener = listen_tcp(kLoopback, 0).value();
  out.rules = std::make_shared<RuleSet>(RuleSet::create(rules).value());
  auto resolver = std::make_shared<TableResolver>();
  resolver->set(std::move(names));
  out.resolver = std::move(resolver);
  return out;
}

// splice() to a socket that was reset behind its end raises SIGPIPE, and the process may be anybody's.
TEST(ProxyHostile, AResetDoesNotEndTheProcess) {
  auto before = std::signal(SIGPIPE, SIG_DFL);
  std::promise<void> reset;
  auto was_reset = reset.get_future();
  Server server([&](const sys::Fd& fd) {
    hear(fd);
    was_reset.wait();
    for (int i = 0; i < 20; ++i) {
      say(fd, std::string(100'000, 'x'));
      ::usleep(5000);
    }
  });
  World world(kGood, &server);
  {
    auto c = world.client();
    say(c, connect_line("api.good.test:443") + "hello");
    hear(c, "\r\n\r\n");
    ::shutdown(c.get(), SHUT_WR);
    ::usleep(50'000);
    linger now{1, 0};
    ::setsockopt(c.get(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  ::usleep(50'000);
  reset.set_value();
  EXPECT_TRUE(wait_for([&] { return world.proxy->journal().stats().open == 0; }));
  EXPECT_TRUE(world.ask(connect_line("evil.test:443")).starts_with("HTTP/1.1 403"));
  std::signal(SIGPIPE, before);
}

TEST(ProxyHostile, RulesCanBeSetWhenItIsClosed) {
  auto world = std::make_shared<World>(kGood);
  world->proxy->close();
  auto done = std::make_shared<std::promise<void>>();
  auto set = done->get_future();
  std::thread([world, done] {
    world->proxy->set_rules(std::make_shared<RuleSet>(RuleSet::create(kGood).value()));
    done->set_value();
  }).detach();  // it would wait for ever
  EXPECT_EQ(set.wait_for(std::chrono::seconds(10)), std::future_status::ready);
}

// Interim answers without end: neither memory nor the time of the others may go into them.
TEST(ProxyHostile, AServerThatNeverComesToItsAnswerTakesNothingFromTheOthers) {
  std::atomic<std::uint64_t> sent = 0;
  std::atomic<bool> stopped = false;
  Server server([&](const sys::Fd& fd) {
    hear(fd, "\r\n\r\n");
    std::string many;
    for (int i = 0; i < 1000; ++i) many += "HTTP/1.1 100 Continue\r\n\r\n";
    timeval limit{1, 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    for (ssize_t n; (n = ::send(fd.get(), many.data(), many.size(), MSG_NOSIGNAL)) > 0;) sent += static_cast<std::uint64_t>(n);
    stopped = true;
  });
  World world(kGood, &server);
  auto c = world.client();
  say(c, "GET http://api.good.test/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n");
  ASSERT_TRUE(wait_for([&] { return sent > 0; }));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(world.ask(connect_line("evil.test:443")).starts_with("HTTP/1.1 403")) << i;
  for (int i = 0; i < 6000 && !stopped; ++i) ::usleep(10'000);  // megabytes of little heads, before the sockets are full
  EXPECT_TRUE(stopped);
  EXPECT_LT(sent, 64u << 20) << "a client that does not read stops the server";
  // A client that does read gets all of them.
  std::string some = hear(c, "100 Continue\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_TRUE(some.starts_with("HTTP/1.1 100 Continue\r\n\r\n")) << some.substr(0, 100);
}

TEST(ProxyHostile, ALateAnswerComesBehindManyInterimOnes) {
  Server server([&](const sys::Fd& fd) {
    hear(fd, "\r\n\r\n");
    for (int i = 0; i < 500; ++i) say(fd, "HTTP/1.1 102 Processing\r\n\r\n");
    say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  });
  World world(kGood, &server);
  std::string all = world.ask("GET http://api.good.test/ HTTP/1.1\r\nHost: api.good.test\r\n\r\n");
  EXPECT_TRUE(all.ends_with("\r\n\r\nok")) << all.substr(all.size() > 200 ? all.size() - 200 : 0);
  std::size_t interim = 0;
  for (std::size_t at = 0; (at = all.find("102 Processing", at)) != std::string::npos; ++at) ++interim;
  EXPECT_EQ(interim, 500u);
}

const std::string kRetry = "\x16\x03\x03\x00\x2c\x02\x00\x00\x28\x03\x03"s
    "\xCF\x21\xAD\x74\xE5\x9A\x61\x11\xBE\x1D\x8C\x02\x1E\x65\xB8\x91\xC2\xA2\x11\x16\x7A\xBB\x8C\x5E\x07\x9E\x09\xE2\xC8\xA8\x33\x9C"s
    "\x00\x13\x01\x00\x00\x00"s;
const std::string kNothingMuch = "\x14\x03\x03\x00\x01\x01"s, kEarly = "\x17\x03\x03\x00\x05later"s, kAlert = "\x15\x03\x03\x00\x02\x02\x70"s;

// A server that asks for a second hello goes by the name in that one.
class SecondHello : public ::testing::Test {
 protected:
  // Whether the second hello got to the server, and the last that the client heard.
  std::string second(const std::string& between, const std::string& hello, bool at_once) {
    {
      std::lock_guard lock(mutex);
      heard.clear();
    }
    auto c = world.client();
    const std::string first = client_hello("api.good.test");
    say(c, connect_line("api.good.test:443"));
    hear(c, "\r\n\r\n");
    say(c, at_once ? first + between + hello : first);
    std::string answer;
    if (!at_once) {
      answer = hear(c, kRetry);
      for (char byte : between + hello) say(c, {&byte, 1});
    }
    ::shutdown(c.get(), SHUT_WR);
    return answer + hear(c);
  }
  std::string all_heard() {
    std::lock_guard lock(mutex);
    return heard;
  }
  std::mutex mutex;
  std::string heard;
  Server server{[this](const sys::Fd& fd) {
    const std::string first = client_hello("api.good.test");
    std::string got = hear(fd, first);
    say(fd, kRetry);
    got += hear(fd);
    std::lock_guard lock(mutex);
    heard = got;
  }};
  World world{kGood, &server};
};

TEST_F(SecondHello, MustAskForTheSameServer) {
  for (bool at_once : {false, true})
    for (const std::string& between : {std::string(), kNothingMuch, kNothingMuch + kEarly + kEarly, kEarly}) {
      EXPECT_EQ(second(between, client_hello("API.good.test") + kEarly, at_once), kRetry) << at_once;
      EXPECT_TRUE(wait_for([&] { return all_heard().ends_with(client_hello("API.good.test") + kEarly); })) << at_once;
      // One that was sent before the server could ask for it is refused as soon as that is known.
      EXPECT_TRUE(second(between, client_hello("evil.test"), at_once).ends_with(kAlert)) << at_once;
      EXPECT_TRUE(wait_for([&] { return !all_heard().empty(); }));
      EXPECT_EQ(all_heard().find("evil.test"), std::string::npos) << at_once;
    }
  EXPECT_EQ(second("", client_hello(""), false), kRetry + kAlert) << "nor none";
  EXPECT_EQ(second("", "GET / HTTP/1.1\r\n\r\n", false), kRetry + kAlert);
  ASSERT_EQ(world.proxy->journal().refusals().size(), 1u);
  EXPECT_EQ(world.proxy->journal().refusals()[0].first.rule, "sni");
}

TEST(ProxyHostile, AServerThatAnswersAtOnceIsNotAskedTwice) {
  const std::string answer = "\x16\x03\x03\x00\x2c\x02\x00\x00\x28\x03\x03"s + std::string(32, 'r') + "\x00\x13\x01\x00\x00\x00"s;
  Server server([&](const sys::Fd& fd) {
    hear(fd, client_hello("api.good.test"));
    say(fd, answer.substr(0, 20));
    ::usleep(20'000);
    say(fd, answer.substr(20));
    echo(fd);
  });
  World world(kGood, &server);
  auto c = world.client();
  say(c, connect_line("api.good.test:443"));
  hear(c, "\r\n\r\n");
  say(c, client_hello("api.good.test"));
  EXPECT_EQ(hear(c, answer), answer);
  const std::string big(1 << 20, 'x');  // whatever it is: it is theirs
  std::thread writer([&] {
    say(c, big);
    ::shutdown(c.get(), SHUT_WR);
  });
  EXPECT_EQ(hear(c).size(), big.size());
  writer.join();
}

TEST(ProxyHostile, TlsInAnOddRecordIsNotLetThroughUnread) {
  std::atomic<int> heard = 0;
  Server server([&](const sys::Fd& fd) { heard += static_cast<int>(hear(fd).size()); });
  World world(kGood, &server);
  std::string odd = client_hello("evil.test");
  odd[1] = 1;
  const std::string ssl2 = "\x80\x1c\x01\x03\x03\x00\x03\x00\x00\x00\x10"s + "\x00\x00\x35"s + std::string(16, 'c');
  for (const std::string& hello : {odd, ssl2}) {
    auto c = world.client();
    say(c, connect_line("api.good.test:443"));
    hear(c, "\r\n\r\n");
    say(c, hello);
    EXPECT_EQ(hear(c), kAlert);
  }
  EXPECT_EQ(heard, 0);
}

// The rules are changed while the first of two addresses is being tried.
TEST(ProxyHostile, TheNextAddressIsCheckedByTheRulesOfThen) {
  auto options = options_for({.mode = RuleMode::kOpen}, {{"two.test", {"203.0.113.20", "203.0.113.21"}}});
  const auto port = port_of(options.listener.get()).value();
  sys::Fd busy(::eventfd(0xfffffffe, EFD_NONBLOCK | EFD_CLOEXEC));
  std::uint64_t full = ~std::uint64_t{0} - 1 - 0xfffffffe, count = 0;
  ASSERT_EQ(::write(busy.get(), &full, sizeof full), 8);  // not writable: a connection that is under way
  std::mutex mutex;
  std::vector<std::string> dialled;
  options.dial = [&](const Address& address, std::uint16_t) -> Result<sys::Fd> {
    std::lock_guard lock(mutex);
    dialled.push_back(address.text());
    return sys::Fd(::fcntl(busy.get(), F_DUPFD_CLOEXEC, 3));
  };
  auto proxy = Proxy::start(std::move(options)).value();
  auto c = connect_to(port);
  say(c, connect_line("two.test:443"));
  auto tried = [&] {
    std::lock_guard lock(mutex);
    return dialled;
  };
  ASSERT_TRUE(wait_for([&] { return tried().size() == 1; }));
  proxy->set_rules(std::make_shared<RuleSet>(RuleSet::create({.mode = RuleMode::kOpen, .block = {"203.0.113.21"}}).value()));
  ASSERT_EQ(::read(busy.get(), &count, sizeof count), 8);  // and now it has failed
  EXPECT_TRUE(hear(c).starts_with("HTTP/1.1 403"));
  EXPECT_EQ(tried(), std::vector<std::string>{"203.0.113.20"});
}

TEST(ProxyHostile, ThisMachinesOwnAddressIsNotDialled) {
  EXPECT_TRUE(leads_here(kLoopback));
  EXPECT_FALSE(leads_here(*parse_v4("203.0.113.77")));
  auto options = options_for({.mode = RuleMode::kOpen}, {{"here.test", {"203.0.113.7"}}, {"there.test", {"203.0.113.8"}}});
  const auto port = port_of(options.listener.get()).value();
  options.own = [](const Address& address) { return address.text() == "203.0.113.7"; };
  options.dial = [](const Address&, std::uint16_t) -> Result<sys::Fd> { return errno_error("connect", ECONNREFUSED); };
  auto proxy = Proxy::start(std::move(options)).value();
  auto ask = [&](const std::string& target) {
    auto c = connect_to(port);
    say(c, connect_line(target));
    return hear(c);
  };
  for (const char* target : {"here.test:443", "203.0.113.7:443"}) {
    std::string answer = ask(target);
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 403")) << answer;
    EXPECT_NE(answer.find("is this host's own, which is out of reach by default"), std::string::npos) << answer;
  }
  EXPECT_TRUE(ask("there.test:443").starts_with("HTTP/1.1 502")) << "it was dialled";
}

// DNS as whoever dials: on the port that a rule has, and for no address of this machine. The log has what was answered.
TEST(ProxyHostile, DnsAnswersWhatMayBeDialledAndLogsTheAnswer) {
  auto options = options_for({.allow = {"ssh.test:22", "here.test", "there.test", "nobody.test", "inside.test"}, .allow_private = {"10.0.0.0/8:22"}},
                             {{"ssh.test", {"10.0.0.7"}}, {"here.test", {"203.0.113.7"}}, {"there.test", {"203.0.113.8"}}, {"inside.test", {"192.168.0.1"}}});
  options.dns = bind_udp(kLoopback, 0).value();
  const auto port = port_of(options.dns.get()).value();
  options.own = [](const Address& address) { return address.text() == "203.0.113.7"; };
  auto proxy = Proxy::start(std::move(options)).value();
  auto code = [&](std::string_view name) { return testing::dns_code(testing::ask_name(port, name)); };
  EXPECT_TRUE(testing::ask_name(port, "there.test").ends_with("\xcb\x00\x71\x08"s));
  EXPECT_TRUE(testing::ask_name(port, "ssh.test").ends_with("\x0a\x00\x00\x07"s)) << "allowed on port 22 alone, with its address";
  EXPECT_EQ(code("here.test"), 5);
  EXPECT_EQ(code("inside.test"), 5);
  EXPECT_EQ(code("nobody.test"), 3);
  auto entries = proxy->journal().entries();
  ASSERT_EQ(entries.size(), 5u);
  const bool allowed[] = {true, true, false, false, false}, failed[] = {false, false, false, false, true};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    EXPECT_EQ(entries[i].allowed, allowed[i]) << entries[i].host << ": " << entries[i].reason;
    EXPECT_EQ(entries[i].failed, failed[i]) << entries[i].host << ": " << entries[i].reason;
  }
  EXPECT_EQ(entries[2].rule, "private");
  EXPECT_NE(entries[2].reason.find("is this host's own"), std::string::npos) << entries[2].reason;
  auto stats = proxy->journal().stats();
  EXPECT_EQ(stats.allowed, 2u);
  EXPECT_EQ(stats.blocked, 2u);
  EXPECT_EQ(stats.failed, 1u);
  EXPECT_TRUE(stats.notices.empty()) << "names that nobody has are no news";
}

// A connection to this machine's own address stands on --allow-private alone, and falls with it.
TEST(ProxyHostile, AConnectionToThisMachineEndsWhenItIsNoLongerAllowed) {
  Server server(echo);
  auto options = options_for({.mode = RuleMode::kOpen, .allow_private = {"here.test"}}, {{"here.test", {"203.0.113.7"}}, {"there.test", {"203.0.113.8"}}});
  const auto port = port_of(options.listener.get()).value();
  options.own = [](const Address& address) { return address.text() == "203.0.113.7"; };
  options.dial = [&](const Address&, std::uint16_t) -> Result<sys::Fd> {
    sockaddr_storage to;
    socklen_t size = testing::kLoopback.fill(to, server.port());
    sys::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), size) < 0 && errno != EINPROGRESS) return errno_error("connect", errno);
    return fd;
  };
  auto proxy = Proxy::start(std::move(options)).value();
  auto here = connect_to(port), there = connect_to(port);
  for (auto [fd, name] : {std::pair(&here, "here.test:443"), {&there, "there.test:443"}}) {
    say(*fd, connect_line(name));
    ASSERT_TRUE(hear(*fd, "\r\n\r\n").starts_with("HTTP/1.1 200")) << name;
    say(*fd, "hello");
    ASSERT_EQ(hear(*fd, "hello"), "hello") << name;
  }
  proxy->set_rules(std::make_shared<RuleSet>(RuleSet::create({.mode = RuleMode::kOpen}).value()));
  say(here, "still");
  EXPECT_EQ(hear(here, "still"), "") << "it is closed";
  say(there, "still");
  EXPECT_EQ(hear(there, "still"), "still");
}

}  // namespace
}  // namespace hotcell::net
