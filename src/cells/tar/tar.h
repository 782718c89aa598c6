// Folders as tar (ustar with GNU's long names), written and read without following a link. The same code runs in the
// cell's file agent and outside, where the bytes come from a cell and are not to be trusted: names with `..`, names that
// lead through a link, devices and what is larger than allowed are refused. Freestanding.
#pragma once
#include <stdint.h>

namespace hotcell::cells {

struct TarFault {
  int err = 0;                // 0: none
  const char* what = "";      // which kind
  char name[512] = {};        // of the entry
};

// `name`: what the entries are called; a file alone is one entry. Sockets, FIFOs and devices are left out.
bool tar_write(int folder, const char* path, const char* name, int out, TarFault& fault);
// What was not made; the names of the first ones.
struct TarLeftOut {
  static constexpr unsigned kNamed = 5;
  uint64_t count = 0;
  char names[kNamed][512] = {};
};
// Into `folder`, at most `most_bytes` of content and `most_entries`. What was there under the same name is replaced,
// folders are filled. `links`: outside a cell a symlink that leads out of what is unpacked (the entry at the top that it is in) is left out,
// for whoever opens it later; further names of a file, which tar_write never makes, are refused. `asked`: what tar_write was told to call
// it; another name at the top is refused, so that what lies beside it in `folder` is safe from a cell that lies.
enum class TarLinks { kAny, kInside };
bool tar_read(int in, int folder, uint64_t most_bytes, uint64_t most_entries, TarLinks links, TarFault& fault, TarLeftOut* left_out = nullptr,
              const char* asked = nullptr);

}  // namespace hotcell::cells
