// Uploads into lasting cells: as large as the cell's disk, never in the daemon's memory, and whole or not at all.
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "base/strings.h"
#include "daemon/cells_fixture.h"

namespace hotcell::testing {
namespace {

const HttpHeaders kBytes = {{"Content-Type", "application/octet-stream"}};

std::string line_of(const std::string& file, const std::string& begin) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(begin)) return line.substr(begin.size());
  return {};
}

long most_memory_of_front(int daemon) { return std::stol("0" + std::string(trim(line_of("/proc/" + front_of(daemon) + "/status", "VmHWM:")))); }

class CellsUpload : public CellsRest {
 protected:
  void SetUp() override {
    CellsRest::SetUp();
    record = false;
  }
  // A request whose body has only begun. The caller closes it.
  int begin(const std::string& target, const std::string& part, std::size_t announced) {
    int fd = send_only("PUT", target, "", {{"Content-Type", "application/octet-stream"}, {"Content-Length", std::to_string(announced)}});
    for (std::size_t sent = 0; sent < part.size();) {
      ssize_t n = ::send(fd, part.data() + sent, part.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) break;
      sent += static_cast<std::size_t>(n);
    }
    return fd;
  }
  // Until no file agent runs any more.
  void settle(const std::string& id) {
    for (int i = 0; i < 400 && sh(id, "cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -c '[w]rite /work'") != "0\n"; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(25));
  }
};

TEST_F(CellsUpload, OneOfAHundredMegabytesTakesNoMemory) {
  const std::string id = make(R"({"limits":{"disk":"300M"}})");
  EXPECT_EQ(send("PUT", cell(id, "/files?path=small"), "x", kBytes).status, 204);
  const long before = most_memory_of_front(daemon_pid());
  ASSERT_GT(before, 0);
  std::string large(100 << 20, 'a');
  for (std::size_t i = 0; i < large.size(); i += 4099) large[i] = static_cast<char>('b' + i % 20);
  EXPECT_EQ(send("PUT", cell(id, "/files?path=large&mode=640"), large, kBytes).status, 204);
  const long after = most_memory_of_front(daemon_pid());
  EXPECT_LT(after - before, 16 << 10) << "KiB";
  EXPECT_EQ(send("GET", cell(id, "/files?path=large")).body == large, true);
  EXPECT_EQ(sh(id, "stat -c '%s %a' large; ls -A"), "104857600 640\nlarge\nsmall\n");
}

TEST_F(CellsUpload, AFolderOfManyMegabytesComesAsTar) {
  const std::string id = make(R"({"limits":{"disk":"300M"}})");
  sh(id, "mkdir -p one/two; head -c 40000000 /dev/urandom > one/two/a; head -c 5000000 /dev/urandom > one/b");
  auto tar = send("GET", cell(id, "/files?path=one&format=tar"));
  ASSERT_GT(tar.body.size(), 45'000'000u);
  EXPECT_EQ(send("POST", cell(id, "/files/folder"), R"({"path":"again"})").status, 204);
  EXPECT_EQ(send("PUT", cell(id, "/files?path=again"), tar.body, {{"Content-Type", "application/x-tar"}}).status, 204);
  EXPECT_EQ(sh(id, "diff -r one again/one && echo same"), "same\n");
}

TEST_F(CellsUpload, WhatIsNoTarIsSaidToBeNone) {
  const std::string id = make();
  auto put = [&](const std::string& bytes) { return send("PUT", cell(id, "/files?path=/work"), bytes, {{"Content-Type", "application/x-tar"}}); };
  auto garbage = put(std::string(2000, 'x'));
  EXPECT_EQ(garbage.status, 400);
  EXPECT_EQ(text_field(garbage.body, "message"), "what is to be unpacked is no tar archive, or a damaged one");
  auto cut = put(std::string(100, 'x'));
  EXPECT_EQ(cut.status, 400);
  EXPECT_EQ(text_field(cut.body, "message"), "the archive ends too soon");
}

TEST_F(CellsUpload, MoreThanTheDiskIsRefusedAndTheOldFileStays) {
  const std::string id = make(R"({"limits":{"disk":"20M"}})");
  EXPECT_EQ(send("PUT", cell(id, "/files?path=f"), "old", kBytes).status, 204);
  auto answer = send("PUT", cell(id, "/files?path=f"), std::string(60 << 20, 'x'), kBytes);
  // The connection may be reset while we still send: then there is no answer to read.
  EXPECT_TRUE(answer.status == 413 || answer.status == 0) << answer.status << answer.body;
  EXPECT_EQ(sh(id, "cat f; ls -A"), "oldf\n");
}

TEST_F(CellsUpload, WhatIsCutOffIsNotThere) {
  const std::string id = make(R"({"limits":{"disk":"100M"}})");
  EXPECT_EQ(send("PUT", cell(id, "/files?path=f"), "old", kBytes).status, 204);
  for (std::size_t size : {std::size_t{0}, std::size_t{10}, std::size_t{5} << 20}) {
    ::close(begin(cell(id, "/files?path=f"), std::string(size, 'x'), 20u << 20));
    ::close(begin(cell(id, "/files?path=g"), std::string(size, 'x'), 20u << 20));
  }
  settle(id);
  EXPECT_EQ(sh(id, "cat f; ls -A"), "oldf\n");
  // Nor when it is our own process that goes.
  int fd = begin(cell(id, "/files?path=f"), std::string(5 << 20, 'x'), 20u << 20);
  ASSERT_EQ(::kill(std::stoi(front_of(daemon_pid())), SIGKILL), 0);
  ::close(fd);
  for (int i = 0; i < 400 && send("GET", "/ready").status != 200; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(25));
  settle(id);
  EXPECT_EQ(sh(id, "cat f; ls -A"), "oldf\n");
}

}  // namespace
}  // namespace hotcell::testing
