// What the keeper tells a cell's spawner and what it is told: one seqpacket message each, the spawner's descriptor 0.
// Freestanding: the spawner has no C++ library.
#pragma once
#include <stdint.h>

namespace hotcell::cells {

inline constexpr uint32_t kOrderMagic = 0x6e776173;
inline constexpr unsigned kOrderInline = 48 << 10;    // longer strings come in a memfd
inline constexpr unsigned kMostExecutions = 256;      // living at once, those with children left behind included
inline constexpr char kSpawnerPath[] = "/run/hotcell/spawner";

enum class OrderKind : uint32_t {
  kExec = 1,   // descriptors: 0, 1, 2 of the program and, with kOrderExtra, up to four more from 3 on
  kKill,       // the execution and all that it started, however it was forked
  kSignal,     // its process group
  kStopAll,    // every process of the cell but the spawner; answered by kDone
  kGoOn,
  kTty,        // does the foreground of its terminal wait for input? Answered by kTty
};
inline constexpr uint32_t kOrderPlain = 8;     // kOrderPty: line ends go out as they are; programs read this, not people
inline constexpr uint32_t kOrderPty = 1;      // a terminal of the cell's own instead of three descriptors
inline constexpr uint32_t kOrderForeground = 4;  // kSignal: whoever has its terminal now, but SIGKILL never to the program itself
inline constexpr uint32_t kOrderMemfd = 2;    // the strings are in the descriptor that comes last

struct Order {
  uint32_t magic;
  OrderKind kind;
  uint64_t id;
  uint32_t argc, envc, bytes, flags;  // strings: arguments, environment, then the working directory
  uint32_t signal;
  uint32_t extra;                     // descriptors from 3 on
  uint64_t cpu_seconds;               // RLIMIT_CPU of each process; 0: as it is
  uint16_t rows, columns;
  uint32_t reserved;
};

enum class NewsKind : uint32_t {
  kReady = 1,  // the spawner serves
  kTerminal,   // with the master's side of an execution's terminal
  kExited,     // the program of an execution: status as of wait(2), and what it and those it waited for used
  kFailed,     // it was not started: err, and at which step
  kGone,       // nothing is left of the execution
  kDone,       // kStopAll, kGoOn
  kTty,        // waiting: 1 somebody reads from the terminal; echo: what is typed shows
};
enum class Step : uint32_t { kNone, kExec, kDirectory, kTerminal, kFork, kOrder };
struct News {
  uint32_t magic;
  NewsKind kind;
  uint64_t id;
  int32_t pid, status, err;
  Step step;
  uint32_t waiting, echo;
  uint64_t user_us, system_us, max_rss_kib, blocks_in, blocks_out;
};

}  // namespace hotcell::cells
