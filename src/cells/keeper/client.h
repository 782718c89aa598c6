// The keeper, seen from outside. Blocking; one client belongs to one thread.
#pragma once
#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cells/keeper/protocol.h"
#include "hotcell/report.h"
#include "hotcell/request.h"
#include "hotcell/result.h"

namespace hotcell::cells {

// How one is started when none is there: `program` with `arguments` and the state folder behind them.
struct KeeperProgram {
  std::string program;                      // usually /proc/self/exe
  std::vector<std::string> arguments;
};

struct ExecAsk {
  std::string cell;
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::string workdir;
  Nanoseconds timeout{0};                   // zero: none
  int stdin_fd = -1;                        // given as it is; -1: nothing to read. Never a terminal of the caller's
  Bytes output = 1_MiB;                     // of each stream; past it the execution is killed, or the rest dropped
  bool truncate = false;
  bool collect = true;
  std::function<void(Stream, std::string_view)> on_output;
  std::function<bool()> cancelled;          // asked now and then
};

// How an execution ended, from its last answer.
void set_exec_verdict(const Told& told, Report& report);

class KeeperClient {
 public:
  // Starts a keeper where none answers.
  static Result<KeeperClient> connect(const std::string& state, const KeeperProgram& keeper);

  // Sends, and waits for the last answer. An Error of the keeper's is an Error here. `fds`: stay the caller's; `back`
  // gets what came along.
  Result<Told> ask(Ask ask, std::span<const int> fds = {}, std::vector<sys::Fd>* back = nullptr);
  // News that come before the last answer.
  Result<Told> ask(Ask ask, const std::function<void(const Told&)>& news);

  // One program in a cell: a Report like that of a run, but for what is the cell's own.
  Result<Report> exec(const ExecAsk& what);
  Result<std::uint64_t> exec_detached(const ExecAsk& what);  // left running: which execution it is

  // Told once for each action that waits until somebody approves it; such news are nobody else's.
  std::function<void(const Told&)> on_waiting;

  int fd() const { return socket_.get(); }
  Result<std::uint64_t> send(Ask ask, std::span<const int> fds = {});  // the number of the question
  Result<std::optional<Told>> receive(std::chrono::milliseconds wait, std::vector<sys::Fd>* back = nullptr);

 private:
  explicit KeeperClient(sys::Fd socket) : socket_(std::move(socket)) {}
  sys::Fd socket_;
  std::uint64_t last_ = 0;
};

}  // namespace hotcell::cells
