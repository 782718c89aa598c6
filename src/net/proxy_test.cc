// The proxy itself, with real sockets on loopback.
#include "net/proxy.h"

#include <gtest/gtest.h>

#include <sys/resource.h>

#include <atomic>

#include "net/dns.h"
#include "net/net_testing.h"

namespace hotcell::net {
namespace {

using namespace std::string_literals;
using testing::client_hello;
using testing::echo;
using testing::hear;
using testing::say;
using testing::Server;
using testing::World;

const RuleOptions kGood{.allow = {"api.good.test", "*.pkg.test"}};

std::string connect_line(const std::string& target) { return cat("CONNECT ", target, " HTTP/1.1\r\nHost: ", target, "\r\n\r\n"); }

bool wait_for(const std::function<bool()>& what) {
  for (int i = 0; i < 500 && !what(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return what();
}

TEST(Proxy, ATunnelCarriesBytesBothWaysAndDialsTheCheckedAddress) {
  Server server(echo);
  World world(kGood, &server);
  auto c = world.client();
  say(c, connect_line("API.good.test:443") + "early ");
  EXPECT_EQ(hear(c, "early "), "HTTP/1.1 200 Connection Established\r\n\r\nearly ");
  std::string big(3 << 20, 'x');
  std::thread writer([&] {
    say(c, big);
    ::shutdown(c.get(), SHUT_WR);
  });
  EXPECT_EQ(hear(c).size(), big.size());
  writer.join();
  EXPECT_EQ(world.all_dialled(), std::vector<std::string>{"203.0.113.10"});
  ASSERT_TRUE(wait_for([&] { return world.proxy->journal().stats().open == 0; }));
  auto entries = world.proxy->journal().entries();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].method, "CONNECT");
  EXPECT_EQ(entries[0].host, "api.good.test");
  EXPECT_EQ(entries[0].rule, "api.good.test");
  EXPECT_EQ(entries[0].up, big.size() + 6);
  EXPECT_GE(entries[0].down, big.size());
}

TEST(Proxy, ARefusalNamesTheRuleAndHowToAllowIt) {
  World world(kGood);
  std::string answer = world.ask(connect_line("evil.test:443"));
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 403 ")) << answer;
  EXPECT_NE(answer.find("X-Hotcell-Reason: evil.test:443 is refused: it is not on the list of allowed hosts\r\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("to allow it: --allow-domain evil.test\n"), std::string::npos);
  EXPECT_TRUE(world.all_dialled().empty());
  auto stats = world.proxy->journal().stats();
  EXPECT_EQ(stats.blocked, 1u);
  EXPECT_EQ(stats.hosts.at("evil.test"), 1u);
}

TEST(Proxy, PlainRequestsGoOnInOriginFormAndRedirectsAreNotFollowed) {
  std::string seen;
  Server server([&](const sys::Fd& fd) {
    seen = hear(fd, "body!");
    say(fd, "HTTP/1.1 302 Found\r\nLocation: http://evil.test/\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok");
  });
  World world(kGood, &server);
  auto c = world.client();
  say(c, "POST http://api.good.test/a?b HTTP/1.1\r\nHost: api.good.test\r\nProxy-Authorization: x\r\nContent-Length: 5\r\n\r\nbo");
  say(c, "dy!GET http://evil.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n");
  EXPECT_EQ(hear(c), "HTTP/1.1 302 Found\r\nLocation: http://evil.test/\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
  EXPECT_EQ(seen, "POST /a?b HTTP/1.1\r\nHost: api.good.test\r\nContent-Length: 5\r\nConnection: close\r\n\r\nbody!");
  EXPECT_EQ(world.all_dialled().size(), 1u) << "neither the redirect nor the second request was followed";
}

TEST(Proxy, ASecondAnswerAfter100ContinueAndChunkedBodies) {
  std::string seen;
  Server server([&](const sys::Fd& fd) {
    seen = hear(fd, "\r\n\r\n");
    say(fd, "HTTP/1.1 100 Continue\r\n\r\n");
    seen += hear(fd, "0\r\n\r\n");
    say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
  });
  World world(kGood, &server);
  auto c = world.client();
  say(c, "PUT http://x.pkg.test/ HTTP/1.1\r\nHost: x.pkg.test\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(hear(c, "\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  say(c, "3\r\nabc\r\n0\r\n\r\n");
  EXPECT_EQ(hear(c), "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
  EXPECT_TRUE(seen.ends_with("3\r\nabc\r\n0\r\n\r\n")) << seen;
}

TEST(Proxy, SocksNamesAreCheckedAndResolvedByUs) {
  Server server(echo);
  World world(kGood, &server);
  auto socks = [&](const std::string& name) {
    auto c = world.client();
    say(c, "\x05\x01\x00"s + "\x05\x01\x00\x03"s + static_cast<char>(name.size()) + name + "\x01\xbb"s + "hello");
    ::shutdown(c.get(), SHUT_WR);
    return hear(c);
  };
  EXPECT_EQ(socks("api.good.test"), "\x05\x00"s + "\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00"s + "hello");
  EXPECT_EQ(socks("evil.test"), "\x05\x00"s + "\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00"s);
  EXPECT_EQ(socks("evil.test\0.pkg.test"s), "\x05\x00"s + "\x05\x02\x00\x01\x00\x00\x00\x00\x00\x00"s);
}

TEST(Proxy, TheNameInTlsMustBeTheHostOfTheTunnel) {
  std::atomic<int> heard = 0;
  Server server([&](const sys::Fd& fd) { heard += static_cast<int>(hear(fd).size()); });
  World world(kGood, &server);
  auto hello = [&](const std::string& name) {
    auto c = world.client();
    std::string bytes = client_hello(name);
    say(c, connect_line("api.good.test:443"));
    hear(c, "\r\n\r\n");
    say(c, bytes.substr(0, 7));
    say(c, bytes.substr(7));
    ::shutdown(c.get(), SHUT_WR);
    return hear(c);
  };
  EXPECT_EQ(hello("API.good.test."), "");
  EXPECT_TRUE(wait_for([&] { return heard > 0; }));
  int before = heard;
  for (const char* other : {"evil.test", "x.pkg.test", ""}) EXPECT_EQ(hello(other), "\x15\x03\x03\x00\x02\x02\x70"s) << other;
  EXPECT_EQ(heard, before) << "the server was told nothing";
  EXPECT_EQ(world.proxy->journal().stats().blocked, 3u);
}

TEST(Proxy, ANameThatTurnsInwardBetweenTwoLooksIsNotDialled) {
  Server server(echo);
  World world(kGood, &server);
  EXPECT_TRUE(world.ask(connect_line("api.good.test:443")).starts_with("HTTP/1.1 200"));
  for (const char* inward : {"127.0.0.1", "169.254.169.254", "10.0.0.1", "[::1]", "[::ffff:192.168.0.1]", "[64:ff9b::a00:1]"}) {
    world.resolver->set("api.good.test", {"203.0.113.10", inward});
    std::string answer = world.ask(connect_line("api.good.test:443"));
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 403")) << inward << answer;
  }
  world.resolver->set("api.good.test", {});
  EXPECT_TRUE(world.ask(connect_line("api.good.test:443")).starts_with("HTTP/1.1 502")) << "lookup failure is not permission";
  EXPECT_EQ(world.all_dialled().size(), 1u);
}

TEST(Proxy, RulesChangeWhileItRuns) {
  Server server(echo);
  World world(kGood, &server);
  auto kept = world.client(), cut = world.client();
  say(kept, connect_line("x.pkg.test:1"));
  say(cut, connect_line("api.good.test:1"));
  hear(kept, "\r\n\r\n");
  hear(cut, "\r\n\r\n");
  world.proxy->set_rules(std::make_shared<RuleSet>(RuleSet::create({.allow = {"*.pkg.test"}}).value()));
  EXPECT_EQ(hear(cut), "") << "a tunnel that is no longer allowed ends";
  say(kept, "still");
  EXPECT_EQ(hear(kept, "still"), "still");
  EXPECT_TRUE(world.ask(connect_line("api.good.test:1")).starts_with("HTTP/1.1 403"));
}

TEST(Proxy, LimitsOfBytesConnectionsTimeAndBandwidth) {
  Server server(echo);
  {
    World world(kGood, &server, {.bytes = 100'000});
    std::string out = world.ask(connect_line("x.pkg.test:1") + std::string(300'000, 'x'));
    EXPECT_LT(out.size(), 110'000u);
    EXPECT_NE(world.ask(connect_line("x.pkg.test:1")).find("used up"), std::string::npos);
  }
  {
    World world(kGood, &server, {.connections = 1});
    auto first = world.client();
    say(first, connect_line("x.pkg.test:1"));
    hear(first, "\r\n\r\n");
    EXPECT_TRUE(hear(world.client()).starts_with("HTTP/1.1 503"));
    auto refusals = world.proxy->journal().refusals();
    ASSERT_EQ(refusals.size(), 1u);
    EXPECT_EQ(refusals[0].first.reason, "more than 1 connections at once");
    EXPECT_EQ(refusals[0].first.how, "--network-connections");
  }
  {
    World world(kGood, &server, {.life = std::chrono::milliseconds(300)});
    auto c = world.client();
    say(c, connect_line("x.pkg.test:1"));
    EXPECT_EQ(hear(c), "HTTP/1.1 200 Connection Established\r\n\r\n");
    ASSERT_TRUE(wait_for([&] { return world.proxy->journal().entries().size() == 1; }));
    EXPECT_NE(world.proxy->journal().entries()[0].reason.find("its time was up"), std::string::npos);
    EXPECT_TRUE(world.ask(connect_line("x.pkg.test:1")).starts_with("HTTP/1.1 200")) << "of one connection, not of all";
  }
  {
    World world(kGood, &server, {.time = std::chrono::milliseconds(600)});
    auto c = world.client();
    say(c, connect_line("x.pkg.test:1"));
    EXPECT_EQ(hear(c), "HTTP/1.1 200 Connection Established\r\n\r\n") << "what is open is ended";
    EXPECT_NE(world.ask(connect_line("x.pkg.test:1")).find("to allow it: --network-time"), std::string::npos);
  }
  {
    World world(kGood, &server, {.head = std::chrono::milliseconds(300), .idle = std::chrono::milliseconds(300)});
    auto slow = world.client(), idle = world.client();
    say(slow, "CONNECT ");
    say(idle, connect_line("x.pkg.test:1"));
    EXPECT_TRUE(hear(slow).starts_with("HTTP/1.1 408"));
    EXPECT_EQ(hear(idle), "HTTP/1.1 200 Connection Established\r\n\r\n");
  }
  {
    World world(kGood, &server, {.bytes_per_second = 1'000'000});
    auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(world.ask(connect_line("x.pkg.test:1") + std::string(500'000, 'x')).size(), 500'000u + 39u);
    auto took = std::chrono::steady_clock::now() - begin;
    EXPECT_GT(took, std::chrono::milliseconds(500)) << "a megabyte in both directions together";
    EXPECT_LT(took, std::chrono::seconds(5));
  }
}

// What is read ahead (bodies, heads, the first bytes of a tunnel) is paid for like everything else, or many short connections would
// go round the limit.
TEST(Proxy, TheRateHoldsForManyShortConnections) {
  std::atomic<std::size_t> arrived{0};
  Server server([&](const sys::Fd& fd) {
    std::string head = hear(fd, "\r\n\r\n");
    std::size_t body = head.size() - (head.find("\r\n\r\n") + 4);
    for (char chunk[16 << 10]; body < 60'000;) {
      ssize_t n = ::recv(fd.get(), chunk, sizeof chunk, 0);
      if (n <= 0) break;
      body += static_cast<std::size_t>(n);
    }
    arrived += body;
    say(fd, cat("HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n", std::string(40'000, 'y')));
  });
  World world(kGood, &server, {.bytes_per_second = 500'000});
  auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> clients;
  std::atomic<std::size_t> came{0};
  for (int i = 0; i < 8; ++i)
    clients.emplace_back([&] {
      came += world.ask(cat("POST http://api.good.test/ HTTP/1.1\r\nHost: api.good.test\r\nContent-Length: 60000\r\n\r\n", std::string(60'000, 'x'))).size();
    });
  for (auto& c : clients) c.join();
  auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(arrived, 480'000u);
  EXPECT_GT(came, 320'000u);
  EXPECT_GT(took, std::chrono::milliseconds(1400)) << "800 000 bytes at 500 000 in a second, a tenth of it at once";
}

TEST(Proxy, WhatCannotBeReachedHasFailedAndWasNotRefused) {
  World world(kGood);   // whatever it dials refuses the connection
  world.resolver->set("gone.pkg.test", {});
  EXPECT_TRUE(world.ask(connect_line("x.pkg.test:1")).starts_with("HTTP/1.1 502"));
  EXPECT_TRUE(world.ask(connect_line("gone.pkg.test:1")).starts_with("HTTP/1.1 502"));
  EXPECT_TRUE(world.ask(connect_line("evil.test:1")).starts_with("HTTP/1.1 403"));
  auto stats = world.proxy->journal().stats();
  EXPECT_EQ(stats.failed, 2u);
  EXPECT_EQ(stats.blocked, 1u);
  auto refusals = world.proxy->journal().refusals();
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals[0].first.host, "evil.test");
  ASSERT_EQ(stats.notices.size(), 2u) << "the user is told all the same";
  EXPECT_NE(stats.notices[0].find("x.pkg.test:1 cannot be reached"), std::string::npos) << stats.notices[0];
  // A flood of them fills neither the notices nor the part of the log that refusals have.
  for (int port = 2; port < 60; ++port) world.ask(connect_line(cat("x.pkg.test:", port)));
  EXPECT_EQ(world.proxy->journal().stats().notices.size(), 4u);
}

TEST(Proxy, NoMoreBytesThanTheLimitAreSentHoweverManyWereReadAhead) {
  std::atomic<std::size_t> arrived{0};
  Server server([&](const sys::Fd& fd) { arrived += hear(fd).size(); });
  World world(kGood, &server, {.bytes = 5'000});
  std::string body(100'000, 'x');
  world.ask(cat("POST http://api.good.test/ HTTP/1.1\r\nHost: api.good.test\r\nContent-Length: 100000\r\n\r\n", body));
  world.ask(connect_line("x.pkg.test:1") + body);
  ASSERT_TRUE(wait_for([&] { return arrived > 0; }));
  EXPECT_LE(arrived, 5'000u);
}

TEST(Proxy, DnsAnswersOnlyAllowedNamesAndOnlyAddresses) {
  World world({.allow = {"api.good.test", "*.pkg.test"}});
  auto ask = [&](std::string_view name, int type) { return testing::ask_name(world.dns_port, name, type); };
  auto code = [](const std::string& answer) { return testing::dns_code(answer); };
  EXPECT_TRUE(ask("api.good.test", kDnsA).ends_with("\xcb\x00\x71\x0a"s));
  EXPECT_EQ(code(ask("api.good.test", kDnsAaaa)), 0);
  EXPECT_EQ(code(ask("c2VjcmV0.evil.test", kDnsA)), 5);
  EXPECT_EQ(code(ask("evil.test", 16)), 5);
  EXPECT_EQ(code(ask("api.good.test", 16)), 5) << "TXT of an allowed name carries data just as well";
  EXPECT_EQ(code(ask("nowhere.pkg.test", kDnsA)), 3);
  world.resolver->set("rebind.pkg.test", {"127.0.0.1"});
  EXPECT_EQ(code(ask("rebind.pkg.test", kDnsA)), 5);
  for (int i = 0; i < 60; ++i) ask(cat("chunk", i, ".evil.test"), kDnsA);
  EXPECT_EQ(world.proxy->journal().stats().notices.size(), 1u);
}

TEST(Proxy, NamesInRequestsAreWatchedAsThoseAskedByDns) {
  Server server(echo);
  World world({.allow = {"*.pkg.test"}}, &server);
  auto notices = [&] {
    auto all = world.proxy->journal().stats().notices;
    std::erase_if(all, [](const std::string& text) { return text.find(" has no address") != std::string::npos; });
    return all;
  };
  world.ask(connect_line("x.pkg.test:443"));
  EXPECT_TRUE(notices().empty());
  // A tenth of them by SOCKS, a few by plain HTTP, the rest by CONNECT: they are looked up, so that whoever serves the names hears them.
  for (int i = 0; i < 60; ++i) {
    std::string name = cat("chunk", i, ".pkg.test");
    if (i % 10 == 0) world.ask("\x05\x01\x00"s + "\x05\x01\x00\x03"s + static_cast<char>(name.size()) + name + "\x01\xbb"s);
    else if (i % 10 == 1) world.ask(cat("GET http://", name, "/ HTTP/1.1\r\nHost: ", name, "\r\n\r\n"));
    else world.ask(connect_line(name + ":443"));
  }
  ASSERT_EQ(notices().size(), 1u);
  EXPECT_EQ(notices()[0], "DNS tunnel? 50 different names were asked for below pkg.test");
  world.ask(connect_line(std::string(45, 'a') + ".pkg.test:443"));
  ASSERT_EQ(notices().size(), 2u);
  EXPECT_EQ(notices()[1], "DNS tunnel? Names with long labels are asked for below pkg.test");
}

TEST(Proxy, ASlowDripIsNoticedAcrossConnections) {
  Server server(echo);
  const auto pause = std::chrono::milliseconds(20);
  World world(kGood, &server, {.drip = pause});
  auto notices = [&] { return world.proxy->journal().stats().notices; };
  for (int i = 0; i < 40 && notices().empty(); ++i) {
    world.ask(connect_line("x.pkg.test:443") + "drop");  // a connection of its own for each
    std::this_thread::sleep_for(2 * pause);
  }
  ASSERT_EQ(notices().size(), 1u);
  EXPECT_EQ(notices()[0], "slow drip: 30 small uploads, one by one, to x.pkg.test:443");
}

TEST(Proxy, WhatIsSentAtOnceOrIsLargeIsNoDrip) {
  Server server(echo);
  World world(kGood, &server, {.drip = std::chrono::milliseconds(20)});
  for (int i = 0; i < 40; ++i) {
    world.ask(connect_line("x.pkg.test:443") + std::string(8000, 'x'));
    std::this_thread::sleep_for(std::chrono::milliseconds(40));
  }
  World quick(kGood, &server, {.drip = std::chrono::milliseconds(60'000)});
  for (int i = 0; i < 40; ++i) quick.ask(connect_line("x.pkg.test:443") + "drop");
  EXPECT_TRUE(world.proxy->journal().stats().notices.empty());
  EXPECT_TRUE(quick.proxy->journal().stats().notices.empty());
}

TEST(Proxy, TwoThousandTunnelsAtOnce) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  rlimit more{std::min<rlim_t>(files.rlim_max, 16384), files.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &more);
  const std::size_t count = more.rlim_cur >= 10'000 ? 2000 : 200;
  // Accepts them all and holds them; only then each is spoken to.
  std::vector<std::shared_ptr<sys::Fd>> held;
  std::mutex mutex;
  Server server([&](const sys::Fd& fd) {
    std::lock_guard lock(mutex);
    held.push_back(std::make_shared<sys::Fd>(::dup(fd.get())));
  });
  World world(kGood, &server);
  std::vector<sys::Fd> clients;
  for (std::size_t i = 0; i < count; ++i) {
    clients.push_back(world.client());
    say(clients.back(), connect_line("x.pkg.test:443"));
  }
  std::size_t open = 0, heard = 0;
  for (auto& c : clients) open += hear(c, "\r\n\r\n").starts_with("HTTP/1.1 200");
  EXPECT_EQ(open, count);
  ASSERT_TRUE(wait_for([&] { std::lock_guard lock(mutex); return held.size() == count; }));
  EXPECT_EQ(world.proxy->journal().stats().open, count);
  for (auto& c : clients) say(c, "ping");
  for (auto& f : held) heard += hear(*f, "ping") == "ping";
  EXPECT_EQ(heard, count);
  clients.clear();
  held.clear();
  EXPECT_TRUE(wait_for([&] { return world.proxy->journal().stats().open == 0; }));
  ::setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace
}  // namespace hotcell::net
