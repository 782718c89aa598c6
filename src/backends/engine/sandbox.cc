#include "backends/engine/sandbox.h"

#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "backends/engine/container.h"
#include "backends/engine/http.h"
#include "backends/engine/json.h"
#include "base/json_write.h"
#include "base/sha256.h"
#include "base/strings.h"
#include "core/kernel/grants.h"

namespace hotcell::backends {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::string_view kJson = "application/json";
constexpr auto kOrder = std::chrono::seconds(20);

// The host's processes or devices are no project, whatever link leads there.
Result<void> can_be_shown(std::string_view what, const std::string& path) {
  char real[PATH_MAX];
  if (path.empty() || ::realpath(path.c_str(), real) == nullptr) return {};  // the engine says that it is not there
  return check_meaning({path, Access::kWrite, std::string(what)}, real);
}

void shown_as(JsonWriter& w, const std::string& source, std::string_view target, bool read_only) {
  w.begin_object();
  w.field("Type", "bind");
  w.field("Source", std::string_view(source));
  w.field("Target", target);
  w.field("ReadOnly", read_only);
  w.end_object();
}

void words(JsonWriter& w, std::string_view key, std::initializer_list<std::string_view> list) {
  w.key(key);
  w.begin_array();
  for (auto v : list) w.value(v);
  w.end_array();
}

}  // namespace

std::string ContainerSandbox::name() const { return cat("hotcell-", sha256_hex(spec_.project).substr(0, 8)); }

Result<std::string> ContainerSandbox::create_body() const {
  struct stat st {};
  if (!spec_.project.starts_with('/') || ::stat(spec_.project.c_str(), &st) != 0 || !S_ISDIR(st.st_mode))
    return make_error(ErrorCode::kInvalid, cat(printable(spec_.project), ": the project is a folder, from the root"));
  TRY(check_place({spec_.project, Access::kWrite, "project"}, normal_path(spec_.project)));
  TRY(can_be_shown("project", spec_.project));
  TRY(can_be_shown("attachments", spec_.attachments));
  TRY(can_be_shown("cache", spec_.cache));
  const bool podman = client_.name() == "podman";
  if (podman)
    for (const auto& path : {spec_.project, spec_.attachments, spec_.cache}) TRY(podman_shows(path));
  if (spec_.uid == 0) return make_error(ErrorCode::kInvalid, "commands are not run as root");
  if (spec_.image.empty()) return make_error(ErrorCode::kInvalid, "no image");
  JsonWriter w;
  w.begin_object();
  w.field("Image", std::string_view(spec_.image));
  w.field("Hostname", "cell");
  w.field("User", std::string_view(cat(spec_.uid, ":", spec_.gid)));
  w.field("WorkingDir", std::string_view(spec_.project));
  // What cannot be read back from what the engine says of it, for who adopts it.
  w.key("Labels");
  w.begin_object();
  w.field("hotcell.project", std::string_view(spec_.project));
  w.field("hotcell.attachments", std::string_view(spec_.attachments));
  w.field("hotcell.cache", std::string_view(spec_.cache));
  w.field("hotcell.runtime", std::string_view(spec_.runtime));
  w.end_object();
  words(w, "Entrypoint", {"sleep"});
  words(w, "Cmd", {"infinity"});
  w.key("HostConfig");
  w.begin_object();
  w.field("NetworkMode", "none");
  w.field("IpcMode", "private");
  w.field("ReadonlyRootfs", true);
  w.field("Memory", spec_.memory.n);
  w.field("MemorySwap", spec_.memory.n);
  w.field("PidsLimit", spec_.processes);
  if (spec_.cpus > 0) w.field("NanoCpus", static_cast<std::int64_t>(spec_.cpus * 1e9));
  if (!spec_.runtime.empty()) w.field("Runtime", std::string_view(spec_.runtime));
  words(w, "CapDrop", {"ALL"});
  words(w, "SecurityOpt", {"no-new-privileges"});
  w.key("Tmpfs");
  w.begin_object();
  w.field("/tmp", "rw,noexec,nosuid,nodev,size=64m,mode=1777");
  // Podman mounts these whether or not it is told to, and then as large as half of the host's memory.
  if (podman) w.field("/var/tmp", "rw,noexec,nosuid,nodev,size=64m,mode=1777");
  if (podman) w.field("/run", "rw,noexec,nosuid,nodev,size=1m,mode=0755");
  w.end_object();
  w.key("LogConfig");
  w.begin_object();
  w.field("Type", "none");
  w.end_object();
  w.key("Mounts");
  w.begin_array();
  shown_as(w, spec_.project, spec_.project, false);
  if (!spec_.attachments.empty()) shown_as(w, spec_.attachments, "/attachments", true);
  if (!spec_.cache.empty()) shown_as(w, spec_.cache, "/cache", false);
  w.end_array();
  w.end_object();
  w.end_object();
  return w.take();
}

