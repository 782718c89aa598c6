// One program in a lasting cell, driven by the loop: its pipes are ours, and what comes out of them is bounded here.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/output_buffer.h"
#include "hotcell/report.h"
#include "hotcell/request.h"
#include "manager/inspect_output.h"
#include "server/cells/keeper_link.h"

namespace hotcell::server {

using OutStream = hotcell::Stream;   // the server has one of its own

struct CellRunSpec {
  std::string cell;
  std::vector<std::string> argv;
  std::map<std::string, std::string> env;
  std::string workdir, stdin_bytes;
  bool stdin_open = false;                    // more of it comes by feed()
  Nanoseconds timeout{0};                     // zero: none; for CellDoor::exec zero is the cell's own, less is none
  Bytes output = 1_MiB;                       // of each stream; past it the program is killed, or the rest dropped
  bool truncate = false;
  bool collect = true;                        // whether the report has the output
  OutputOrder inspect = {};                   // CellDoor::exec: what it writes is looked at, and held back until then
  std::string client = {};                    // who asks, for the audit of what is found
  std::function<void(const std::string& question, const std::string& reason)> waiting = {};  // it waits for somebody's approval
};

class CellRun : public std::enable_shared_from_this<CellRun> {
 public:
  using Output = std::function<void(OutStream, std::string_view)>;
  using Done = std::function<void(Result<Report>)>;

  // `done` is called once, unless it is dropped before; then the program is killed.
  static std::shared_ptr<CellRun> start(KeeperLink& link, CellRunSpec spec, Output output, Done done);
  ~CellRun();
  CellRun(const CellRun&) = delete;
  CellRun& operator=(const CellRun&) = delete;

  void kill(const char* why);                 // "cancelled"
  // More of its standard input. False: enough waits for now, until `fed` is called.
  bool feed(std::string_view piece, bool last);
  void on_fed(std::function<void()> fed) { fed_all_ = std::move(fed); }
  // Stops reading for as long as whoever gets the output has enough of it.
  void hold(bool still);

 private:
  struct Side {
    OutStream stream;
    sys::Fd fd;
    OutputBuffer buffer;
    Loop::Handle watch;
  };
  CellRun(KeeperLink& link, CellRunSpec spec, Output output, Done done);
  Result<void> open();
  void watch(Side& side);
  void unwatch(Side& side, bool close);
  bool read(Side& side);                      // false: nothing more now
  void feed_on();
  void end_stdin();
  void answered(Result<KeeperLink::Answer> answer);
  void conclude();

  KeeperLink& link_;
  CellRunSpec spec_;
  Output output_;
  Done done_;
  Report report_;
  std::chrono::steady_clock::time_point begun_;
  std::uint64_t number_ = 0;
  Side out_, err_;
  sys::Fd stdin_;
  std::size_t fed_ = 0;                       // of spec_.stdin_bytes
  std::function<void()> fed_all_;
  Loop::Handle feeding_;
  std::optional<Result<KeeperLink::Answer>> answer_;
  bool killed_ = false, flooded_ = false, held_ = false, over_ = false;
};

}  // namespace hotcell::server
