#include "core/remote/wire.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/strings.h"
#include "core/remote/ceiling.h"
#include "core/remote/connection.h"
#include "core/remote/remote_launcher.h"

namespace hotcell::remote {
namespace {

Policy odd_policy() {
  Policy p = strict_policy();
  p.limits.cpus = 0.75;
  p.limits.address_space = 5_MiB;
  p.filesystem.grants = {{"/a", Access::kWrite, "x.yaml:1"}};
  p.filesystem.deny = {{"**/.env", "x.yaml:2"}};
  p.network.allow = {"example.org"};
  p.env.set = {{"A", "1"}, {"B", std::string("\0x", 2)}};
  p.required = {Layer::kSeccomp, Layer::kLsm};
  p.audit = {{"verification", AuditMode::kObserve}};
  p.blocklist = {{"numpy", "ctypeslib"}};
  return p;
}

TEST(RemoteWire, AnOrderComesBackAsItWas) {
  StartOrder order;
  order.policy = odd_policy();
  order.request.argv = {"/bin/echo", "", "ä"};
  order.request.stdin_source = StdinBytes{std::string("a\0b", 3)};
  order.request.files = {{"x/y", std::string("bytes"), 0755}};
  order.request.runtime = std::make_shared<const Runtime>(Runtime{{"python3"}, {{"K", "V"}}, {{"f", std::string("z"), 0644}}});
  order.wants_usage = true;
  StartOrder back;
  ASSERT_TRUE(unpack(pack(order), back));
  EXPECT_EQ(back.policy, order.policy);
  EXPECT_EQ(back.request.argv, order.request.argv);
  EXPECT_EQ(std::get<StdinBytes>(back.request.stdin_source).bytes, std::string("a\0b", 3));
  EXPECT_EQ(back.request.files, order.request.files);
  EXPECT_EQ(*back.request.runtime, *order.request.runtime);
  EXPECT_TRUE(back.wants_usage);
  EXPECT_FALSE(back.wants_output);
}

TEST(RemoteWire, EveryShorterOrLongerTextIsRefused) {
  StartOrder order;
  order.policy = odd_policy();
  order.request.argv = {"x"};
  const std::string bytes = pack(order);
  StartOrder back;
  for (std::size_t n = 0; n < bytes.size(); ++n) ASSERT_FALSE(unpack(std::string_view(bytes).substr(0, n), back)) << n;
  EXPECT_FALSE(unpack(bytes + "x", back));
}

TEST(RemoteWire, AnEnumBeyondItsLastValueIsRefused) {
  Answer answer;
  answer.error = make_error(ErrorCode::kIo, "x");
  std::string bytes = pack(answer);
  bytes[8] = 77;  // the code, after the eight bytes that say there is an error
  EXPECT_FALSE(unpack(bytes, answer));
}

TEST(RemoteWire, LongBodiesArriveWhole) {
  auto ends = make_ends();
  ASSERT_TRUE(ends.ok());
  Connection front(std::move(ends.value().front)), launcher(std::move(ends.value().launcher));
  const std::string body(3 << 20, 'x');
  front.send({Kind::kStart, 7}, body);
  front.send({Kind::kCancel, 8}, "short");
  auto first = launcher.receive();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->head.number, 7u);
  EXPECT_EQ(first->body, body);
  auto second = launcher.receive();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->body, "short");
  EXPECT_FALSE(launcher.receive());
  EXPECT_TRUE(launcher.open());
  front.close();
  EXPECT_FALSE(launcher.receive());
  EXPECT_FALSE(launcher.open());
}

TEST(RemoteWire, WhatTheOtherSideDoesNotTakeWaitsInOrder) {
  auto ends = make_ends();
  ASSERT_TRUE(ends.ok());
  Connection front(std::move(ends.value().front)), launcher(std::move(ends.value().launcher));
  constexpr std::uint64_t kMany = 5000;
  for (std::uint64_t i = 0; i < kMany; ++i) front.send({Kind::kCancel, i}, std::string(1000, 'y'));
  EXPECT_TRUE(front.waiting());
  std::uint64_t next = 0;
  while (next < kMany) {
    auto packet = launcher.receive();
    if (!packet) {
      front.flush();
      continue;
    }
    ASSERT_EQ(packet->head.number, next++);
  }
}

TEST(RemoteCeiling, AFrontGetsNothingBeyondIt) {
  Ceiling ceiling;
  ceiling.read = {"/usr/share"};
  Policy p = default_policy();
  EXPECT_TRUE(check(ceiling, p).ok());
  auto refused = [&](auto change) {
    Policy changed = p;
    change(changed);
    auto result = check(ceiling, changed);
    return !result.ok() && result.error().code == ErrorCode::kDenied;
  };
  EXPECT_TRUE(refused([](Policy& q) { q.filesystem.grants = {{"/etc/shadow", Access::kRead, ""}}; }));
  EXPECT_TRUE(refused([](Policy& q) { q.filesystem.grants = {{"/usr/share/../../etc", Access::kRead, ""}}; }));
  EXPECT_TRUE(refused([](Policy& q) { q.filesystem.grants = {{"/usr/share", Access::kWrite, ""}}; }));
  EXPECT_FALSE(refused([](Policy& q) { q.filesystem.grants = {{"/usr/share/doc", Access::kRead, ""}}; }));
  EXPECT_TRUE(refused([](Policy& q) { q.network.mode = NetworkMode::kHost; }));
  EXPECT_TRUE(refused([](Policy& q) { q.env.pass = {"SECRET"}; }));
  EXPECT_TRUE(refused([](Policy& q) { q.audit["seccomp"] = AuditMode::kObserve; }));
  EXPECT_FALSE(refused([](Policy& q) { q.audit["verification"] = AuditMode::kObserve; }));
  EXPECT_TRUE(refused([](Policy& q) { q.syscalls.oci_file = "/x"; }));
  EXPECT_TRUE(refused([](Policy& q) { q.limits.memory = 1024_GiB; }));
  EXPECT_TRUE(refused([](Policy& q) { q.limits.processes = 100000; }));
}

