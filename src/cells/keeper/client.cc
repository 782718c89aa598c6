#include "cells/keeper/client.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "base/strings.h"
#include "cells/keeper/folder.h"
#include "sys/file.h"
#include "sys/spawn.h"

namespace hotcell::cells {
namespace {

constexpr auto kStartTime = std::chrono::seconds(10), kHelloTime = std::chrono::seconds(30);
constexpr char kGone[] = "the keeper of cells is gone; its cells have stopped, their files are kept";
constexpr char kOtherVersion[] = "the keeper of cells speaks another language; is it of another version?";

Result<void> start_keeper(const std::string& state, const std::string& cells, const KeeperProgram& keeper) {
  TRY_SET(sys::Fd null, sys::open("/dev/null", O_RDWR));
  TRY_SET(sys::Fd log, sys::open(cat(cells, "/keeper.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600));
  sys::Spawn spawn;
  spawn.program = keeper.program;
  spawn.argv = keeper.arguments;
  spawn.argv.push_back(state);
  spawn.fds = {null.get(), log.get(), log.get()};
  spawn.die_with_us = false;
  spawn.keep_environment = true;
  TRY_SET(sys::Child child, sys::spawn(spawn).context("start the keeper of cells"));
  // The first of its two processes ends at once; the keeper itself is nobody's child.
  sys::reap(child.pid, true).ignore("whether it serves is seen by connecting");
  return {};
}

// The socket of a keeper that is ending takes connections, too; only one that says so has taken this one.
Result<bool> is_served(int socket) {
  pollfd ready{socket, POLLIN, 0};
  if (::poll(&ready, 1, static_cast<int>(std::chrono::milliseconds(kHelloTime).count())) <= 0)
    return make_error(ErrorCode::kIo, "the keeper of cells does not answer");
  auto got = receive_message(socket, MSG_DONTWAIT);
  if (!got.ok() || got.value().closed || got.value().again) return false;
  Told told;
  if (!unpack(got.value().bytes, told) || told.fields != hello().fields) return make_error(ErrorCode::kInternal, kOtherVersion);
  return true;
}

}  // namespace

Result<KeeperClient> KeeperClient::connect(const std::string& state, const KeeperProgram& keeper) {
  TRY_SET(std::string cells, make_cells_folder(state));
  auto give_up = std::chrono::steady_clock::now() + kStartTime;
  bool started = false;
  for (int round = 0;; ++round) {
    auto socket = connect_in(cells, kSocketName);
    bool served = false;
    if (socket.ok()) {
      TRY_SET(served, is_served(socket.value().get()));
    }
    if (served) return KeeperClient(std::move(socket).value());
    int err = socket.ok() ? ECONNREFUSED : socket.error().err;
    if (err != ENOENT && err != ECONNREFUSED && err != EAGAIN) return std::move(socket).error().context("the keeper of cells");
    if (std::chrono::steady_clock::now() > give_up)
      return make_error(ErrorCode::kIo, cat("the keeper of cells does not start; see ", printable(cells), "/keeper.log"));
    // One that was going when we came leaves its lock a moment later: then it is asked for again.
    if (!started || round % 50 == 0) TRY(start_keeper(state, cells, keeper));
    started = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(round < 20 ? 2 : 20));
  }
}

Result<std::uint64_t> KeeperClient::send(Ask ask, std::span<const int> fds) {
  if (ask.number == 0) ask.number = ++last_;
  if (auto sent = send_message(socket_.get(), pack(ask), fds); !sent.ok()) {
    if (sent.error().err == EPIPE || sent.error().err == ECONNRESET) return make_error(ErrorCode::kIo, kGone);
    return std::move(sent).error().context("the keeper of cells");
  }
  return ask.number;
}

Result<std::optional<Told>> KeeperClient::receive(std::chrono::milliseconds wait, std::vector<sys::Fd>* back) {
  if (wait.count() >= 0) {
    pollfd ready{socket_.get(), POLLIN, 0};
    if (::poll(&ready, 1, static_cast<int>(wait.count())) <= 0) return std::optional<Told>();
  }
  TRY_SET(Received got, receive_message(socket_.get(), wait.count() >= 0 ? MSG_DONTWAIT : 0));
  if (got.again) return std::optional<Told>();
  if (got.closed) return make_error(ErrorCode::kIo, kGone);
  Told told;
  if (!unpack(got.bytes, told)) return make_error(ErrorCode::kInternal, kOtherVersion);
  if (back != nullptr)
    for (auto& fd : got.fds) back->push_back(std::move(fd));
  if (!told.last && told.fields.contains("waiting")) {
    if (on_waiting) on_waiting(told);
    return std::optional<Told>();
  }
  return std::optional<Told>(std::move(told));
}

Result<Told> KeeperClient::ask(Ask ask, std::span<const int> fds, std::vector<sys::Fd>* back) {
  TRY_SET(std::uint64_t number, send(std::move(ask), fds));
  for (;;) {
    TRY_SET(std::optional<Told> told, receive(std::chrono::milliseconds(-1), back));
    if (!told || told->number != number || !told->last) continue;
    if (told->error) return *std::move(told->error);
    return *std::move(told);
  }
}

Result<Told> KeeperClient::ask(Ask ask, const std::function<void(const Told&)>& news) {
  TRY_SET(std::uint64_t number, send(std::move(ask)));
  for (;;) {
    TRY_SET(std::optional<Told> told, receive(std::chrono::milliseconds(-1)));
    if (!told || told->number != number) continue;
    if (!told->last) {
      news(*told);
      continue;
    }
    if (told->error) return *std::move(told->error);
    return *std::move(told);
  }
}

}  // namespace hotcell::cells
