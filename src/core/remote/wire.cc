#include "core/remote/wire.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/strings.h"
#include "sys/file.h"
#include "sys/socket.h"

// What is in a value, once for both directions: in its own namespace, where the archive finds it.
namespace hotcell {

#define FIELDS(Type) \
  template <typename A> \
  void fields(A& a, Type& v)

// An enum beyond its last value would walk off a table of names.
template <typename A, typename E>
void within(A& a, E value, E last) {
  if constexpr (A::kReading)
    if (static_cast<std::uint64_t>(value) > static_cast<std::uint64_t>(last)) a.fail();
}

FIELDS(Error) { a(v.code, v.err, v.message), within(a, v.code, ErrorCode::kInternal); }
FIELDS(Limits) {
  a(v.memory, v.disk, v.output, v.cpu_time, v.wall, v.cpus, v.processes, v.open_files, v.stack, v.address_space);
}
FIELDS(FsGrant) { a(v.path, v.access, v.origin), within(a, v.access, Access::kWrite); }
FIELDS(FsDeny) { a(v.pattern, v.origin); }
FIELDS(Filesystem) { a(v.grants, v.deny, v.writable_scratch); }
FIELDS(Network) {
  a(v.mode, v.rules, v.allow, v.block);
  within(a, v.mode, NetworkMode::kHost), within(a, v.rules, RuleMode::kClosed);
}
FIELDS(Syscalls) { a(v.base, v.allow, v.deny, v.oci_file); }
FIELDS(Environment) { a(v.pass, v.set); }
FIELDS(SourceRules) {
  a(v.level, v.off, v.functions, v.modules, v.patterns, v.allowed_paths), within(a, v.level, VerifyLevel::kStrict);
}
FIELDS(Policy) {
  a(v.name, v.description, v.language, v.limits, v.on_output, v.filesystem, v.network, v.syscalls, v.env, v.uid, v.gid);
  a(v.time_ns, v.required, v.audit, v.rules, v.imports_allowed, v.blocklist, v.stages_pre, v.stages_post, v.preimport);
  a(v.warm, v.fast, v.explain_denials);
  within(a, v.on_output, OnOutput::kTruncate);
  for (auto layer : v.required) within(a, layer, Layer::kLsm);
  for (auto& [name, mode] : v.audit) within(a, mode, AuditMode::kObserve);
}
// Files with their bytes: a descriptor is only a number to the other side.
template <typename A>
void input_file(A& a, InputFile& v) {
  if constexpr (A::kReading) {
    std::string bytes;
    a(v.name, bytes, v.mode);
    v.content = std::move(bytes);
  } else {
    const auto* bytes = std::get_if<std::string>(&v.content);
    a(v.name, bytes != nullptr ? *bytes : std::string(), v.mode);
  }
}
FIELDS(InputFile) { input_file(a, v); }
FIELDS(Runtime) { a(v.argv, v.env, v.files); }
template <typename A>
void shared_runtime(A& a, std::shared_ptr<const Runtime>& v) {
  std::optional<Runtime> value;
  if constexpr (!A::kReading)
    if (v) value = *v;
  a(value);
  if constexpr (A::kReading) v = value ? std::make_shared<const Runtime>(*std::move(value)) : nullptr;
}
FIELDS(Request) {
  std::optional<std::string> in;
  if constexpr (!A::kReading)
    if (const auto* bytes = std::get_if<StdinBytes>(&v.stdin_source)) in = bytes->bytes;
  a(v.id, v.argv, v.env, v.workdir, v.wall, in, v.files, v.outputs, v.outputs_if_there, v.rich, v.runtime_argv, v.collect_output);
  shared_runtime(a, v.runtime);
  if constexpr (A::kReading) {
    if (in) v.stdin_source = StdinBytes{*std::move(in)};
    else v.stdin_source = NoStdin{};
  }
}
FIELDS(Verdict) { a(v.reason, v.exit_code, v.signal), within(a, v.reason, ExitReason::kVerification); }
FIELDS(Usage) { a(v.cpu, v.cpu_user, v.cpu_system, v.memory_peak, v.io_read, v.io_written, v.processes_peak); }
FIELDS(LiveUsage) { a(v.elapsed, v.cpu, v.memory, v.disk, v.tasks); }
FIELDS(LayerReport) {
  a(v.layer, v.status, v.detail), within(a, v.layer, Layer::kLsm), within(a, v.status, LayerStatus::kNone);
}
FIELDS(Enforcement) { a(v.backend, v.layers); }
FIELDS(Denial) { a(v.layer, v.what, v.subject, v.fix, v.count); }
FIELDS(Event) { a(v.type, v.id, v.time, v.fields); }
FIELDS(Finding) { a(v.rule, v.type, v.severity, v.file, v.message, v.snippet, v.fix, v.line, v.column); }
FIELDS(OutputFile) { a(v.name, v.bytes, v.executable); }
FIELDS(RichOutput) { a(v.type, v.name, v.bytes), within(a, v.type, RichType::kText); }
FIELDS(Diagnostic) { a(v.file, v.line, v.column, v.severity, v.message); }
FIELDS(CompileReport) {
  a(v.command, v.reason, v.exit_code, v.duration, v.cached, v.diagnostics, v.err);
  within(a, v.reason, ExitReason::kVerification);
}
FIELDS(Report) {
  a(v.id, v.verdict, v.error, v.out, v.err, v.out_bytes, v.err_bytes, v.out_truncated, v.err_truncated, v.start_time);
  a(v.end_time, v.duration, v.usage, v.enforcement, v.denials, v.denials_complete, v.notices, v.findings, v.files, v.outputs);
  a(v.compile, v.setup_ns);
}

namespace remote {
FIELDS(StartOrder) { a(v.policy, v.request, v.wants_output, v.wants_usage, v.wants_events, v.wants_timeout, v.wants_network); }
FIELDS(ParkOrder) {
  a(v.policy, v.count);
  shared_runtime(a, v.runtime);
}
FIELDS(GatheredNews) { a(v.kind, v.err, v.bytes), within(a, v.kind, Kind::kAnswer); }
FIELDS(DoneNews) { a(v.error, v.report, v.from_stock, v.before); }
FIELDS(StockNews) { a(v.cells, v.runtimes); }
FIELDS(Answer) { a(v.error, v.number); }
FIELDS(ReaderOrder) { a(v.kind, v.memory), within(a, v.kind, kLastReader); }
FIELDS(OutputNews) { a(v.err, v.bytes); }
}  // namespace remote
#undef FIELDS
}  // namespace hotcell

