#include "backends/engine/container.h"

#include <algorithm>
#include <map>
#include <set>

#include "backends/engine/json.h"
#include "backends/engine/tar_write.h"
#include "backends/tools.h"
#include "base/json_write.h"
#include "base/sha256.h"
#include "base/strings.h"

namespace hotcell::backends {
namespace {

void shown_as(JsonWriter& w, const Shown& s) {
  w.begin_object();
  w.field("Type", "bind");
  w.field("Source", std::string_view(s.source));
  w.field("Target", std::string_view(s.target));
  w.field("ReadOnly", s.read_only);
  w.key("BindOptions");
  w.begin_object();
  w.field("Propagation", "rprivate");
  w.end_object();
  w.end_object();
}

void ulimits(JsonWriter& w, const Limits& limits) {
  auto limit = [&](std::string_view name, std::uint64_t n) {
    w.begin_object();
    w.field("Name", name);
    w.field("Soft", n);
    w.field("Hard", n);
    w.end_object();
  };
  w.key("Ulimits");
  w.begin_array();
  limit("nofile", limits.open_files);
  limit("fsize", limits.disk.n);
  limit("core", 0);
  limit("stack", limits.stack.n);
  if (limits.address_space) limit("as", limits.address_space->n);
  limit("nproc", limits.processes + 2);
  auto seconds = static_cast<std::uint64_t>(std::chrono::ceil<std::chrono::seconds>(limits.cpu_time).count());
  limit("cpu", seconds + 1);  // of one process; the whole tree is looked at by us
  w.end_array();
}

Result<std::string> seccomp_option(const ToolRequest& r, EngineKind kind, bool own_kernel) {
  if (own_kernel) return std::string("seccomp=unconfined");  // of the engine; the seal's is on before the program is
  if (kind == EngineKind::kPodman) return cat("seccomp=", r.scratch, "/seccomp.json");
  TRY_SET(std::string filter, filter_oci(r.policy));
  return cat("seccomp=", filter);
}

Result<void> host_config(JsonWriter& w, const ToolRequest& r, const ContainerSpec& spec, const std::vector<Shown>& shown) {
  const Limits& limits = r.policy.limits;
  w.field("NetworkMode", r.policy.network.mode == NetworkMode::kHost ? "host" : "none");
  w.field("IpcMode", "private");
  w.field("CgroupnsMode", "private");
  if (spec.kind == EngineKind::kDocker) w.field("UsernsMode", "host");  // the ids are ours to choose, also where others are remapped
  if (!spec.runtime.empty()) w.field("Runtime", std::string_view(spec.runtime));
  w.field("Privileged", false);
  w.field("ReadonlyRootfs", true);
  w.field("AutoRemove", false);
  w.key("CapDrop");
  w.begin_array();
  w.value("ALL");
  w.end_array();
  TRY_SET(std::string seccomp, seccomp_option(r, spec.kind, spec.own_kernel));
  w.key("SecurityOpt");
  w.begin_array();
  // Podman wants no value behind it.
  w.value(spec.kind == EngineKind::kPodman ? "no-new-privileges" : "no-new-privileges:true");
  w.value(std::string_view(seccomp));
  w.end_array();
  w.field("Memory", limits.memory.n);
  w.field("MemorySwap", limits.memory.n);
  w.field("PidsLimit", limits.processes + 2);
  if (limits.cpus > 0) w.field("NanoCpus", static_cast<std::int64_t>(limits.cpus * 1e9));
  w.field("ShmSize", limits.disk.n);
  w.key("LogConfig");
  w.begin_object();
  w.field("Type", "none");  // what a program prints is bounded by us, and kept nowhere else
  w.end_object();
  ulimits(w, limits);
  w.key("Tmpfs");
  w.begin_object();
  for (const auto& s : shown)
    if (s.kind == Shown::Kind::kTmpfs) w.field(s.target, std::string_view(cat(s.read_only ? "ro" : "rw", ",exec,nosuid,nodev,mode=1777,", spec.kind == EngineKind::kDocker ? tmpfs_room(s.size) : cat("size=", s.size.n))));
  if (!shows_host_at(shown, "/sys")) w.field("/sys", "ro,nosuid,nodev,noexec,mode=0555,size=4096");  // engines show the host's
  if (!r.policy.filesystem.writable_scratch) w.field("/dev/shm", "ro,nosuid,nodev,noexec,mode=1777,size=4096");
  if (spec.kind == EngineKind::kPodman && !shows_host_at(shown, "/run")) w.field("/run", "ro,nosuid,nodev,noexec,mode=0755,size=4096");
  w.end_object();
  w.key("Mounts");
  w.begin_array();
  for (const auto& s : shown)
    if (s.kind == Shown::Kind::kBind) shown_as(w, s);
  w.end_array();
  return {};
}

}  // namespace

EngineRuntime engine_runtime(std::string_view info, EngineKind kind, const std::string& said) {
  EngineRuntime out{said};
  // Podman takes one for all of its containers, when it is started.
  if (said.empty() && kind == EngineKind::kDocker && json_has(info, {"Runtimes", "runsc"})) out.name = "runsc";
  if (out.name.empty()) return out;
  out.known = json_has(info, {"Runtimes", out.name});
  auto path = json_text(info, {"Runtimes", out.name, "path"}).value_or("");
  out.own_kernel = out.name.starts_with("runsc") || std::string_view(path).substr(path.rfind('/') + 1).starts_with("runsc");
  return out;
}

std::vector<std::pair<std::string, std::string>> left_out(std::string_view made) {
  std::vector<std::pair<std::string, std::string>> out;
  for (auto& warning : json_texts(made, "Warnings")) {
    std::string low = warning;
    for (char& c : low) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
    // Memory without a limit of swap is limited still.
    if (low.find("discarded") == low.npos) continue;
    std::string statement = low.find("pids") != low.npos ? "processes" : low.find("cpu") != low.npos ? "cpu" : "memory";
    out.emplace_back(std::move(statement), std::move(warning));
  }
  return out;
}

Result<void> podman_shows(std::string_view path) {
  if (path.find_first_of(",\"\r\n") == path.npos) return {};
  return make_error(ErrorCode::kUnsupported, cat("podman cannot show a path with a comma or a quote in it: ", printable(path)));
}

Result<std::vector<Shown>> engine_view(const ToolRequest& r, EngineKind kind) {
  TRY_SET(auto out, view_sealed(r));
  out = uncovered(std::move(out));  // engines refuse two mounts on one place
  if (kind == EngineKind::kPodman) {
    for (const auto& s : out)
      for (const auto& path : {s.source, s.target}) TRY(podman_shows(path));
    std::erase_if(out, [](const Shown& s) { return s.kind == Shown::Kind::kLink && s.target == "/var/tmp"; });
    if (std::none_of(out.begin(), out.end(), [](const Shown& s) { return s.target == "/var/tmp"; }))
      out.push_back({Shown::Kind::kTmpfs, "", "/var/tmp", !r.policy.filesystem.writable_scratch, true, r.policy.limits.disk});
    if (std::none_of(out.begin(), out.end(), [](const Shown& s) { return s.target == "/run"; })) out.push_back({Shown::Kind::kDev, "", "/run"});  // a folder to mount on
  }
  return out;
}

std::string empty_root(const std::vector<Shown>& shown) {
  std::map<std::string, Piece> entries;  // parents sort before what is in them
  auto folders = [&](std::string_view path) {
    for (auto at = path.find('/', 1); at != path.npos; at = path.find('/', at + 1)) entries.try_emplace(std::string(path.substr(1, at - 1)), Piece{"", "", Piece::Kind::kFolder, 0755});
  };
  for (const auto& piece : skeleton(shown, "")) {
    folders(piece.name);
    if (piece.name.size() > 100 || piece.bytes.size() > 100) continue;  // the engine makes what is missing to mount on
    entries.insert_or_assign(piece.name.substr(1), piece);
  }
  std::string out;
  for (const auto& [name, what] : entries)
    if (name.size() < 100) {
      bool folder = what.kind == Piece::Kind::kFolder;
      out += tar_header(folder ? cat(name, "/") : name, folder ? '5' : what.kind == Piece::Kind::kLink ? '2' : '0', what.bytes, 0, folder ? what.mode : 0);
    }
  return out + std::string(1024, '\0');
}

std::string root_image(std::string_view archive) { return cat("hotcell-root:", sha256_hex(archive).substr(0, 12)); }

Result<std::vector<Piece>> container_pieces(const ToolRequest& r) {
  TRY_SET(auto out, sealed_pieces(r));
  TRY_SET(std::string filter, filter_oci(r.policy));
  out.push_back({"seccomp.json", std::move(filter)});
  return out;
}

Result<std::string> container_json(const ToolRequest& r, const ContainerSpec& spec) {
  TRY_SET(auto shown, engine_view(r, spec.kind));
  JsonWriter w;
  w.begin_object();
  w.field("Image", std::string_view(spec.image));
  w.field("Hostname", "cell");
  w.field("User", std::string_view(cat(r.inside, ":", r.inside)));
  w.field("WorkingDir", r.request.workdir.empty() ? "/work" : std::string_view(r.request.workdir));
  w.key("Cmd");
  w.begin_array();
  for (auto a : spec.own_kernel ? kSealedFirst : kWatchedFirst) w.value(a);
  for (const auto& a : r.request.argv) w.value(std::string_view(a));
  w.end_array();
  w.key("Env");
  w.begin_array();
  for (const auto& [k, v] : r.env) w.value(std::string_view(cat(k, "=", v)));
  w.end_array();
  w.key("Labels");
  w.begin_object();
  w.field("hotcell.owner", std::string_view(spec.owner));
  w.end_object();
  w.field("Tty", false);
  w.field("AttachStdin", spec.stdin_open);
  w.field("OpenStdin", spec.stdin_open);
  w.field("StdinOnce", spec.stdin_open);
  w.field("AttachStdout", true);
  w.field("AttachStderr", true);
  w.key("HostConfig");
  w.begin_object();
  TRY(host_config(w, r, spec, shown));
  w.end_object();
  w.end_object();
  return w.take();
}

}  // namespace hotcell::backends