TEST(RemoteLauncher, RefusesWhatItCannotServe) {
  auto ends = make_ends();
  ASSERT_TRUE(ends.ok());
  auto launcher = RemoteLauncher::open(std::move(ends.value().front));
  ASSERT_TRUE(launcher.ok());
  Request request;
  request.argv = {"/bin/true"};
  // The control: an order of the ordinary kind is sent.
  ASSERT_TRUE(launcher.value()->start(default_policy(), request, [](RunId, Result<Report>) {}).ok());
  request.stdin_source = StdinFd{0};
  auto refused = launcher.value()->start(default_policy(), request, [](RunId, Result<Report>) {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
}

TEST(RemoteLauncher, HandsOverTheDoorOfACell) {
  auto ends = make_ends();
  ASSERT_TRUE(ends.ok());
  auto launcher = RemoteLauncher::open(std::move(ends.value().front));
  ASSERT_TRUE(launcher.ok());
  Connection other(std::move(ends.value().launcher));
  std::vector<sys::Fd> doors;
  Request request;
  request.argv = {"/bin/true"};
  request.on_network = [&](int door, int dns) {
    doors.emplace_back(door);
    doors.emplace_back(dns);
  };
  auto id = launcher.value()->start(default_policy(), request, [](RunId, Result<Report>) {});
  ASSERT_TRUE(id.ok());
  auto order = other.receive();
  ASSERT_TRUE(order);
  StartOrder start;
  ASSERT_TRUE(unpack(order->body, start));
  EXPECT_TRUE(start.wants_network);
  auto send = [&](int count) {
    std::vector<sys::Fd> fds;
    for (int i = 0; i < count; ++i) fds.emplace_back(::dup(STDERR_FILENO));
    other.send({Kind::kDoor, id.value()}, {}, std::move(fds));
    EXPECT_TRUE(launcher.value()->step(std::chrono::milliseconds(100)).ok());
    return doors.size();
  };
  EXPECT_EQ(send(1), 0u);  // a door without its name service is none
  EXPECT_EQ(send(2), 2u);
  for (const auto& fd : doors) EXPECT_GE(::fcntl(fd.get(), F_GETFD), 0);
}

// A process that dies closes one descriptor after the other: whoever was told by one connection must not be served by the next.
TEST(RemoteLauncherConnections, TheEndOfOneIsTheEndOfAll) {
  auto ends = make_ends();
  ASSERT_TRUE(ends.ok());
  auto first = RemoteLauncher::open(std::move(ends.value().front));
  ASSERT_TRUE(first.ok());
  auto second = first.value()->connect();
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(first.value()->connected());
  auto received = receive_packet(ends.value().launcher.get());
  ASSERT_TRUE(received.ok() && received.value().packet);
  received.value().packet->fds.clear();   // the launcher's end of the second; that of the first is still open
  EXPECT_TRUE(second.value()->step(std::chrono::milliseconds(0)).ok());
  EXPECT_FALSE(second.value()->connected());
  EXPECT_FALSE(first.value()->connected());
  EXPECT_FALSE(first.value()->connect().ok());
}

// Between the ends of two connections of a dying process somebody may let go of the second: its runs must be told all the same.
TEST(RemoteLauncherConnections, RunsAreToldWhenTheEndWasSeenElsewhere) {
  auto ends = make_ends();
  ASSERT_TRUE(ends.ok());
  auto first = RemoteLauncher::open(std::move(ends.value().front));
  ASSERT_TRUE(first.ok());
  auto second = first.value()->connect();
  ASSERT_TRUE(second.ok());
  Connection other(std::move(ends.value().launcher));
  auto taken = other.receive();
  ASSERT_TRUE(taken);
  std::vector<std::string> told;
  Request request;
  request.argv = {"/bin/true"};
  auto start = [&](std::string name) {
    return first.value()->start(default_policy(), request, [&told, name](RunId, Result<Report> report) { told.push_back(cat(name, report.ok() ? " ended" : " lost")); });
  };
  auto one = start("one"), two = start("two");
  ASSERT_TRUE(one.ok() && two.ok());
  DoneNews news;   // what was said before the end is heard
  other.send({Kind::kDone, one.value()}, pack(news));
  taken->fds.clear();
  EXPECT_TRUE(second.value()->step(std::chrono::milliseconds(0)).ok());
  ASSERT_TRUE(other.open());
  EXPECT_TRUE(first.value()->step(std::chrono::milliseconds(0)).ok());
  EXPECT_EQ(told, (std::vector<std::string>{"one ended", "two lost"}));
  EXPECT_FALSE(start("three").ok());
}

TEST(RemoteLauncherConnections, WhoeverLetsGoOfItTellsItsRuns) {
  auto ends = make_ends();
  ASSERT_TRUE(ends.ok());
  auto launcher = RemoteLauncher::open(std::move(ends.value().front));
  ASSERT_TRUE(launcher.ok());
  bool told = false;
  Request request;
  request.argv = {"/bin/true"};
  ASSERT_TRUE(launcher.value()->start(default_policy(), request, [&](RunId, Result<Report> report) { told = !report.ok(); }).ok());
  launcher.value()->give_up();
  EXPECT_TRUE(told);
  EXPECT_FALSE(launcher.value()->connected());
}

}  // namespace
}  // namespace hotcell::remote
