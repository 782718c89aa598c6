#include "backends/engine/client.h"

#include <gtest/gtest.h>

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "backends/engine/container.h"
#include "backends/engine/http.h"
#include "backends/engine/json.h"
#include "backends/tool_launcher.h"
#include "backends/tools.h"
#include "base/strings.h"

namespace hotcell::backends {
namespace {

using namespace std::chrono_literals;

// Whole, and byte by byte: where the pieces end must not matter.
struct Read {
  int status = 0;
  std::string body;
  bool done = false, upgraded = false, failed = false;
  bool operator==(const Read&) const = default;
};
Read read_all(std::string_view bytes, std::size_t step, bool closed) {
  ResponseReader reader(1 << 20);
  Read r;
  for (std::size_t at = 0; at < bytes.size(); at += step)
    if (!reader.add(bytes.substr(at, step)).ok()) {
      r.failed = true;
      return r;
    }
  if (closed && !reader.end().ok()) r.failed = true;
  r.status = reader.status();
  r.body = reader.take_body();
  r.done = reader.done();
  r.upgraded = reader.upgraded();
  return r;
}

TEST(EngineHttp, AnswersAreReadByTheirFraming) {
  struct Row {
    std::string_view bytes;
    Read expected;
  };
  const Row rows[] = {
      {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", {200, "hello", true, false, false}},
      {"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", {404, "", true, false, false}},
      {"HTTP/1.1 204 No Content\r\n\r\n", {204, "", true, false, false}},
      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\n\r\n", {200, "abc0123456789", true, false, false}},
      {"HTTP/1.1 200 OK\r\n\r\nuntil the end", {200, "until the end", true, false, false}},
      {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}", {201, "{}", true, false, false}},
      {"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n\x01", {101, "\x01", false, true, false}},
  };
  for (const auto& row : rows)
    for (std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{1000}}) EXPECT_EQ(read_all(row.bytes, step, true), row.expected) << row.bytes;
}

TEST(EngineHttp, WhatIsNotWellFormedIsAnError) {
  for (std::string_view bytes : {"SSH-2.0-OpenSSH\r\n", "HTTP/1.1 2x0 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
                                 "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
                                 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
                                 "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
                                 "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "HTTP/1.1 200 OK\r\nno colon\r\n\r\n"})
    EXPECT_TRUE(read_all(bytes, 1000, true).failed) << bytes;
  ResponseReader small(10);
  EXPECT_FALSE(small.add("HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhello world").ok()) << "more than may be kept";
  ResponseReader endless;
  EXPECT_FALSE(endless.add("HTTP/1.1 200 OK\r\nX: " + std::string(70 << 10, 'x')).ok()) << "a head without an end";
}

TEST(EngineFrames, StreamsAreTakenApart) {
  std::string bytes;
  auto frame = [&](char stream, std::string_view text) { bytes += std::string{stream, 0, 0, 0, 0, 0, 0, static_cast<char>(text.size())} + std::string(text); };
  frame(1, "out");
  frame(2, "err");
  frame(1, "");
  frame(1, "more");
  for (std::size_t step : {std::size_t{1}, std::size_t{5}, std::size_t{100}}) {
    FrameReader reader;
    std::string out, err;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      auto pieces = reader.add(std::string_view(bytes).substr(at, step));
      ASSERT_TRUE(pieces.ok());
      for (const auto& p : pieces.value()) (p.stream == 2 ? err : out) += p.bytes;
    }
    EXPECT_EQ(out, "outmore");
    EXPECT_EQ(err, "err");
  }
  EXPECT_FALSE(FrameReader().add("plain text, not frames").ok());
}

class Listener {
 public:
  Listener() {
    path_ = cat("/tmp/hotcell-sock-", ::getpid());
    ::unlink(path_.c_str());
    fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path, path_.c_str(), path_.size());
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  }
  ~Listener() {
    ::close(fd_);
    ::unlink(path_.c_str());
  }
  void listen() const { EXPECT_EQ(::listen(fd_, 4), 0); }
  int fd() const { return fd_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int fd_ = -1;
};

std::string why(const std::string& socket) {
  auto settings = Settings::parse({cat("docker.socket=", socket), "docker.probe_timeout=300"});
  EXPECT_TRUE(settings.ok());
  auto opened = open_backend("docker", {}, {{}, true, settings.value()});
  EXPECT_FALSE(opened.ok());
  return opened.ok() ? "" : opened.error().message;
}

TEST(EngineSocket, ANobodyADeadAndAHungOneAreToldApartInTime) {
  auto before = std::chrono::steady_clock::now();
  EXPECT_NE(why("/nowhere/docker.sock").find("there is no such socket"), std::string::npos) << why("/nowhere/docker.sock");
  Listener socket;
  EXPECT_NE(why(socket.path()).find("a dead socket"), std::string::npos) << why(socket.path());
  socket.listen();  // and never answers
  EXPECT_NE(why(socket.path()).find("did not answer within 300 ms"), std::string::npos) << why(socket.path());
  EXPECT_LT(std::chrono::steady_clock::now() - before, 20s);
}

TEST(EngineSocket, SomebodyElseIsNoEngine) {
  for (std::string_view answer : {"SSH-2.0-OpenSSH_9\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"}) {
    Listener socket;
    socket.listen();
    std::thread server([&] {
      int fd = ::accept(socket.fd(), nullptr, nullptr);
      EXPECT_EQ(::send(fd, answer.data(), answer.size(), MSG_NOSIGNAL), static_cast<ssize_t>(answer.size()));
      char buffer[4096];
      while (::read(fd, buffer, sizeof buffer) > 0) continue;
      ::close(fd);
    });
    auto said = why(socket.path());
    server.join();
    EXPECT_TRUE(said.find("no container engine") != said.npos || said.find("no HTTP") != said.npos) << said;
  }
}

TEST(EngineContainer, TheRequestSaysWhatThePolicySays) {
  Policy policy = default_policy();
  policy.limits.open_files = 77;
  policy.limits.cpus = 0.5;
  Request request;
  request.argv = {"/bin/echo", "quo\"te"};
  auto settings = Settings::parse({"docker.runtime=kata"}).value();
  auto plan = plan_tool(*docker(), policy, request, "/s", 7, settings);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const std::string& body = plan.value().argv.back();
  for (auto part : {R"("CapDrop":["ALL"])", R"("no-new-privileges:true")", R"("seccomp={)", R"("ReadonlyRootfs":true)", R"("NetworkMode":"none")", R"("Memory":268435456)",
                    R"("MemorySwap":268435456)", R"("PidsLimit":12)", R"("NanoCpus":500000000)", R"("User":"7:7")", R"("Name":"nofile","Soft":77,"Hard":77)",
                    R"("Runtime":"kata")", R"("Source":"/s/work","Target":"/work","ReadOnly":false)", R"("Source":"/usr","Target":"/usr","ReadOnly":true)",
                    R"("Privileged":false)", R"(quo\"te)", R"("/tmp":"rw,exec,nosuid,nodev,mode=1777,size=104857600,nr_inodes=52224")"})
    EXPECT_NE(body.find(part), std::string::npos) << part << "\n" << body.substr(0, 400);
  auto other = plan_tool(*podman(), policy, request, "/s", 7);
  ASSERT_TRUE(other.ok());
  EXPECT_NE(other.value().argv.back().find("seccomp=/s/seccomp.json"), std::string::npos);
  auto strict = plan_tool(*docker(), strict_policy(), request, "/s", 7);
  ASSERT_TRUE(strict.ok());
  EXPECT_EQ(strict.value().argv.back().find("\"ReadOnly\":false"), std::string::npos) << "strict writes nowhere";
}

// Engines run on with less than they were asked for, and only say so.
TEST(EngineContainer, WhatAnEngineLeavesOutIsUnderstood) {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(left_out(R"({"Id":"ab","Warnings":[]})"), Pairs{});
  EXPECT_EQ(left_out(R"({"Id":"ab","Warnings":null})"), Pairs{});
  EXPECT_EQ(left_out(R"({"Id":"ab","Warnings":["Your kernel does not support swap limit capabilities or the cgroup is not mounted. Memory limited without swap."]})"), Pairs{});
  const std::string memory = "Your kernel does not support memory limit capabilities or the cgroup is not mounted. Limitation discarded.";
  const std::string pids = "Your kernel does not support pids limit capabilities or the cgroup is not mounted. PIDs limit discarded.";
  const std::string cpu = "Your kernel does not support CPU CFS scheduler. CPU period/quota discarded.";
  EXPECT_EQ(left_out(cat(R"({"Id":"ab","Warnings":[")", memory, R"(",")", pids, R"(",")", cpu, R"("]})")), (Pairs{{"memory", memory}, {"processes", pids}, {"cpu", cpu}}));
}

TEST(EngineContainer, GvisorIsTakenWhereItIs) {
  const std::string with = R"({"Runtimes":{"runc":{"path":"runc"},"runsc":{"path":"/usr/bin/runsc"},"mine":{"path":"/opt/runsc"}}})", without = R"({"Runtimes":{"runc":{"path":"runc"}}})";
  struct Row {
    std::string info, said, name;
    EngineKind kind;
    bool known, own_kernel;
  };
  const Row rows[] = {{with, "", "runsc", EngineKind::kDocker, true, true}, {without, "", "", EngineKind::kDocker, true, false}, {with, "runc", "runc", EngineKind::kDocker, true, false},
                      {with, "mine", "mine", EngineKind::kDocker, true, true}, {without, "runsc", "runsc", EngineKind::kDocker, false, true}, {with, "", "", EngineKind::kPodman, true, false},
                      {"", "", "", EngineKind::kDocker, true, false}};
  for (const auto& row : rows) {
    auto found = engine_runtime(row.info, row.kind, row.said);
    EXPECT_EQ(found.name, row.name) << row.said;
    EXPECT_EQ(found.known, row.known) << row.said;
    EXPECT_EQ(found.own_kernel, row.own_kernel) << row.said;
  }
}

TEST(EngineContainer, AKernelOfItsOwnGetsTheFilterFromTheSeal) {
  Policy policy = default_policy();
  Request request;
  request.argv = {"/bin/true"};
  ToolRequest asked{policy, request, "/s", "/s/work", "", "", 7};
  asked.inside = 7;
  auto plain = container_json(asked, {EngineKind::kDocker, "i", "", "o", false, false}).value();
  EXPECT_NE(plain.find(R"("/.hotcell/seal","--watch","-","/bin/true")"), std::string::npos) << plain;
  EXPECT_EQ(plain.find("unconfined"), std::string::npos);
  auto sealed = container_json(asked, {EngineKind::kDocker, "i", "runsc", "o", false, true}).value();
  EXPECT_NE(sealed.find(R"("/.hotcell/seal","--watch","/.hotcell/filter","/bin/true")"), std::string::npos) << sealed;
}

TEST(EngineContainer, EveryPlaceInMemoryHasASize) {
  Request request;
  request.argv = {"/bin/true"};
  auto body = [&](const Policy& policy, EngineKind kind) {
    ToolRequest asked{policy, request, "/s", "/s/work", "", "", 7};
    asked.inside = 7;
    return container_json(asked, {kind, "i", "", "o", false, false}).value();
  };
  auto place = [](const std::string& json, const std::string& name) { return json_text(json, {"HostConfig", "Tmpfs", name}).value_or(""); };
  Policy policy = default_policy();
  policy.limits.disk = 20_MiB;
  const std::string podman = body(policy, EngineKind::kPodman), docker = body(policy, EngineKind::kDocker);
  // Podman mounts these without one where it is told nothing of them.
  for (auto name : {"/tmp", "/var/tmp", "/run"}) EXPECT_NE(place(podman, name).find("size="), std::string::npos) << name;
  EXPECT_TRUE(place(podman, "/run").starts_with("ro,")) << place(podman, "/run");
  EXPECT_NE(place(docker, "/tmp").find("size=20971520"), std::string::npos);
  EXPECT_EQ(place(docker, "/var/tmp"), "") << "a link to /tmp there";
  for (auto kind : {EngineKind::kDocker, EngineKind::kPodman}) {
    EXPECT_EQ(place(body(policy, kind), "/dev/shm"), "") << "the engine's own, by ShmSize";
    EXPECT_TRUE(place(body(strict_policy(), kind), "/dev/shm").starts_with("ro,"));
    EXPECT_TRUE(place(body(strict_policy(), kind), "/tmp").starts_with("ro,"));
  }
  ToolRequest asked{policy, request, "/s", "/s/work", "", "", 7};
  auto shown = engine_view(asked, EngineKind::kPodman);
  ASSERT_TRUE(shown.ok()) << shown.error().message;
  for (const auto& s : shown.value()) EXPECT_FALSE(s.kind == Shown::Kind::kLink && s.target == "/var/tmp") << "it would be mounted over /tmp";
}

TEST(EngineContainer, WhatIsGrantedIsMountedOnceWhereSomethingOfOursWouldBe) {
  Request request;
  request.argv = {"/bin/true"};
  Policy policy = default_policy();
  for (auto path : {"/usr", "/tmp", "/var/tmp", "/run", "/sys", "/var/tmp/."}) policy.filesystem.grants.push_back({path, Access::kRead, ""});
  ToolRequest asked{policy, request, "/s", "/s/work", "", "", 7};
  asked.inside = 7;
  for (auto kind : {EngineKind::kDocker, EngineKind::kPodman}) {
    auto made = container_json(asked, {kind, "i", "", "o", false, false});
    ASSERT_TRUE(made.ok()) << made.error().message;
    const std::string& json = made.value();
    for (std::string_view path : {"/usr", "/tmp", "/var/tmp", "/run", "/sys"}) {
      std::size_t binds = 0;
      const std::string target = cat("\"Target\":\"", path, "\"");
      for (auto at = json.find(target); at != json.npos; at = json.find(target, at + 1)) ++binds;
      EXPECT_EQ(binds, 1u) << path << " " << json;
      EXPECT_EQ(json_text(json, {"HostConfig", "Tmpfs", std::string(path)}).value_or(""), "") << path;
    }
  }
}

TEST(EngineJson, WhatIsNotThereIsNothing) {
  EXPECT_EQ(json_text(R"({"a":{"b":"c"}})", {"a", "b"}), "c");
  EXPECT_EQ(json_number(R"({"a":7})", {"a"}), 7);
  EXPECT_EQ(json_truth(R"({"a":true})", {"a"}), true);
  for (auto text : {"", "{", "[]", "7", R"({"a":[1]})", R"({"a":null})"}) {
    EXPECT_EQ(json_text(text, {"a", "b"}), std::nullopt);
    EXPECT_EQ(json_number(text, {"a"}), std::nullopt);
  }
  EXPECT_EQ(json_labelled(R"([{"Id":"x","Labels":{"l":"v"}},{"Id":"y","Labels":null},3])", "l"), (std::vector<std::pair<std::string, std::string>>{{"x", "v"}}));
}

}  // namespace
}  // namespace hotcell::backends
