// What a WASI module may ask for (preview 1), compiled into every translated module. The first of two walls: the module's
// own code reaches nothing but these functions and its linear memory; the cell around it is the second.
//
// prog.h is what wasm2c made of the module. It comes first in every file here: an import that was declared with other types
// than ours is then an error of the compiler and not a call with whatever the registers held.
#pragma once
#include "prog.h"

#include <dirent.h>
#include <stddef.h>

#define WASI_FD_MOST 256

struct Z_wasi_snapshot_preview1_instance_t {
  wasm_rt_memory_t* memory;
  int argc;
  char** argv;
};
typedef struct Z_wasi_snapshot_preview1_instance_t Wasi;

#define WASI(name, ...)                                            \
  u32 Z_wasi_snapshot_preview1Z_##name(Wasi* self, __VA_ARGS__);   \
  u32 Z_wasi_snapshot_preview1Z_##name(Wasi* self, __VA_ARGS__)

enum {
  kOk = 0, kAcces = 2, kAgain = 6, kBadf = 8, kBusy = 10, kExist = 20, kFault = 21, kFbig = 22, kIntr = 27, kInval = 28, kIo = 29,
  kIsdir = 31, kLoop = 32, kMfile = 33, kMlink = 34, kNametoolong = 37, kNfile = 41, kNoent = 44, kNomem = 48, kNospc = 51,
  kNosys = 52, kNotdir = 54, kNotempty = 55, kNotsock = 57, kNotsup = 58, kNotty = 59, kNxio = 60, kOverflow = 61, kPerm = 63,
  kPipe = 64, kRange = 68, kRofs = 69, kSpipe = 70, kTxtbsy = 74, kXdev = 75, kNotcapable = 76
};

enum { kTypeUnknown = 0, kTypeBlock = 1, kTypeChar = 2, kTypeFolder = 3, kTypeFile = 4, kTypeStream = 6, kTypeLink = 7 };

#define RIGHT(n) ((u64)1 << (n))
enum {
  kFdDatasync = 0, kFdRead, kFdSeek, kFdSetFlags, kFdSync, kFdTell, kFdWrite, kFdAdvise, kFdAllocate, kPathMakeFolder, kPathMakeFile,
  kPathLinkSource, kPathLinkTarget, kPathOpen, kFdReaddir, kPathReadlink, kPathRenameSource, kPathRenameTarget, kPathStat,
  kPathSetSize, kPathSetTimes, kFdStat, kFdSetSize, kFdSetTimes, kPathSymlink, kPathRemoveFolder, kPathUnlink, kFdPoll
};
#define FILE_RIGHTS                                                                                                              \
  (RIGHT(kFdDatasync) | RIGHT(kFdRead) | RIGHT(kFdSeek) | RIGHT(kFdSetFlags) | RIGHT(kFdSync) | RIGHT(kFdTell) | RIGHT(kFdWrite) | \
   RIGHT(kFdAdvise) | RIGHT(kFdAllocate) | RIGHT(kFdStat) | RIGHT(kFdSetSize) | RIGHT(kFdSetTimes) | RIGHT(kFdPoll))
#define FOLDER_RIGHTS                                                                                                        \
  (RIGHT(kFdSync) | RIGHT(kPathMakeFolder) | RIGHT(kPathMakeFile) | RIGHT(kPathLinkSource) | RIGHT(kPathLinkTarget) |        \
   RIGHT(kPathOpen) | RIGHT(kFdReaddir) | RIGHT(kPathReadlink) | RIGHT(kPathRenameSource) | RIGHT(kPathRenameTarget) |       \
   RIGHT(kPathStat) | RIGHT(kPathSetSize) | RIGHT(kPathSetTimes) | RIGHT(kFdStat) | RIGHT(kFdSetTimes) | RIGHT(kPathSymlink) | \
   RIGHT(kPathRemoveFolder) | RIGHT(kPathUnlink))

typedef struct {
  int host;              // -1: free
  u8 type;
  const char* preopened;  // its name there; null: opened by the module
  u64 rights, inherits;
  DIR* stream;           // being read
  u64 at;                // of how many entries it has told
} WasiFd;

// The module's memory, checked: null where any of the n bytes is outside.
static inline void* at(const Wasi* self, u32 address, u64 n) {
  if ((u64)address + n > self->memory->size) return NULL;
  return self->memory->data + address;
}
static inline u32 load32(const void* from) {
  u32 v;
  memcpy(&v, from, sizeof v);
  return v;
}
static inline u64 load64(const void* from) {
  u64 v;
  memcpy(&v, from, sizeof v);
  return v;
}
static inline void store16(void* to, u16 v) { memcpy(to, &v, sizeof v); }
static inline void store32(void* to, u32 v) { memcpy(to, &v, sizeof v); }
static inline void store64(void* to, u64 v) { memcpy(to, &v, sizeof v); }

u32 wasi_errno(int err);
void wasi_fds_init(int workspace);
// The descriptor, if it is open and has all of `rights`. Otherwise null and why.
WasiFd* wasi_fd(u32 fd, u64 rights, u32* why);
// A place for a new one; -1: no more.
int wasi_fd_place(void);
WasiFd* wasi_fd_slot(int place);
struct stat;
u8 wasi_type(const struct stat* s);
void wasi_filestat(u8* to, const struct stat* s);
