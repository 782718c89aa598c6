// The daemon on a Unix socket: who may do what there is told by the kernel, not by the caller.
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/strings.h"
#include "daemon/rest_client.h"

namespace hotcell::testing {
namespace {

class UnixSocket : public DaemonFixture {
 protected:
  void SetUp() override {
    // Others must be able to come to the socket: what keeps them out is to be the socket's own doing.
    around_ = (std::filesystem::temp_directory_path() / "hotcell-unix-XXXXXX").string();
    ASSERT_NE(::mkdtemp(around_.data()), nullptr);
    ::chmod(around_.c_str(), 0755);
    path_ = around_ + "/door";
    serve_words = {"--unix", path_, "--require-key"};
    DaemonFixture::SetUp();
  }
  void TearDown() override {
    DaemonFixture::TearDown();
    std::error_code ignored;
    std::filesystem::remove_all(around_, ignored);
  }

  // The first line of the answer and its body, or the errno of connect.
  std::string ask(const std::string& request) {
    int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
    std::string out;
    if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
      out = cat("errno ", errno);
    } else {
      (void)!::write(fd, request.data(), request.size());
      char buffer[4096];
      for (ssize_t n = 0; (n = ::read(fd, buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(n));
    }
    ::close(fd);
    return out;
  }
  // The same from a process of another user.
  std::string ask_as(uid_t uid, const std::string& request) {
    return in_child([&]() -> std::string {
      if (::setgroups(0, nullptr) != 0 || ::setresgid(uid, uid, uid) != 0 || ::setresuid(uid, uid, uid) != 0) return "could not become somebody else";
      return ask(request);
    });
  }
  // What `work` answers in a process of its own.
  template <class Work>
  static std::string in_child(Work work) {
    int told[2];
    if (::pipe2(told, O_CLOEXEC) != 0) return {};
    pid_t child = ::fork();
    if (child == 0) {
      const std::string answer = work();
      (void)!::write(told[1], answer.data(), answer.size());
      ::_exit(0);
    }
    ::close(told[1]);
    std::string out;
    char buffer[4096];
    for (ssize_t n = 0; (n = ::read(told[0], buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(n));
    ::close(told[0]);
    ::waitpid(child, nullptr, 0);
    return out;
  }
  // From a process of this user that calls itself another in a user namespace of its own.
  std::string ask_named(uid_t uid, const std::string& request) {
    return in_child([&]() -> std::string {
      const uid_t outside = ::geteuid();
      if (::unshare(CLONE_NEWUSER) != 0) return cat("unshare: errno ", errno);
      int map = ::open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
      const std::string line = cat(uid, " ", outside, " 1\n");
      if (::write(map, line.data(), line.size()) < 0) return cat("uid_map: errno ", errno);
      ::close(map);
      if (::geteuid() != uid) return "it could not take another name";
      return ask(request);
    });
  }
  static std::string get(const std::string& path, const std::string& more = {}) {
    return cat("GET ", path, " HTTP/1.1\r\nHost: whatever\r\nConnection: close\r\n", more, "\r\n");
  }
  static std::string post(const std::string& path, const std::string& body) {
    return cat("POST ", path, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ", body.size(), "\r\n\r\n", body);
  }

  std::string around_, path_;
};

TEST_F(UnixSocket, ItsOwnUserMayDoEverythingWithoutAKey) {
  struct stat s {};
  ASSERT_EQ(::stat(path_.c_str(), &s), 0);
  EXPECT_TRUE(S_ISSOCK(s.st_mode));
  EXPECT_EQ(s.st_mode & 0777, 0600u);
  EXPECT_TRUE(ask(get("/api/v1/keys")).starts_with("HTTP/1.1 200 "));   // an admin's
  auto ran = ask(post("/api/v1/sandbox/execute", R"({"command":"echo","args":["by the socket"]})"));
  EXPECT_NE(ran.find("by the socket\\n"), std::string::npos) << ran;
  // A wrong key is not made up for by the right user; and by TCP the user is nobody's.
  EXPECT_TRUE(ask(get("/api/v1/keys", "Authorization: Bearer hc_wrong\r\n")).starts_with("HTTP/1.1 401 "));
  EXPECT_EQ(send("GET", "/api/v1/keys").status, 401);
}

TEST_F(UnixSocket, ItsNameGoesWithTheDaemonUnlessItIsSomebodyElses) {
  struct stat s {};
  ASSERT_EQ(::stat(path_.c_str(), &s), 0);
  end_daemon();
  EXPECT_EQ(::stat(path_.c_str(), &s), -1) << "a name that nobody answers to";
  start_daemon();
  EXPECT_TRUE(ask(get("/api/v1/keys")).starts_with("HTTP/1.1 200 "));
  // Another one has come in its place.
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  int other = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
  ASSERT_EQ(::bind(other, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  end_daemon();
  EXPECT_EQ(::stat(path_.c_str(), &s), 0) << "it is not ours to take";
  ::close(other);
}

TEST_F(UnixSocket, AnotherUserNeedsAKeyWhoeverItSaysItIs) {
  // Without root nobody can become somebody else but in name: the kernel's word is then that it is the server's own user.
  if (::geteuid() != 0) {
    EXPECT_TRUE(ask_named(65534, get("/api/v1/keys")).starts_with("HTTP/1.1 200 "));
    EXPECT_TRUE(ask_named(0, get("/api/v1/keys", "Authorization: Bearer hc_wrong\r\n")).starts_with("HTTP/1.1 401 "));
    return;
  }
  constexpr uid_t kNobody = 65534;
  EXPECT_EQ(ask_as(kNobody, get("/api/v1/keys")), cat("errno ", EACCES)) << "the mode keeps it out";
  // An administrator opens it, as hotcell.socket does for its group: then the kernel's word on who is there counts.
  ASSERT_EQ(::chmod(path_.c_str(), 0666), 0);
  auto refused = ask_as(kNobody, get("/api/v1/keys"));
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 403 ")) << refused;
  EXPECT_NE(refused.find("for the server's own user and for root"), std::string::npos) << refused;
  auto made = ask(post("/api/v1/keys", R"({"name":"other","scopes":["read"]})"));
  const std::string key = field(made, "key");
  ASSERT_TRUE(key.starts_with("hc_")) << made;
  EXPECT_TRUE(ask_as(kNobody, get("/api/v1/stats", cat("Authorization: Bearer ", key, "\r\n"))).starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(ask_as(kNobody, get("/api/v1/keys", cat("Authorization: Bearer ", key, "\r\n"))).starts_with("HTTP/1.1 403 ")) << "only what the key may";
}

}  // namespace
}  // namespace hotcell::testing
