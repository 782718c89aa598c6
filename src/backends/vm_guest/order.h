// What host and guest say to each other over the one virtio-serial port, and what the guest is told to run. Shared by the
// library, the runner and the agent: no C++ library.
#pragma once
#include <stdint.h>

namespace hotcell::vm {

// A stream of frames, each a head and `size` bytes.
struct Frame {
  uint32_t kind, size;
};
enum : uint32_t {
  // host → guest
  kOrder = 1,      // fields, below; once
  kStdin = 2,      // bytes; none: the end of it
  // guest → host
  kReady = 16,     // booted, waiting for its order
  kPosture = 17,   // text: what was read back of the program's process just before its exec
  kOut = 18,
  kErr = 19,
  kEnd = 20,       // End
  kFailed = 21,    // text: it was us
};
constexpr uint32_t kLongestOrder = 8u << 20;
constexpr uint32_t kLongestPiece = 32u << 10;  // of streams

struct End {
  int32_t status;             // as of waitpid
  uint32_t oom_kills, pids_refused;
  uint32_t tmp_full;          // of /tmp or /dev/shm nothing was left
  uint64_t cpu_us, memory_peak;
};

// Fields of an order: a tag, a length, the bytes. Numbers are decimal text.
struct Field {
  uint32_t tag, size;
};
enum : uint32_t {
  kArgument = 'a', kVariable = 'e', kFolder = 'd', kUid = 'u', kGid = 'g', kMemory = 'm', kProcesses = 'p', kOpenFiles = 'f',
  kFileSize = 's', kStack = 'k', kScratch = 't',
  kFilter = 'F',     // the program's system call filter, as the kernel takes it
  kShare = 'S',      // where the next share (s0, s1 …) is mounted; before the path r or w
  kLink = 'L',       // its path, a zero, what it says
  kHidden = 'H',     // a folder in one of the shares that is ours alone
  kReadOnly = 'r',   // the workspace, /tmp and /dev/shm
  kImage = 'I',      // the root is on the disk
  kClock = 'T',      // the time, in nanoseconds
  kSeed = 'R',       // random bytes: restored guests would share their stream
};

}  // namespace hotcell::vm