Result<bool> ContainerSandbox::adopt() {
  TRY_SET(EngineAnswer answer, client_.ask("GET", cat("/containers/", name(), "/json"), {}, {}, kOrder));
  if (answer.status == 404) return false;
  if (!answer.ok()) return make_error(ErrorCode::kIo, cat("the engine does not tell of its containers: ", json_message(answer.body)));
  const std::string& text = answer.body;
  auto label = [&](std::string_view name) { return json_text(text, {"Config", "Labels", name}).value_or(""); };
  auto id = json_text(text, {"Id"}), image = json_text(text, {"Config", "Image"}), user = json_text(text, {"Config", "User"});
  if (!id || id->empty() || label("hotcell.project") != spec_.project)
    return make_error(ErrorCode::kInvalid, cat("the container ", name(), " is not of this project: it was not made by hotcell sandbox start"));
  spec_.image = image.value_or("");
  spec_.attachments = label("hotcell.attachments");
  spec_.cache = label("hotcell.cache");
  spec_.runtime = label("hotcell.runtime");
  auto number = [&](std::string_view key, std::int64_t otherwise) { return json_number(text, {"HostConfig", key}).value_or(otherwise); };
  spec_.memory = Bytes{static_cast<std::uint64_t>(number("Memory", static_cast<std::int64_t>(spec_.memory.n)))};
  spec_.processes = static_cast<std::uint32_t>(number("PidsLimit", spec_.processes));
  spec_.cpus = static_cast<double>(number("NanoCpus", 0)) / 1e9;
  auto colon = user ? user->find(':') : std::string::npos;
  auto uid = parse_u64(user ? std::string_view(*user).substr(0, colon) : std::string_view()), gid = parse_u64(colon == std::string::npos ? std::string_view() : std::string_view(*user).substr(colon + 1));
  if (!uid || !gid) return make_error(ErrorCode::kInvalid, cat("the container ", name(), " has no user"));
  spec_.uid = static_cast<unsigned>(*uid);
  spec_.gid = static_cast<unsigned>(*gid);
  id_ = *id;
  return true;
}

Result<void> ContainerSandbox::start() {
  TRY_SET(std::string body, create_body());
  if (!id_.empty()) return make_error(ErrorCode::kInvalid, "it is running");
  // A name is only as good as its eight digits: what somebody else has under it stays.
  TRY_SET(EngineAnswer there, client_.ask("GET", cat("/containers/", name(), "/json"), {}, {}, kOrder));
  if (there.ok() && json_text(there.body, {"Config", "Labels", "hotcell.project"}).value_or("") != spec_.project)
    return make_error(ErrorCode::kInvalid, cat("the container ", name(), " is not of this project: it was not made by hotcell sandbox start"));
  TRY(client_.ask("DELETE", cat("/containers/", name(), "?force=1&v=1"), {}, {}, kOrder));
  TRY_SET(std::string made, client_.demand("POST", cat("/containers/create?name=", name()), body, kJson, kOrder));
  auto id = json_text(made, {"Id"});
  if (!id || id->empty()) return make_error(ErrorCode::kIo, "the engine made a container without an id");
  id_ = *id;
  auto started = client_.demand("POST", cat("/containers/", id_, "/start"), {}, {}, kOrder);
  if (started.ok()) return {};
  stop().ignore("the start is what failed");
  return std::move(started).error();
}

