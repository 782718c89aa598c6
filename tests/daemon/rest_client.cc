#include "daemon/rest_client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <cstdio>
#include <sstream>
#include <fstream>
#include <thread>

#include "base/json_write.h"
#include "base/strings.h"
#include "support/cells.h"

namespace hotcell::testing {

namespace {

std::string read_until(int fd, std::string_view end, std::chrono::milliseconds patience) {
  std::string text;
  pollfd waiting{fd, POLLIN, 0};
  char buffer[65536];
  while (end.empty() || text.find(end) == std::string::npos) {
    if (::poll(&waiting, 1, static_cast<int>(patience.count())) <= 0) break;
    ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n <= 0) break;
    text.append(buffer, static_cast<std::size_t>(n));
  }
  return text;
}

std::string without_chunks(std::string_view text) {
  std::string out;
  while (true) {
    auto line = text.find("\r\n");
    if (line == std::string_view::npos) return out;
    std::size_t size = std::strtoul(std::string(text.substr(0, line)).c_str(), nullptr, 16);
    if (size == 0 || line + 2 + size > text.size()) return out;
    out += text.substr(line + 2, size);
    text.remove_prefix(std::min(text.size(), line + 2 + size + 2));
  }
}

HttpAnswer parse_answer(const std::string& text) {
  HttpAnswer answer;
  auto end = text.find("\r\n\r\n");
  if (end == std::string::npos || text.size() < 12) return answer;
  answer.status = std::atoi(text.c_str() + 9);
  for (auto line : split(std::string_view(text).substr(0, end), '\n')) {
    auto colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    answer.headers.emplace_back(name, std::string(trim(line.substr(colon + 1))));
  }
  answer.body = text.substr(end + 4);
  if (answer.header("transfer-encoding") == "chunked") answer.body = without_chunks(answer.body);
  answer.type = answer.header("content-type");
  return answer;
}

}  // namespace

std::string field(const std::string& json, const std::string& name) {
  const std::string key = "\"" + name + "\":\"";
  auto at = json.find(key);
  if (at == std::string::npos) return {};
  at += key.size();
  return json.substr(at, json.find('"', at) - at);
}

std::string program_path() {
  return (std::filesystem::path(self_path()).parent_path() / "hotcell").string();
}

std::string HttpAnswer::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

void DaemonFixture::SetUp() {
  LeakCheck::SetUp();
  std::string folder = (std::filesystem::temp_directory_path() / "hotcell-rest-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  state = folder;
  start_daemon();
}

void DaemonFixture::start_daemon() {
  const std::string config_file = state + "/config.yaml";
  std::ofstream(config_file) << config;
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  pid_ = ::fork();
  if (pid_ == 0) {
    const int said = ::open((state + ".said").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(said, STDERR_FILENO);
    const std::string fd = std::to_string(::dup(ready[1])), program = program_path();   // dup: not close-on-exec
    std::vector<std::string> words = {program, "serve", "--listen", "127.0.0.1:0", "--config", config_file, "--state", state, "--ready-fd", fd};
    words.insert(words.end(), serve_words.begin(), serve_words.end());
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    // What is still running at a test's end is not waited for; whose test that is says otherwise.
    ::setenv("HOTCELL_QUEUE_DRAIN", "10s", 1);
    for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
    ::execv(program.c_str(), argv.data());
    ::_exit(127);
  }
  ::close(ready[1]);
  std::string line = read_until(ready[0], "\n", std::chrono::seconds(30));
  line = line.substr(0, line.find('\n'));   // TCP comes first
  ::close(ready[0]);
  auto colon = line.rfind(':');
  ASSERT_NE(colon, std::string::npos) << "the daemon did not become ready: " << line;
  port = std::atoi(line.c_str() + colon + 1);
  ASSERT_GT(port, 0);
}

void DaemonFixture::end_daemon() {
  if (pid_ > 0) {
    ::kill(pid_, SIGTERM);
    int status = 0;
    bool gone = false;
    for (int i = 0; i < 300 && !gone; ++i) {
      gone = ::waitpid(pid_, &status, WNOHANG) == pid_;
      if (!gone) std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    EXPECT_TRUE(gone) << "the daemon did not end after SIGTERM";
    if (!gone) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, &status, 0);
    }
  }
  pid_ = 0;
}

void DaemonFixture::kill_daemon() {
  ASSERT_GT(pid_, 0);
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

void DaemonFixture::TearDown() {
  end_daemon();
  std::stringstream said;
  said << std::ifstream(state + ".said").rdbuf();
  // Tests kill with SIGKILL: any other signal is a crash of ours, however well the next process takes over.
  for (std::string line; std::getline(said, line);)
    EXPECT_TRUE(line.find("ended by signal") == std::string::npos || line.find("ended by signal 9") != std::string::npos) << line;
  if (HasFailure()) std::fputs(said.str().c_str(), stderr);
  std::error_code ignored;
  if (!state.empty()) std::filesystem::remove_all(state, ignored), std::filesystem::remove(state + ".said", ignored);
  LeakCheck::TearDown();
}

int DaemonFixture::send_only(const std::string& method, const std::string& target, const std::string& body,
                             const HttpHeaders& headers) {
  int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return fd;
  std::string text = cat(method, " ", target, " HTTP/1.1\r\nHost: 127.0.0.1:", port, "\r\nConnection: close\r\n");
  if (!body.empty() || method == "POST") text += cat("Content-Length: ", body.size(), "\r\n");
  const bool typed = std::any_of(headers.begin(), headers.end(), [](const auto& h) { return h.first == "Content-Type"; });
  if (!typed && (!body.empty() || method == "POST")) text += "Content-Type: application/json\r\n";
  for (const auto& [name, value] : headers) text += cat(name, ": ", value, "\r\n");
  // A WebSocket's handshake says so in the same header.
  if (std::any_of(headers.begin(), headers.end(), [](const auto& h) { return h.first == "Upgrade"; })) text.replace(text.find("close"), 5, "Upgrade");
  text += cat("\r\n", body);
  for (std::size_t sent = 0; sent < text.size();) {
    ssize_t n = ::send(fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) break;   // refused before it was all there: the answer tells
    sent += static_cast<std::size_t>(n);
  }
  return fd;
}

HttpAnswer DaemonFixture::send(const std::string& method, const std::string& target, const std::string& body,
                               const HttpHeaders& headers) {
  int fd = send_only(method, target, body, headers);
  auto answer = parse_answer(read_until(fd, "", std::chrono::seconds(60)));
  ::close(fd);
  if (record) note(method, target, answer);
  return answer;
}

void DaemonFixture::note(const std::string& method, const std::string& target, const HttpAnswer& answer) {
  JsonWriter w;
  w.begin_object();
  w.field("method", method);
  w.field("path", target);
  w.field("status", answer.status);
  w.field("type", answer.type);
  w.field("body", answer.body);
  w.end_object();
  recorded += w.take() + "\n";
}

}  // namespace hotcell::testing
