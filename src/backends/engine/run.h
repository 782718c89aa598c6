// One container, from its making to its removal.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/engine/client.h"
#include "backends/engine/container.h"
#include "backends/engine/group.h"
#include "backends/engine/http.h"
#include "backends/scratch.h"
#include "backends/told.h"
#include "core/launch/ids.h"
#include "hotcell/launcher.h"
#include "hotcell/output_buffer.h"

namespace hotcell::backends {

class EngineRun {
 public:
  using Clock = std::chrono::steady_clock;
  EngineRun(const EngineClient& client, Policy policy, Request request, Launcher::Done done);
  ~EngineRun();
  EngineRun(const EngineRun&) = delete;
  EngineRun& operator=(const EngineRun&) = delete;

  Result<void> start(const Backend& backend, EngineKind kind, const Settings& settings, bool own_kernel, const std::vector<std::string>& waived);
  // Everything that can be done without waiting. True: it is over, and finish() has the report.
  Result<bool> advance();
  void cancel() { end_for(ExitReason::kCancelled); }
  Result<void> freeze(bool frozen);
  Result<Report> finish(std::string_view backend, const std::vector<LayerReport>& walls, std::vector<Denial> waivers);
  int stream_fd() const { return stream_.socket.get(); }
  bool streams_over() const { return stream_over_; }
  bool wants_write() const { return stream_.socket.valid() && at_ < input_.size(); }
  int input_fd() const { return input_fd_ready_ && at_ >= input_.size() ? input_fd_ : -1; }
  Clock::time_point due() const { return next_look_; }
  void done(RunId id, Result<Report> report) { done_(id, std::move(report)); }

 private:
  Result<void> ensure_image(const std::string& image, const std::string& archive) const;
  Result<void> read_stream();
  Result<void> take(std::string_view bytes);
  void pump_input();
  Result<void> look();
  Result<void> read_state();
  void end_for(ExitReason reason);
  void emit(std::string type, std::map<std::string, std::string> fields = {}) const;
  Verdict verdict() const;

  const EngineClient& client_;
  Policy policy_;
  Request request_;
  Launcher::Done done_;
  Scratch scratch_;
  CellIds ids_;
  ToldBy told_fd_;
  sys::Fd go_;
  std::optional<Told> told_;             // what the seal said of the end, where it can
  std::string id_;                       // the container's
  EngineStream stream_;
  FrameReader frames_;
  OutputBuffer out_, err_;
  EngineGroup group_;
  Usage usage_;
  std::string input_;
  std::size_t at_ = 0;
  int input_fd_ = -1;
  bool input_fd_ready_ = false, input_open_ = false, stream_over_ = false, frozen_ = false;
  std::optional<ExitReason> ended_for_;
  bool over_ = false, oom_ = false;
  std::optional<int> code_;
  std::chrono::system_clock::time_point start_wall_;
  Clock::time_point started_, deadline_, next_look_, next_disk_, stream_end_;
};

}  // namespace hotcell::backends