#include "base/archive.h"

namespace hotcell::remote {

using archive::Packer;
using archive::Unpacker;

#define X(Type)                                      \
  std::string pack(const Type& value) {              \
    Packer packer;                                   \
    packer(value);                                   \
    return std::move(packer.out);                    \
  }                                                  \
  bool unpack(std::string_view bytes, Type& value) { \
    Unpacker unpacker(bytes);                        \
    unpacker(value);                                 \
    return unpacker.finished();                      \
  }
HOTCELL_REMOTE_VALUES(X)
#undef X

namespace {

constexpr std::size_t kHead = 10;  // kind, number, whether the body is in the first descriptor

Error nonsense() { return make_error(ErrorCode::kInternal, "front and launcher: a packet that makes no sense"); }

Result<std::string> read_body(int fd) {
  TRY_SET(struct stat s, sys::stat_fd(fd, "packet"));
  // Sealed against shrinking, or reading it could be made to fail half-way.
  if (!S_ISREG(s.st_mode) || s.st_size < 0 || static_cast<std::uint64_t>(s.st_size) > kLongest) return nonsense();
  std::string body(static_cast<std::size_t>(s.st_size), '\0');
  std::size_t have = 0;
  while (have < body.size()) {
    ssize_t n = ::pread(fd, body.data() + have, body.size() - have, static_cast<off_t>(have));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return nonsense();
    have += static_cast<std::size_t>(n);
  }
  return body;
}

}  // namespace

Result<bool> send_packet(int socket, const Head& head, std::string_view body, std::span<const sys::Fd> with) {
  if (body.size() > kLongest) return make_error(ErrorCode::kLimit, "front and launcher: more than 256 MiB at once");
  sys::Fd carrier;
  std::array<int, 3> fds{};
  std::size_t count = 0;
  if (with.size() > 2) return nonsense();
  const bool aside = body.size() > kInline;
  if (aside) {
    TRY_SET(carrier, sys::memfd("hotcell-packet", body, false, true));
    fds[count++] = carrier.get();
  }
  for (const auto& fd : with) fds[count++] = fd.get();
  std::string bytes;
  bytes.reserve(kHead + (aside ? 0 : body.size()));
  bytes += static_cast<char>(head.kind);
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(head.number >> (8 * i));
  bytes += aside ? '\1' : '\0';
  if (!aside) bytes += body;
  // Whatever the other side made of its end: nobody may keep the launcher waiting.
  auto sent = sys::send(socket, bytes, std::span<const int>(fds.data(), count), MSG_DONTWAIT);
  if (sent.ok()) return true;
  if (sent.error().err == EAGAIN || sent.error().err == EWOULDBLOCK) return false;
  return std::move(sent).error();
}

Result<Received> receive_packet(int socket) {
  thread_local std::array<char, kHead + kInline> buffer;
  TRY_SET(sys::Message message, sys::receive(socket, buffer, MSG_DONTWAIT));
  Received out;
  if (message.again) return out;
  if (message.size == 0) {
    out.closed = true;
    return out;
  }
  auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(buffer[i]); };
  if (message.truncated || message.size < kHead || byte(0) > kLastKind || byte(9) > 1) return nonsense();
  Packet packet;
  packet.head.kind = static_cast<Kind>(byte(0));
  for (std::size_t i = 0; i < 8; ++i) packet.head.number |= static_cast<std::uint64_t>(byte(1 + i)) << (8 * i);
  packet.fds = std::move(message.fds);
  if (byte(9) == 0) {
    packet.body.assign(buffer.data() + kHead, message.size - kHead);
  } else {
    if (packet.fds.empty() || message.size != kHead) return nonsense();
    TRY_SET(packet.body, read_body(packet.fds[0].get()));
    packet.fds.erase(packet.fds.begin());
  }
  out.packet = std::move(packet);
  return out;
}

}  // namespace hotcell::remote
