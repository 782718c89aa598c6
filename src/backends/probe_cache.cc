#include "backends/probe_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdlib>

#include "backends/vm.h"
#include "base/sha256.h"
#include "base/strings.h"
#include "core/kernel/kvm_device.h"
#include "sys/file.h"

namespace hotcell::backends {
namespace {

constexpr std::string_view kFormat = "probe 1";

std::int64_t seconds(std::chrono::system_clock::time_point t) { return std::chrono::duration_cast<std::chrono::seconds>(t.time_since_epoch()).count(); }

// Ours alone: an entry that somebody else could have written is none.
sys::Fd open_folder(const std::string& path, bool make) {
  if (path.empty()) return {};
  if (make) {
    for (auto slash = path.find('/', 1); slash != path.npos; slash = path.find('/', slash + 1)) ::mkdir(path.substr(0, slash).c_str(), 0755);
    ::mkdir(path.c_str(), 0700);
  }
  sys::Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat s {};
  if (!fd.valid() || ::fstat(fd.get(), &s) != 0 || s.st_uid != ::geteuid() || (s.st_mode & 022) != 0) return {};
  return fd;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) out += c == '\n' ? std::string("\\n") : c == '\\' ? std::string("\\\\") : std::string(1, c);
  return out;
}
std::string plain(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) out += text[++i] == 'n' ? '\n' : text[i];
    else out += text[i];
  }
  return out;
}

std::optional<LayerStatus> status_from(std::string_view word) {
  for (auto s : {LayerStatus::kNone, LayerStatus::kPartial, LayerStatus::kFull})
    if (to_string(s) == word) return s;
  return std::nullopt;
}

}  // namespace

