// The Launcher of hotcell/launcher.h for a process that has none of its own: orders go to a launcher process, news come
// back. Each RemoteLauncher is one connection and belongs to one thread.
#pragma once
#include <functional>
#include <memory>

#include "core/remote/connection.h"
#include "core/remote/readers.h"
#include "hotcell/launcher.h"

namespace hotcell {

// A program that the launcher started for us to read hostile text.
struct RemoteReader {
  sys::Fd socket;
  std::uint64_t number = 0;
};

class RemoteLauncher : public Launcher {
 public:
  static Result<std::unique_ptr<RemoteLauncher>> open(sys::Fd socket);

  // One more connection to the same launcher, for another thread.
  virtual Result<std::unique_ptr<RemoteLauncher>> connect() = 0;
  virtual bool connected() const = 0;   // false as soon as any connection to this process has seen its end
  // For whoever lets go of it: what came is taken, and the runs that are left are told that it has stopped.
  virtual void give_up() = 0;

  // Ends whatever runs under this id, started by any connection.
  virtual void cancel_id(std::string_view request_id) = 0;
  virtual Result<RemoteReader> spawn_reader(remote::ReaderKind kind, Bytes memory) = 0;
  virtual Result<int> end_reader(std::uint64_t number, bool may_be_ending) = 0;  // its wait status

  // Without waiting: `answered` is called by step() when it has. One question at a time; a new one takes the old one's place.
  virtual void ask_if_alive(std::function<void()> answered) = 0;

  // What the last `done` said.
  virtual bool last_from_stock() const = 0;

  // Cells and runtimes that wait, of all policies, as the launcher has last told: it does so from now on when that changes,
  // within a second. For a connection that is read all the time.
  virtual void watch_stock() = 0;
  virtual remote::StockNews stock() const = 0;
};

}  // namespace hotcell
