#include "backends/engine/run.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "backends/engine/json.h"
#include "backends/tools.h"
#include "base/strings.h"
#include "core/kernel/cgroup_files.h"
#include "core/launch/collect.h"
#include "core/launch/workspace.h"
#include "sys/fd.h"
#include "sys/file.h"

namespace hotcell::backends {
namespace {

constexpr auto kLook = std::chrono::milliseconds(20), kDiskLook = std::chrono::milliseconds(100);
constexpr auto kStateLook = std::chrono::milliseconds(2);    // when its streams have closed it is about to be gone
constexpr auto kOrder = std::chrono::seconds(20);            // for one call of the engine

}  // namespace

EngineRun::EngineRun(const EngineClient& client, Policy policy, Request request, Launcher::Done done)
    : client_(client), policy_(std::move(policy)), request_(std::move(request)), done_(std::move(done)),
      out_(policy_.limits.output, request_.collect_output), err_(policy_.limits.output, request_.collect_output) {}

EngineRun::~EngineRun() {
  stream_.socket.reset();
  if (!id_.empty()) client_.ask("DELETE", cat("/containers/", id_, "?force=1&v=1"), {}, {}, kOrder).ignore("swept by the next one, by its label");
}

Result<void> EngineRun::ensure_image(const std::string& image, const std::string& archive) const {
  TRY_SET(EngineAnswer there, client_.ask("GET", cat("/images/", url_escape(image), "/json"), {}, {}, kOrder));
  if (there.ok()) return {};
  auto colon = image.find(':');
  std::string name = cat("repo=", url_escape(image.substr(0, colon)), "&tag=", image.substr(colon + 1));
  TRY_SET(std::string told, client_.demand("POST", cat("/images/create?fromSrc=-&", name), archive, "application/x-tar", kOrder).context("make the empty image"));
  // Podman before 4.4 imports it and forgets the name.
  auto at = told.rfind("sha256:");
  if (at == told.npos) return make_error(ErrorCode::kIo, "the engine made an image without an id");
  std::string id = told.substr(at, told.find_first_not_of("0123456789abcdef", at + 7) - at);
  TRY(client_.demand("POST", cat("/images/", id, "/tag?", name), {}, {}, kOrder).context("name the empty image"));
  return {};
}

Result<void> EngineRun::start(const Backend& backend, EngineKind kind, const Settings& settings, bool own_kernel, const std::vector<std::string>& waived) {
  bool privileged = ::geteuid() == 0;
  if (privileged) {
    TRY_SET(ids_, take_ids());
  }
  TRY_SET(scratch_, Scratch::make(ids_.id));
  for (const auto& f : request_.files) TRY(write_input_file(scratch_.work(), f, ids_.id).context("workspace"));
  ToolRequest asked{policy_, request_, scratch_.path(), cat(scratch_.path(), "/work"), "", "", privileged ? ids_.id : ::geteuid()};
  asked.privileged = privileged;
  asked.inside = asked.id;
  asked.env = program_env(policy_, request_);
  asked.settings = settings;
  TRY_SET(auto shown, engine_view(asked, kind));
  TRY_SET(auto pieces, container_pieces(asked));
  pieces.push_back({std::string(kGoPiece), "", Piece::Kind::kFifo, 0644});
  if (own_kernel) knocks_for_pipes(pieces);
  TRY(scratch_.write(pieces));
  told_fd_ = open_told(scratch_);
  std::string archive = empty_root(shown);
  // An engine's own choice for nothing to read is the host's /dev/null, and gVisor makes what it is given the container's user's.
  input_open_ = own_kernel || !std::holds_alternative<NoStdin>(request_.stdin_source);
  if (std::holds_alternative<StdinSocket>(request_.stdin_source)) return make_error(ErrorCode::kUnsupported, "only a native cell is given a socket");
  ContainerSpec spec{kind, root_image(archive), settings.get(cat(backend.name(), ".runtime")), own_prefix(), input_open_, own_kernel};
  TRY(ensure_image(spec.image, archive));
  TRY_SET(std::string body, container_json(asked, spec));
  TRY_SET(std::string made, client_.demand("POST", "/containers/create", body, "application/json", kOrder));
  auto id = json_text(made, {"Id"});
  if (!id || id->empty() || id->find_first_not_of("0123456789abcdef") != id->npos) return make_error(ErrorCode::kIo, "the engine made a container without an id");
  id_ = *id;
  for (const auto& [statement, words] : left_out(made))
    if (std::find(waived.begin(), waived.end(), statement) == waived.end())
      return make_error(ErrorCode::kUnsupported, cat("the engine does not hold ", statement, ": ", printable(words), " (--waive ", statement, " does without)"));
  TRY_SET(stream_, client_.upgrade(cat("/containers/", id_, "/attach?stream=1&stdout=1&stderr=1", input_open_ ? "&stdin=1" : "")));
  emit("sandbox.created");
  TRY(client_.demand("POST", cat("/containers/", id_, "/start"), {}, {}, kOrder));
  start_wall_ = std::chrono::system_clock::now();
  started_ = Clock::now();
  deadline_ = started_ + std::min(policy_.limits.wall, request_.wall.value_or(policy_.limits.wall));
  next_look_ = next_disk_ = started_ + kLook;
  if (auto* bytes = std::get_if<StdinBytes>(&request_.stdin_source)) input_ = std::move(bytes->bytes);
  if (auto* fd = std::get_if<StdinFd>(&request_.stdin_source)) {
    input_fd_ = fd->fd;
    input_fd_ready_ = true;
  }
  emit("execution.started");
  TRY(read_state());  // its first process, by which its group is found
  // However short the program is, it has not begun before that.
  if (!own_kernel) {
    TRY_SET(go_, sys::open(cat(scratch_.path(), "/", kGoPiece).c_str(), O_RDWR | O_NONBLOCK | O_NOFOLLOW));
  }
  return take(std::exchange(stream_.first, {}));
}

Result<bool> EngineRun::advance() {
  TRY(read_stream());
  pump_input();
  auto now = Clock::now();
  if (!ended_for_ && now >= deadline_) {
    if (request_.on_timeout) request_.on_timeout();
    end_for(ExitReason::kTimeoutWall);
  }
  if (now >= next_look_) TRY(look());
  return over_;
}

Result<void> EngineRun::read_stream() {
  char buffer[64 << 10];
  for (int round = 0; round < 64 && !stream_over_; ++round) {
    if (!stream_.socket.valid()) return {};
    ssize_t n = ::recv(stream_.socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    if (n <= 0) {
      stream_over_ = true;
      stream_end_ = next_look_ = Clock::now();
      return {};
    }
    TRY(take({buffer, static_cast<std::size_t>(n)}));
  }
  return {};
}

Result<void> EngineRun::take(std::string_view bytes) {
  TRY_SET(auto pieces, frames_.add(bytes));
  for (const auto& piece : pieces) {
    bool is_err = piece.stream == 2;
    OutputBuffer& buffer = is_err ? err_ : out_;
    auto kept = buffer.append(piece.bytes);
    if (!kept.empty() && request_.on_output) request_.on_output(is_err ? Stream::kStderr : Stream::kStdout, kept);
    if (buffer.truncated() && policy_.on_output == OnOutput::kKill) end_for(ExitReason::kOutput);
  }
  return {};
}

void EngineRun::pump_input() {
  if (!input_open_ || !stream_.socket.valid() || stream_over_) return;
  while (at_ < input_.size()) {
    ssize_t n = ::send(stream_.socket.get(), input_.data() + at_, input_.size() - at_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n < 0) {  // it reads no more
      input_open_ = false;
      return;
    }
    at_ += static_cast<std::size_t>(n);
  }
  input_.clear();
  at_ = 0;
  if (input_fd_ready_) {
    pollfd p{input_fd_, POLLIN, 0};
    if (::poll(&p, 1, 0) == 0) return;
    char buffer[64 << 10];
    ssize_t n = ::read(input_fd_, buffer, sizeof buffer);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (n > 0) {
      input_.assign(buffer, static_cast<std::size_t>(n));
      return;
    }
    input_fd_ready_ = false;
  }
  ::shutdown(stream_.socket.get(), SHUT_WR);
  input_open_ = false;
}

Result<void> EngineRun::look() {
  auto now = Clock::now();
  LiveUsage live;
  live.elapsed = now - started_;
  bool seen = !over_ && group_.sample(usage_, live);
  if (seen && !ended_for_) {
    if (usage_.cpu >= policy_.limits.cpu_time) end_for(ExitReason::kTimeoutCpu);
    if (now >= next_disk_) {
      next_disk_ = now + kDiskLook;
      live.disk.n = scratch_.used();
      if (live.disk.n > policy_.limits.disk.n) end_for(ExitReason::kDisk);
    }
    if (request_.on_usage) request_.on_usage(live);
  }
  next_look_ = now + (stream_over_ ? std::clamp<Clock::duration>((now - stream_end_) / 4, kStateLook, kDiskLook) : Clock::duration(kLook));
  // A program may close its streams and live on; one that is gone has closed them, but for the time the engine takes.
  if (stream_over_ || ended_for_ || !seen) TRY(read_state());
  return {};
}

Result<void> EngineRun::read_state() {
  TRY_SET(EngineAnswer answer, client_.ask("GET", cat("/containers/", id_, "/json"), {}, {}, kOrder));
  if (answer.status == 404) return make_error(ErrorCode::kIo, "somebody else removed the container");
  if (!answer.ok()) return make_error(ErrorCode::kIo, cat("the engine does not tell of its container: ", answer.status));
  bool running = json_truth(answer.body, {"State", "Running"}).value_or(false) || json_truth(answer.body, {"State", "Paused"}).value_or(false);
  auto status = json_text(answer.body, {"State", "Status"}).value_or("");
  if (running || status == "created" || status == "initialized" || status == "stopping" || status == "removing") {
    if (!group_.known()) group_ = EngineGroup::of(json_number(answer.body, {"State", "Pid"}).value_or(0), id_);
    return {};
  }
  // What it printed last may still be on its way.
  if (!stream_over_ && !ended_for_ && stream_end_ == Clock::time_point{}) {
    stream_end_ = Clock::now();
    return {};
  }
  if (!stream_over_ && !ended_for_ && Clock::now() - stream_end_ < std::chrono::seconds(2)) return {};
  auto code = json_number(answer.body, {"State", "ExitCode"});
  if (code) code_ = static_cast<int>(*code);
  oom_ = json_truth(answer.body, {"State", "OOMKilled"}).value_or(false);
  over_ = true;
  return {};
}

void EngineRun::end_for(ExitReason reason) {
  if (ended_for_ || over_) return;
  ended_for_ = reason;
  next_look_ = Clock::now();
  // What has come is taken, then nobody listens any more: an engine that is stuck with a flood of output does not answer.
  read_stream().ignore("it ends anyway");
  stream_.socket.reset();
  stream_over_ = true;
  stream_end_ = next_look_;
  // A frozen one hears nothing.
  if (frozen_) client_.ask("POST", cat("/containers/", id_, "/unpause"), {}, {}, kOrder).ignore("the kill says what is wrong");
  client_.ask("POST", cat("/containers/", id_, "/kill?signal=KILL"), {}, {}, kOrder).ignore("its state is looked at until it is gone; the removal is by force");
}

Result<void> EngineRun::freeze(bool frozen) {
  TRY(client_.demand("POST", cat("/containers/", id_, frozen ? "/pause" : "/unpause"), {}, {}, kOrder));
  frozen_ = frozen;
  return {};
}

Verdict EngineRun::verdict() const {
  if (ended_for_) return {*ended_for_, std::nullopt, SIGKILL};
  int code = code_.value_or(-1);
  if (code < 0) return {ExitReason::kSandboxError, std::nullopt, std::nullopt};
  Verdict out{ExitReason::kExited, code, std::nullopt};
  name_the_end(out, told_);
  if (!out.signal) return out;
  int signal = *out.signal;
  bool full = oom_ || usage_.memory_peak.n + (1 << 20) >= policy_.limits.memory.n;
  if (signal == SIGKILL && full) return {ExitReason::kMemory, std::nullopt, signal};
  if (signal == SIGXCPU) return {ExitReason::kTimeoutCpu, std::nullopt, signal};
  return out;
}

Result<Report> EngineRun::finish(std::string_view backend, const std::vector<LayerReport>& walls, std::vector<Denial> waivers) {
  TRY(read_stream());
  if (told_fd_.valid()) told_ = take_told(told_fd_);
  Report r;
  r.id = request_.id;
  r.verdict = verdict();
  if (r.verdict.reason == ExitReason::kDisk) r.error = "the workspace is larger than the disk limit";
  r.out_bytes = out_.total();
  r.err_bytes = err_.total();
  r.out_truncated = out_.truncated();
  r.err_truncated = err_.truncated();
  r.out = out_.take();
  r.err = err_.take();
  if (told_ && !told_->started && r.verdict.reason == ExitReason::kExited)
    return make_error(ErrorCode::kIo, cat("backend ", backend, ": the container ended with exit code ", *r.verdict.exit_code, " before the program was started: ", words_of_tool(r.err, scratch_)));
  r.start_time = start_wall_;
  r.end_time = std::chrono::system_clock::now();
  r.duration = Clock::now() - started_;
  r.usage = usage_;
  r.enforcement.backend = std::string(backend);
  r.enforcement.layers = walls;
  auto add = [&](Layer layer, LayerStatus status, std::string detail) { r.enforcement.layers.push_back({layer, status, std::move(detail)}); };
  bool seen = group_.known();
  if (r.enforcement.find(Layer::kRlimits) == nullptr) add(Layer::kRlimits, LayerStatus::kPartial, "set by the engine, not read back");
  add(Layer::kMemory, LayerStatus::kFull, "the engine's ceiling");
  add(Layer::kCpu, seen ? LayerStatus::kFull : LayerStatus::kPartial, seen ? "cgroup total, by samples" : "RLIMIT_CPU of each process: its cgroup is not in sight");
  add(Layer::kProcesses, LayerStatus::kPartial, "the engine's ceiling, two more for the container's own");
  add(Layer::kDisk, LayerStatus::kPartial, "each file by RLIMIT_FSIZE, /work by samples");
  r.denials = std::move(waivers);
  if (!request_.outputs.empty() && r.verdict.reason == ExitReason::kExited && r.verdict.exit_code == 0) {
    TRY_SET(r.files, collect_outputs(scratch_.work(), request_.outputs, policy_.limits.disk));
  }
  if (!request_.outputs_if_there.empty())
    for (auto& f : collect_present(scratch_.work(), request_.outputs_if_there, policy_.limits.disk)) r.files.push_back(std::move(f));
  // By force, and with everything that is of it; our own folder only when no process can write there any more.
  stream_.socket.reset();
  TRY(client_.demand("DELETE", cat("/containers/", id_, "?force=1&v=1"), {}, {}, kOrder).context("remove the container"));
  id_.clear();
  scratch_.remove();
  bool killed = r.verdict.status() == RunStatus::kKilled || r.verdict.status() == RunStatus::kTimeout;
  emit(killed ? "execution.killed" : "execution.completed",
       {{"exit_reason", std::string(to_string(r.verdict.reason))}, {"status", std::string(to_string(r.verdict.status()))}, {"duration", cat(r.duration.count())}});
  emit("sandbox.destroyed");
  return r;
}

void EngineRun::emit(std::string type, std::map<std::string, std::string> fields) const {
  if (request_.on_event) request_.on_event({std::move(type), request_.id, std::chrono::system_clock::now(), std::move(fields)});
}

}  // namespace hotcell::backends
