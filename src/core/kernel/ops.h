// The plan as the cell's init carries it out: a flat list of kernel operations in one sealed memfd. The parent writes
// it (plan.h), `hotcell explain` prints it, init runs it. Nothing here may need the C++ library: init is freestanding.
#pragma once
#include <stdint.h>

namespace hotcell {

enum class OpKind : uint16_t {
  // In init, before the program's process exists.
  kLsmExec, kDeathSignal, kSubreaper, kJoinCgroup, kUnshare, kIdentity, kHostname, kLoopbackUp, kPrivateMounts, kOpenTree, kMountAttr, kStage,
  kMkdir, kMkfile, kSymlink, kMoveMount, kMountTmpfs, kMountProc, kMountDevpts, kBind, kMask, kHoldFolder, kPivotRoot, kReadOnly,
  kHoldProc, kMountIdleProc, kOwnUser, kUserLimits, kDoor, kOverlay,
  // What comes before is the same for every cell of the policy: a template does it once and stamps out cells from there.
  kTemplateEnd,
  kRlimit, kDropCaps, kNoNewPrivs, kRuleset, kPathRule, kPortRule, kRestrict,
  // Marks the end of init's part; the rest runs in the program's process.
  kFork,
  kSession, kChdir, kRoomForFiles, kSeccomp, kExec,
};
inline constexpr unsigned kOpKinds = static_cast<unsigned>(OpKind::kExec) + 1;

struct Op {
  uint16_t kind;
  uint8_t layer;   // hotcell::Layer, for reports
  uint8_t slot;    // index into init's table of held descriptors
  uint32_t path;   // offset of a NUL-terminated string, 0: none
  uint32_t data, data_len;
  uint32_t flags;
  uint32_t reserved;
  uint64_t a, b;
};

inline constexpr uint32_t kRecursive = 1, kOptional = 2, kClearGroups = 4, kWantListener = 8, kOnlyBounding = 16, kOnlyHeld = 32;
// Who carries an operation out; without one of these everybody who comes to it does.
inline constexpr uint32_t kOnlyTemplate = 64;  // the process that stamps out cells
inline constexpr uint32_t kOnlyDirect = 128;   // a cell made in one go
inline constexpr uint32_t kOnlyStamped = 256;  // a cell made from a template
// bind: both names are ours, in a tree that nobody else has seen, and the copy keeps the flags of its source.
inline constexpr uint32_t kPlainBind = 512;

inline constexpr uint32_t kPlanMagic = 0x6c6c6568;
inline constexpr unsigned kMaxOps = 512, kMaxSlots = 160, kFirstInheritedFd = 7;
inline constexpr unsigned kWorkSlot = kMaxSlots - 1;  // the workspace, handed to the launcher
inline constexpr unsigned kDoorSlot = kMaxSlots - 2, kDnsSlot = kMaxSlots - 3;  // sockets of the cell's network, likewise
// In kReady's status: what comes with it, in this order.
inline constexpr int kHasWork = 1, kHasListener = 2, kHasDoor = 4;

struct PlanHeader {
  uint32_t magic, size;
  uint32_t op_count, strings;  // ops follow the header; `strings` is an offset from the start
  uint32_t inherited;          // descriptors kFirstInheritedFd… fill slots 0…
  uint32_t late;               // the last ones of these, which a cell made in one go gets at template_end by message
  int32_t fault_op, fault_errno;  // a test wants this operation to fail; -1: none
  uint32_t flat;               // no pid namespace: init is a subreaper, not pid 1
  uint32_t uid, gid;           // inside
  uint32_t own_memory, reuse_nets;  // the program's process gets a copy of init's memory, not the memory itself
  uint64_t clone_flags;        // the namespaces of a cell
};

// Descriptors init is started with. 0, 1, 2 are the program's.
inline constexpr int kCtlFd = 3, kProgFd = 4, kPlanFd = 5, kLockFd = 6;

// The launcher's first byte to init: what it is to be.
inline constexpr char kBeCell = 'c', kBeTemplate = 't';

// launcher → template. kMakeCell comes with the descriptors 0, 1, 2, control, program, lock and the inherited ones.
enum class TemplateAsk : uint32_t { kMakeCell = 1, kTakeBack, kStockNet };
inline constexpr uint32_t kMostBacks = 16;
struct TemplateRequest {
  TemplateAsk ask;
  uint32_t id;   // kMakeCell: of the cell's user in the template's user namespace; 0: the only one there is
  uint32_t will_wait;  // kMakeCell: nobody waits for it, it is to be parked
  uint32_t backs;  // net namespaces whose cells are gone
  int32_t back[kMostBacks];
};
struct TemplateReply {
  int32_t pid, err, net;
  uint32_t spare;  // net namespaces that wait
};

enum class RecordType : uint32_t { kFailed = 1, kReady, kExited };
struct Record {
  RecordType type;
  int32_t op;        // index of the operation that failed
  int32_t err;
  int32_t status;    // of the program, as wait4 gives it
  uint64_t user_us, system_us, max_rss_kib;
  uint64_t end_ns;   // kExited: when, by the monotonic clock
  uint32_t op_ns[kMaxOps];  // kReady only; sent up to op_count
};

// launcher → program: what to exec. Strings follow: argv, env, working directory, each NUL-terminated.
struct ExecHeader {
  uint32_t magic, argc, envc, bytes;  // bytes: of the strings
  uint32_t in_memfd;                  // the strings are in the descriptor that comes along
  uint32_t workdir;                   // 1: one more string, the current directory to have
};
inline constexpr uint32_t kExecMagic = 0x63657865;
inline constexpr unsigned kExecInline = 32 << 10;

}  // namespace hotcell
