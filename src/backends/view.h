// What a program sees of files, whatever tool shows it: the same as in a native cell.
#pragma once
#include <string>
#include <vector>

#include "backends/backend.h"

namespace hotcell::backends {

struct Shown {
  enum class Kind : std::uint8_t { kBind, kLink, kTmpfs, kProc, kDev };
  Kind kind = Kind::kBind;
  std::string source;      // kBind: on the host; kLink: what it says
  std::string target;      // absolute, inside
  bool read_only = true;
  bool folder = true;
  Bytes size{};            // kTmpfs
};

// Of the kernel's own files: what tells of the host and nothing else.
inline constexpr std::string_view kMasked[] = {"/proc/acpi", "/proc/asound", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
                                        "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/proc/kallsyms", "/proc/kmsg", "/proc/config.gz",
                                        "/proc/modules", "/proc/iomem", "/proc/interrupts", "/sys/firmware"};

// How large a tmpfs may be: bytes, and names in proportion, since empty files take memory too.
std::string tmpfs_room(Bytes size);
std::uint64_t tmpfs_names(Bytes size);

// Parents before what is in them. A grant that is not there, or a denial, is an error: a tool has no masks of ours.
Result<std::vector<Shown>> view(const ToolRequest& request);
// The same, and our seal as /.hotcell (tools.h).
Result<std::vector<Shown>> view_sealed(const ToolRequest& request);
// Where the rest is shared with other runs: /.hotcell is the run's own, with the pipe of its seal. The filter is the tool's affair.
void show_own_seal(const ToolRequest& request, std::vector<Shown>& shown);
std::vector<Piece> own_seal_pieces();
// What view_sealed shows of the scratch folder: the made /etc, the seal and its filter.
Result<std::vector<Piece>> sealed_pieces(const ToolRequest& request);
// The made /etc, as files below scratch: to be written before.
std::vector<Piece> made_etc(const ToolRequest& request);
// Before a tool that cannot be relied on to mount what is granted without devices: a program of ours that sees to it. Nothing is granted:
// nothing is changed. As root alone, as these tools are.
void grants_without_devices(const ToolRequest& request, ToolPlan& plan);
// Without what something later is mounted over: for tools that refuse two mounts on one place, or take either of them.
std::vector<Shown> uncovered(std::vector<Shown> shown);
// Whether something of the host's is shown at this very place, so that nothing of ours belongs there.
bool shows_host_at(const std::vector<Shown>& shown, std::string_view target);
// Empty folders, files and the links for all of it below `prefix`: a root that needs nothing made in it any more.
std::vector<Piece> skeleton(const std::vector<Shown>& shown, std::string_view prefix);

}  // namespace hotcell::backends
