// A shell in a cell: bash on a terminal of the cell's own.
//
// Two kinds. A *terminal* is for people: whoever attaches types and reads, and what runs there goes on when they leave. An
// *agent's* shell is for programs that want one command's output and exit code at a time, with directory, variables and
// functions kept. There bash reads commands not from the terminal but from a pipe of its own, and says how each ended on
// another, so a command that eats stdin, prints what looks like an end, or leaves jobs behind shifts nothing. Commands
// have neither pipe (shell_driver()), and both are sockets, which no other program of the cell can open by /proc. The word that ends a command is drawn by chance for each and told to the shell only
// when the command is over; the same word on the terminal is where its output ends.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "cells/keeper/keeper.h"

namespace hotcell::cells {

std::string shell_driver();  // what bash is told to be an agent's shell

class Session {
 public:
  Session(Keeper& keeper, std::string cell, std::string name, bool agent) : keeper_(keeper), cell_(std::move(cell)), name_(std::move(name)), agent_(agent) {}
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  bool agent() const { return agent_; }
  bool running() const { return command_.has_value(); }
  const std::string& name() const { return name_; }
  std::uint64_t execution = 0;
  Whereabouts in;                                // where its commands may have gone, to the decisions
  sys::Fd orders_theirs, status_theirs, scratch_theirs;  // until it is started

  Result<void> open_pipes();
  void on_terminal(sys::Fd master);
  void on_tty(const News& news);
  void on_end(const News& news);
  Result<void> run(const Asker& asker, std::string command, Nanoseconds timeout, bool stop_on_input);
  Result<void> wait(const Asker& asker, bool stop_on_input);
  Result<void> input(std::string_view bytes);
  Result<void> resize(unsigned rows, unsigned columns);
  Result<void> interrupt();
  Result<void> attach(const Asker& asker);
  void forget_client(std::uint64_t client);
  Clock::time_point due() const;
  void later(Clock::duration by);                // it stood still for so long
  bool in_use() const;                           // a command runs, or somebody is attached
  void tick(Clock::time_point at);
  std::string history_json() const;
  std::vector<Asker> openers;                    // wait for the terminal
  bool open() const { return master_.valid(); }

 private:
  struct Command {
    std::string text, nonce, output, window;
    std::optional<Asker> asker;
    bool stop_on_input = false;
    Clock::time_point begun, deadline, next_look, last_output, fence_by;
    std::optional<int> status;
    bool taken = false, timed_out = false, interrupted = false, awaiting = false, fenced = false, cut = false;
    int escalations = 0;
    RecordTime at{};
  };
  struct Past {
    std::string command;
    int status = 0;
    bool timed_out = false;
    RecordTime at{};
    Nanoseconds took{0};
  };
  struct Attached {
    std::uint64_t watch = 0;
    sys::Fd socket;
    std::string waiting;
  };

  void on_master(std::uint32_t events);
  void on_status();
  void take_output(std::string_view bytes);
  void to_master(std::string_view bytes);
  void on_attached(std::uint64_t key, std::uint32_t events);
  void send_attached(std::uint64_t key, std::string_view bytes);
  void detach(std::uint64_t key);
  void taken();
  void conclude();
  void reply(const char* state, bool last_word);
  void signal_foreground(int signal);

  Keeper& keeper_;
  std::string cell_, name_;
  bool agent_;
  sys::Fd master_, orders_, status_;
  std::uint64_t master_watch_ = 0, status_watch_ = 0;
  std::string status_text_, typed_;
  std::optional<Command> command_;
  std::optional<Told> unclaimed_;                // the end of a command that nobody waited for at that moment
  std::deque<Past> history_;
  std::string scrollback_;
  std::map<std::uint64_t, Attached> attached_;
  std::uint64_t last_attached_ = 0;
};

}  // namespace hotcell::cells
