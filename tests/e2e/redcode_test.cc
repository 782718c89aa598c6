// 480 programs that were collected because they do harm (redcode-exec), run as they are, without verification: what they
// name on this machine, a process and a listener beside them are afterwards as before. Every twentieth by default, all of
// them in the soak.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "e2e/cli.h"
#include "e2e/json.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

struct Row {
  std::string id, code;
};

std::vector<Row> read_rows(const std::string& language) {
  const char* from = std::getenv("HOTCELL_DATA");
  std::ifstream in(std::string(from != nullptr ? from : "") + "/redcode-exec/" + language + ".jsonl");
  std::vector<Row> rows;
  for (std::string line; std::getline(in, line);) {
    auto o = boost::json::parse(line).as_object();
    rows.push_back({std::string(o.at("index").as_string()), std::string(o.at("code").as_string())});
  }
  if (rows.empty()) std::printf("no redcode-exec/%s.jsonl: its 240 programs are left out\n", language.c_str());
  return rows;
}

// "/etc/passwd" and the like: every absolute path that the text names.
std::set<std::string> paths_in(const std::string& code) {
  auto in_path = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || std::string_view("._+-/").find(c) != std::string_view::npos; };
  std::set<std::string> out;
  for (std::size_t at = code.find('/'); at != std::string::npos; at = code.find('/', at + 1)) {
    if (at > 0 && (in_path(code[at - 1]) || code[at - 1] == ':')) continue;
    std::size_t end = at;
    while (end < code.size() && in_path(code[end])) ++end;
    if (end > at + 1) out.insert(code.substr(at, end - at));
    at = end - 1;
  }
  return out;
}

// What a change would change. Logs grow by themselves, folders get other files, the kernel's own trees are no files.
std::string state_of(const std::string& path) {
  struct stat s {};
  if (path.starts_with("/proc") || path.starts_with("/sys") || path.starts_with("/dev")) return "";
  if (::lstat(path.c_str(), &s) != 0) return "absent";
  std::string out = std::to_string(s.st_ino) + " " + std::to_string(s.st_mode) + " " + std::to_string(s.st_uid);
  if (S_ISDIR(s.st_mode) || path.starts_with("/var/log")) return out;
  return out + " " + std::to_string(s.st_size) + " " + std::to_string(s.st_mtim.tv_sec) + "." + std::to_string(s.st_mtim.tv_nsec);
}

// Lines of this machine's own user lists that the lists of a cell cannot have.
std::vector<std::string> host_secrets() {
  std::vector<std::string> out;
  std::ifstream shadow("/etc/shadow"), users("/etc/passwd");
  for (std::string line; std::getline(shadow, line);) out.push_back(line);
  for (std::string line; std::getline(users, line);)
    if (line.find("hotcell-test:") == 0 || line.find("_apt:") == 0) out.push_back(line);
  return out;
}

class RedCode : public E2e, public ::testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    E2e::SetUp();
    canary_ = ::fork();
    if (canary_ == 0) {
      ::execl("/bin/sleep", "sleep", "3600", nullptr);
      ::_exit(1);
    }
    listen_on(5758);  // where half of them send what they have read
  }
  void TearDown() override {
    ::close(listener_);
    ::kill(canary_, SIGKILL);
    ::waitpid(canary_, nullptr, 0);
    E2e::TearDown();
  }
  void listen_on(int port) {
    address_.sin_family = AF_INET;
    address_.sin_port = htons(static_cast<std::uint16_t>(port));
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int bound = -1;
    // The same test may run beside this one, as somebody else.
    for (int i = 0; i < 600 && bound != 0; ++i) {
      listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      int one = 1;
      ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
      bound = ::bind(listener_, reinterpret_cast<sockaddr*>(&address_), sizeof address_);
      if (bound == 0) bound = ::listen(listener_, 16);
      if (bound == 0) break;
      ::close(listener_);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    ASSERT_EQ(bound, 0) << "nobody can listen on port " << port;
  }
  bool was_called() const {
    pollfd p{listener_, POLLIN, 0};
    if (::poll(&p, 1, 0) != 1) return false;
    ::close(::accept(listener_, nullptr, nullptr));
    return true;
  }
  bool canary_lives() const { return ::waitpid(canary_, nullptr, WNOHANG) == 0; }

  pid_t canary_ = -1;
  int listener_ = -1;
  sockaddr_in address_{};
};

TEST_P(RedCode, ProgramsThatDoHarmDoNoneHere) {
  // Control: the listener hears, and the canary would be seen dead.
  int caller = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::connect(caller, reinterpret_cast<sockaddr*>(&address_), sizeof address_), 0);
  ::close(caller);
  ASSERT_TRUE(was_called());
  ASSERT_TRUE(canary_lives());

  const std::string language = GetParam();
  const auto rows = read_rows(language);
  const auto secrets = host_secrets();
  const std::set<std::string> ends = {"exited", "signal", "timeout_wall", "timeout_cpu", "memory", "processes", "output", "disk"};
  const std::size_t step = std::getenv("HOTCELL_SOAK") != nullptr ? 1 : 20;
  std::size_t tried = 0, contained = 0;
  for (std::size_t i = 0; i < rows.size(); i += step) {
    SCOPED_TRACE(language + " " + rows[i].id);
    std::map<std::string, std::string> before;
    for (const auto& path : paths_in(rows[i].code)) before[path] = state_of(path);
    auto called = hotcell({"run", "--json", "--no-verify", "--timeout", "5s", "--cpu-time", "3s", "--on-output", "truncate",
                           "--language", language, "-c", rows[i].code});
    ++tried;
    bool good = true;
    auto expect = [&](bool truth, const std::string& what) {
      EXPECT_TRUE(truth) << what << "\n" << rows[i].code << "\n" << called.describe();
      good = good && truth;
    };
    Json json(called.out);
    expect(ends.contains(json.text("exit_reason")), "it ran, and ended by itself or by a limit");
    for (const char* layer : {"net_ns", "mount_ns", "pid_ns", "seccomp", "landlock"})
      expect(json.find_by_name("enforcement/layers", layer, "status") == "full", layer);
    for (const auto& [path, state] : before) expect(state_of(path) == state, path + " is not what it was");
    for (const auto& secret : secrets) expect(called.out.find(secret) == std::string::npos, "it has read a list of this machine's");
    expect(!was_called(), "it has reached the listener");
    expect(canary_lives(), "it has ended a process outside");
    contained += good ? 1 : 0;
  }
  std::printf("%s: %zu of %zu contained\n", language.c_str(), contained, tried);
}

INSTANTIATE_TEST_SUITE_P(All, RedCode, ::testing::Values("python", "bash"), [](const auto& given) { return std::string(given.param); });

}  // namespace
}  // namespace hotcell::testing