Result<ExecResult> ContainerSandbox::exec(const std::string& command, std::chrono::milliseconds timeout, Bytes output) {
  if (id_.empty()) return make_error(ErrorCode::kInvalid, "it is not running");
  auto prepare = [&](const std::string& line) -> Result<std::string> {
    JsonWriter w;
    w.begin_object();
    w.field("AttachStdout", true);
    w.field("AttachStderr", true);
    w.field("Tty", false);
    w.key("Cmd");
    w.begin_array();
    for (std::string_view word : {std::string_view("sh"), std::string_view("-c"), std::string_view(line)}) w.value(word);
    w.end_array();
    w.end_object();
    TRY_SET(std::string made, client_.demand("POST", cat("/containers/", id_, "/exec"), w.text(), kJson, kOrder));
    auto id = json_text(made, {"Id"});
    if (!id) return make_error(ErrorCode::kIo, "the engine began a command without an id");
    return *id;
  };
  TRY_SET(std::string which, prepare(command));
  TRY_SET(EngineStream stream, client_.upgrade(cat("/exec/", which, "/start"), R"({"Detach":false,"Tty":false})"));
  ExecResult r;
  FrameReader frames;
  auto take = [&](std::string_view bytes) -> Result<void> {
    TRY_SET(auto pieces, frames.add(bytes));
    for (const auto& p : pieces) {
      std::size_t room = output.n > r.output.size() ? static_cast<std::size_t>(output.n) - r.output.size() : 0;
      r.truncated |= p.bytes.size() > room;
      r.output.append(p.bytes, 0, std::min(room, p.bytes.size()));
    }
    return {};
  };
  TRY(take(stream.first));
  auto until = Clock::now() + timeout;
  char buffer[64 << 10];
  for (;;) {
    auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) {
      r.timed_out = true;
      break;
    }
    pollfd p{stream.socket.get(), POLLIN, 0};
    if (::poll(&p, 1, static_cast<int>(std::min<long long>(left, 1000))) <= 0) continue;
    ssize_t n = ::recv(stream.socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) break;
    TRY(take({buffer, static_cast<std::size_t>(n)}));
  }
  stream.socket.reset();
  if (r.timed_out) {
    // One command at a time: every process but the first is of it, whatever session or parent it gave itself.
    TRY_SET(std::string killer, prepare("kill -9 -1"));
    TRY(client_.demand("POST", cat("/exec/", killer, "/start"), R"({"Detach":true,"Tty":false})", kJson, kOrder));
  }
  // The streams close a moment before the engine knows the end; a command that closed its own lives until its time is over.
  for (auto last = r.timed_out ? Clock::now() + std::chrono::seconds(10) : until;;) {
    TRY_SET(std::string state, client_.demand("GET", cat("/exec/", which, "/json"), {}, {}, kOrder));
    if (!json_truth(state, {"Running"}).value_or(true)) {
      r.exit_code = static_cast<int>(json_number(state, {"ExitCode"}).value_or(-1));
      return r;
    }
    if (Clock::now() > last) {
      if (r.timed_out) return make_error(ErrorCode::kIo, "the command could not be killed");
      r.timed_out = true;
      last = Clock::now() + std::chrono::seconds(10);
      TRY_SET(std::string killer, prepare("kill -9 -1"));
      TRY(client_.demand("POST", cat("/exec/", killer, "/start"), R"({"Detach":true,"Tty":false})", kJson, kOrder));
    }
    ::poll(nullptr, 0, 5);
  }
}

Result<SandboxState> ContainerSandbox::inspect() const {
  if (id_.empty()) return SandboxState{"", spec_.image, false, spec_.uid};
  TRY_SET(std::string text, client_.demand("GET", cat("/containers/", id_, "/json"), {}, {}, kOrder));
  return SandboxState{id_, spec_.image, json_truth(text, {"State", "Running"}).value_or(false), spec_.uid};
}

Result<void> ContainerSandbox::hot_swap(const std::string& image) {
  TRY_SET(bool there, has_image(client_, image));
  if (!there) return make_error(ErrorCode::kNotFound, cat("there is no image ", printable(image)));  // before anything is stopped
  std::string before = std::exchange(spec_.image, image);
  TRY(stop());
  auto started = start();
  if (started.ok()) return {};
  spec_.image = before;
  TRY(start().context("back to the image before"));
  return started;
}

Result<void> ContainerSandbox::stop() {
  if (id_.empty()) return {};
  TRY_SET(EngineAnswer answer, client_.ask("DELETE", cat("/containers/", id_, "?force=1&v=1"), {}, {}, kOrder));
  if (!answer.ok() && answer.status != 404) return make_error(ErrorCode::kIo, cat("the container could not be removed: ", answer.status));
  id_.clear();
  return {};
}

}  // namespace hotcell::backends
