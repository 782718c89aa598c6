#include "languages/wasm/module.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/strings.h"

namespace hotcell {
namespace {

constexpr std::string_view kMagic{"\0asm\1\0\0\0", 8};
constexpr std::string_view kPreview = "wasi_snapshot_preview1";
constexpr std::uint64_t kPage = 65536;
constexpr std::size_t kMostNames = 10000;

// wasi_main.c, wasi_fds.c, wasi_paths.c
constexpr std::array<std::string_view, 46> kCalls = {
    "args_get", "args_sizes_get", "environ_get", "environ_sizes_get", "clock_res_get", "clock_time_get", "fd_advise", "fd_allocate", "fd_close",
    "fd_datasync", "fd_fdstat_get", "fd_fdstat_set_flags", "fd_fdstat_set_rights", "fd_filestat_get", "fd_filestat_set_size", "fd_filestat_set_times",
    "fd_pread", "fd_prestat_get", "fd_prestat_dir_name", "fd_pwrite", "fd_read", "fd_readdir", "fd_renumber", "fd_seek", "fd_sync", "fd_tell", "fd_write",
    "path_create_directory", "path_filestat_get", "path_filestat_set_times", "path_link", "path_open", "path_readlink", "path_remove_directory",
    "path_rename", "path_symlink", "path_unlink_file", "poll_oneoff", "proc_exit", "proc_raise", "sched_yield", "random_get", "sock_accept",
    "sock_recv", "sock_send", "sock_shutdown"};

enum Kind : std::uint8_t { kFunction = 0, kTable = 1, kMemory = 2, kGlobal = 3, kTag = 4 };

Error bad(std::string why) { return make_error(ErrorCode::kInvalid, cat("not a WASI module that can be run: ", why)); }

// Every read says whether the bytes were there; after the first that were not, nothing is read any more.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) return fail();
    auto b = static_cast<std::uint8_t>(rest_[0]);
    rest_.remove_prefix(1);
    return b;
  }
  std::uint64_t number() {  // LEB128
    std::uint64_t v = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
      std::uint8_t b = byte();
      v |= static_cast<std::uint64_t>(b & 0x7f) << shift;
      if ((b & 0x80) == 0) return v;
    }
    return fail();
  }
  std::string_view take(std::uint64_t n) {
    if (n > rest_.size()) return fail(), std::string_view{};
    auto out = rest_.substr(0, static_cast<std::size_t>(n));
    rest_.remove_prefix(static_cast<std::size_t>(n));
    return out;
  }
  std::string_view name() { return take(number()); }

 private:
  std::uint8_t fail() {
    ok_ = false;
    rest_ = {};
    return 0;
  }
  std::string_view rest_;
  bool ok_ = true;
};

// What may stand in a comment and between quotes of C.
bool plain(std::string_view name) {
  return name.size() <= 1024 && std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || std::string_view("_.$:@-").find(c) != std::string_view::npos;
         });
}

std::uint64_t limits(Reader& r) {
  std::uint8_t flags = r.byte();
  std::uint64_t least = r.number();
  if ((flags & 1) != 0) r.number();
  return least;
}

Result<void> read_imports(Reader& r, WasmModule& out) {
  std::uint64_t n = r.number();
  if (n > kMostNames) return bad("too many imports");
  for (std::uint64_t i = 0; i < n && r.ok(); ++i) {
    auto module = r.name(), name = r.name();
    std::uint8_t kind = r.byte();
    if (!r.ok()) break;
    if (module != kPreview || kind != kFunction)
      return bad(cat("it imports ", printable(module), ".", printable(name.substr(0, 100)), "; only functions of ", kPreview, " are there"));
    if (std::find(kCalls.begin(), kCalls.end(), name) == kCalls.end())
      return bad(cat("it imports ", kPreview, ".", printable(name.substr(0, 100)), ", which is not there"));
    r.number();  // its type; the compiler compares it with ours
    out.imports.emplace_back(name);
  }
  return {};
}

Result<void> read_exports(Reader& r, WasmModule& out, bool& start) {
  std::uint64_t n = r.number();
  if (n > kMostNames) return bad("too many exports");
  for (std::uint64_t i = 0; i < n && r.ok(); ++i) {
    auto name = r.name();
    std::uint8_t kind = r.byte();
    r.number();
    if (!r.ok()) break;
    if (!plain(name)) return bad(cat("the name of an export has characters that names do not have: ", printable(name.substr(0, 100))));
    if (name == "_start" && kind == kFunction) start = true;
    if (name == "memory" && kind == kMemory) out.has_memory = true;
  }
  return {};
}

}  // namespace

Result<WasmModule> read_wasm_module(std::string_view bytes) {
  WasmModule out;
  if (!bytes.starts_with(kMagic)) return bad("it does not begin as WebAssembly of version 1 does");
  Reader r(bytes.substr(kMagic.size()));
  bool start = false;
  while (r.ok() && !r.at_end()) {
    std::uint8_t id = r.byte();
    Reader section(r.take(r.number()));
    if (!r.ok()) break;
    if (id == 2) TRY(read_imports(section, out));
    if (id == 5 && section.number() > 0) out.memory = std::max(out.memory, limits(section) * kPage);
    if (id == 7) TRY(read_exports(section, out, start));
    if (!section.ok()) return bad("a section ends too early");
  }
  if (!r.ok()) return bad("it ends too early");
  if (!start) return bad("it exports no function _start: a library, not a program");
  if (!out.imports.empty() && !out.has_memory) return bad("it exports no memory, where calls find what they are given");
  return out;
}

}  // namespace hotcell
