#include "server/telemetry/traces.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <thread>

#include "server/telemetry/otlp_client.h"

namespace hotcell::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

struct Sample {
  ExecutionRecord record;
  Report report;
};

Sample a_run() {
  const system_clock::time_point begin{std::chrono::seconds(1'700'000'000)};
  Sample run;
  run.record.id = "abc";
  run.record.created = begin;
  run.record.ended = begin + milliseconds(100);
  run.record.status = RunStatus::kCompleted;
  run.record.exit_reason = "exited";
  run.report.start_time = begin + milliseconds(50);
  run.report.end_time = begin + milliseconds(90);
  run.report.setup_ns = {{"clone", milliseconds(1)}, {"mounts", milliseconds(2)}};
  run.report.compile.emplace();
  run.report.compile->duration = milliseconds(20);
  return run;
}

TEST(Trace, IsMadeOfQueueVerifyCompileSetupAndRun) {
  Sample run = a_run();
  run.record.verified_in = milliseconds(5);
  auto tree = trace_of(run.record, run.report, false);
  std::vector<std::string> names;
  for (const auto& child : tree.children) names.push_back(child.name);
  EXPECT_EQ(names, (std::vector<std::string>{"queue", "verify", "compile", "setup", "run"}));
  for (std::size_t i = 1; i < tree.children.size(); ++i) EXPECT_EQ(tree.children[i].start, tree.children[i - 1].end);
  EXPECT_EQ(tree.children[0].start, run.record.created);
  EXPECT_EQ(tree.children[4].end, run.report.end_time);
  EXPECT_EQ(tree.children[1].end - tree.children[1].start, milliseconds(5));
}

TEST(Trace, OfACellThatWaitedOnlyTheHandingOverTookTime) {
  Sample run = a_run();
  run.report.compile.reset();
  run.report.setup_ns.emplace_back("hand_over", milliseconds(4));
  auto length = [&](bool warm) {
    auto tree = trace_of(run.record, run.report, warm);
    EXPECT_EQ(tree.children.at(1).name, "setup");
    return tree.children.at(1).end - tree.children.at(1).start;
  };
  EXPECT_EQ(length(false), milliseconds(7));
  EXPECT_EQ(length(true), milliseconds(4));
}

TEST(Trace, WhatDidNotCompileHasNoRun) {
  Sample run = a_run();
  run.report.verdict.reason = ExitReason::kCompileError;
  run.report.setup_ns.clear();
  run.report.start_time = run.report.end_time - run.report.compile->duration;
  auto tree = trace_of(run.record, run.report, false);
  EXPECT_EQ(tree.children.back().start, run.report.start_time);
  EXPECT_EQ(tree.children.back().end, run.report.end_time);
  EXPECT_EQ(tree.children.back().name, "compile");
  EXPECT_TRUE(tree.children.back().failed);
}

TEST(Traces, GoOutInBatchesAsOtlpJson) {
  std::vector<std::string> bodies;
  Traces traces([&](std::string body) { bodies.push_back(std::move(body)); });
  traces.flush();
  EXPECT_TRUE(bodies.empty());
  Sample run = a_run();
  run.record.client = "a\"b";
  run.record.trace_parent = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";
  traces.add(trace_of(run.record, run.report, false));
  traces.flush();
  ASSERT_EQ(bodies.size(), 1U);
  EXPECT_TRUE(bodies[0].starts_with(R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"hotcell"}})"));
  EXPECT_NE(bodies[0].find(R"("traceId":"0123456789abcdef0123456789abcdef")"), std::string::npos);
  EXPECT_NE(bodies[0].find(R"("parentSpanId":"0123456789abcdef","name":"execution")"), std::string::npos);
  EXPECT_NE(bodies[0].find(R"("startTimeUnixNano":"1700000000000000000")"), std::string::npos);
  run.record.trace_parent = "rubbish";
  for (std::size_t i = 0; i < Traces::kBatch; ++i) traces.add(trace_of(run.record, run.report, false));
  EXPECT_GE(bodies.size(), 5U);
  EXPECT_EQ(traces.sent() % 5, 0U);
}

TEST(OtlpEndpoint, IsAPlainHttpAddress) {
  auto target = parse_otlp_endpoint("http://collector:4318/prefix/");
  ASSERT_TRUE(target.ok());
  EXPECT_EQ(target.value().host, "collector");
  EXPECT_EQ(target.value().path, "/prefix/v1/traces");
  EXPECT_EQ(parse_otlp_endpoint("http://[::1]:99").value().host, "::1");
  EXPECT_EQ(parse_otlp_endpoint("http://[::1]").value().port, "4318");
  for (const char* bad : {"https://x", "collector:4318", "http://", "http://x:0", "http://x:99999", "http://a b", "http://u@x"})
    EXPECT_FALSE(parse_otlp_endpoint(bad).ok()) << bad;
}

// A collector: takes one request, answers, and keeps what it got.
class Collector {
 public:
  explicit Collector(std::string answer) : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* raw = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener_, raw, size) != 0 || ::listen(listener_, 4) != 0 || ::getsockname(listener_, raw, &size) != 0) return;
    port = ntohs(address.sin_port);
    thread_ = std::thread([this, answer = std::move(answer)] { serve(answer); });
  }
  ~Collector() {
    if (thread_.joinable()) thread_.join();
    ::close(listener_);
  }
  std::string got;
  int port = 0;

 private:
  void serve(const std::string& answer) {
    int peer = ::accept(listener_, nullptr, nullptr);
    char buffer[4096];
    while (got.find("END") == std::string::npos) {
      ssize_t n = ::read(peer, buffer, sizeof buffer);
      if (n <= 0) break;
      got.append(buffer, static_cast<std::size_t>(n));
    }
    if (::write(peer, answer.data(), answer.size()) < 0) got.clear();
    ::close(peer);
  }
  int listener_;
  std::thread thread_;
};

std::pair<std::uint64_t, std::uint64_t> deliver(int port) {
  boost::asio::io_context loop;
  auto target = parse_otlp_endpoint("http://127.0.0.1:" + std::to_string(port));
  auto client = OtlpClient::create(loop, target.value());
  if (!client.ok()) return {99, 99};
  client.value()->post("{\"END\":1}");
  loop.run();
  return {client.value()->delivered(), client.value()->dropped()};
}

TEST(OtlpClient, PostsToTheCollector) {
  Collector collector("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
  EXPECT_EQ(deliver(collector.port), (std::pair<std::uint64_t, std::uint64_t>{1, 0}));
  EXPECT_TRUE(collector.got.starts_with("POST /v1/traces HTTP/1.1\r\nHost: 127.0.0.1:"));
  EXPECT_TRUE(collector.got.ends_with("\r\n\r\n{\"END\":1}"));
}

TEST(OtlpClient, ARefusalIsCountedAsDropped) {
  Collector collector("HTTP/1.1 503 Unavailable\r\n\r\n");
  EXPECT_EQ(deliver(collector.port), (std::pair<std::uint64_t, std::uint64_t>{0, 1}));
}

TEST(OtlpClient, NobodyThereIsCountedAsDropped) {
  int port = 0;
  {
    Collector collector("");
    port = collector.port;
    deliver(port);
  }
  EXPECT_EQ(deliver(port), (std::pair<std::uint64_t, std::uint64_t>{0, 1}));
}

}  // namespace
}  // namespace hotcell::server