std::string ProbeCache::standard_folder() {
  if (const char* cache = ::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/') return cat(cache, "/hotcell-probes");
  if (::geteuid() == 0) return "/var/cache/hotcell-probes";
  if (const char* home = ::getenv("HOME"); home != nullptr && home[0] == '/') return cat(home, "/.cache/hotcell-probes");
  return {};
}

std::string probe_key(std::string_view name, const std::string& tool, std::string_view config) {
  Sha256 hash;
  hash.add_field(kFormat);
  hash.add_field(HOTCELL_VERSION);
  hash.add_field(name);
  hash.add_field(tool);
  struct stat s {};
  if (!tool.empty() && ::stat(tool.c_str(), &s) == 0) {
    hash.add_number(static_cast<std::uint64_t>(s.st_size));
    hash.add_number(static_cast<std::uint64_t>(s.st_ino));
    hash.add_number(static_cast<std::uint64_t>(s.st_mtim.tv_sec));
    hash.add_number(static_cast<std::uint64_t>(s.st_mtim.tv_nsec));
    hash.add_number(static_cast<std::uint64_t>(s.st_mode));
  }
  utsname kernel{};
  ::uname(&kernel);
  hash.add_field(kernel.release);
  hash.add_field(kernel.version);
  hash.add_number(::geteuid());
  hash.add_field(config);
  return hash.finish_hex();
}

std::optional<Probed> ProbeCache::get(std::string_view name, std::string_view key, std::chrono::system_clock::time_point now, std::chrono::seconds bad) const {
  sys::Fd folder = open_folder(folder_, false);
  if (!folder.valid()) return std::nullopt;
  auto file = sys::open_at(folder.get(), std::string(name).c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file.ok()) return std::nullopt;
  auto text = sys::read_fd(file.value().get(), 64 << 10);
  if (!text.ok()) return std::nullopt;
  auto lines = split(text.value(), '\n');
  // Format, key, when, works, why, start, then a layer a line.
  if (lines.size() < 7 || lines[0] != kFormat || lines[1] != key) return std::nullopt;
  auto when = parse_u64(lines[2]), start = parse_u64(lines[5]);
  if (!when || !start || (lines[3] != "works" && lines[3] != "fails") || lines.back() != "end") return std::nullopt;
  Probed out;
  out.name = std::string(name);
  out.works = lines[3] == "works";
  out.why = plain(lines[4]);
  out.start = std::chrono::microseconds(static_cast<std::int64_t>(*start));
  // A clock that was set back makes an entry of the future, which is as good as none.
  auto age = seconds(now) - static_cast<std::int64_t>(*when);
  auto most = out.works ? std::chrono::duration_cast<std::chrono::seconds>(kGood) : bad;
  if (age < 0 || age > most.count()) return std::nullopt;
  for (std::size_t i = 6; i + 1 < lines.size(); ++i) {
    auto first = lines[i].find(' '), second = first == lines[i].npos ? first : lines[i].find(' ', first + 1);
    if (second == lines[i].npos) return std::nullopt;
    auto layer = layer_from(lines[i].substr(0, first));
    auto status = status_from(lines[i].substr(first + 1, second - first - 1));
    if (!layer || !status) return std::nullopt;
    out.layers.push_back({*layer, *status, plain(lines[i].substr(second + 1))});
  }
  return out;
}

void ProbeCache::put(const Probed& p, std::string_view key, std::chrono::system_clock::time_point now) const {
  sys::Fd folder = open_folder(folder_, true);
  if (!folder.valid()) return;  // no cache: the next one tries again
  std::string text = cat(kFormat, "\n", key, "\n", seconds(now), "\n", p.works ? "works" : "fails", "\n", escaped(p.why), "\n", p.start.count(), "\n");
  for (const auto& l : p.layers) text += cat(to_string(l.layer), " ", to_string(l.status), " ", escaped(l.detail), "\n");
  text += "end";
  // Whole or not at all: two processes may write at once.
  std::string part = cat(".", p.name, ".", ::getpid());
  auto file = sys::open_at(folder.get(), part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!file.ok()) return;
  bool written = sys::write_all(file.value().get(), text).ok();
  if (!written || ::renameat(folder.get(), part.c_str(), folder.get(), p.name.c_str()) != 0) ::unlinkat(folder.get(), part.c_str(), 0);
}

void ProbeCache::forget(std::string_view name) const {
  sys::Fd folder = open_folder(folder_, false);
  if (folder.valid()) ::unlinkat(folder.get(), std::string(name).c_str(), 0);
}

namespace {

// What a trial run leans on besides its tool, as it is now: an engine that was started has another socket, an image that was made anew another
// time, and whoever sets HOTCELL_VM_KERNEL because a message said so does not want to hear that message again.
std::string leaned_on(std::string_view name, const Settings& settings) {
  std::string out;
  auto add = [&](const std::string& path) { out += cat(path, "=", tool_identity(path), "\n"); };
  for (const auto& spec : known_settings()) {
    std::string value = settings.get(spec.name);
    const bool socket = spec.name == cat(name, ".socket");
    if (!value.starts_with('/') || (!settings.said(spec.name) && !socket)) continue;
    add(value);
    if (auto colon = value.rfind(':'); colon != value.npos) add(value.substr(0, colon));  // FOLDER:TAG
  }
  if (name != "vm") return out;
  for (const auto& place : kernel_places(settings))
    for (auto folder : {"/boot", "/lib/modules"}) add(cat(place, folder));
  add(kKvmDevice);
  return out;
}

}  // namespace

std::string probe_key_here(std::string_view name, const Settings& settings) {
  const Backend* backend = find(name);
  // What a backend without a tool is made of comes and goes with packages.
  std::string tool = backend == nullptr ? std::string("/var/lib/dpkg/status") : backend->installed(settings);
  // What lies beside one build of ours (a kernel for guests, say) need not lie beside another.
  std::string self = sys::read_link("/proc/self/exe").value_or("");
  return probe_key(name, tool, cat("patience ", probe_settings().patience.count(), " ", settings.text(), " ", self, "\n", leaned_on(name, settings)));
}

Probed probe_cached(std::string_view name, const ProbeCache& cache, const Settings& settings) {
  std::string key = probe_key_here(name, settings);
  if (auto known = cache.get(name, key, std::chrono::system_clock::now())) {
    known->what = describe_here(name, settings);
    known->held = held_of(name, default_policy());
    return *std::move(known);
  }
  Probed fresh = probe(name, settings, ProbeFor::kChoosing);
  cache.put(fresh, key, std::chrono::system_clock::now());
  return fresh;
}

}  // namespace hotcell::backends
