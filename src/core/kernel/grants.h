// Policy paths looked at once, by the caller's eyes: what they are now is what is granted, whatever the name points to
// later. Denied names become masks.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "core/kernel/placeholder.h"
#include "hotcell/policy.h"
#include "hotcell/result.h"
#include "sys/fd.h"

namespace hotcell {

struct ResolvedGrant {
  std::string shown;      // where the cell sees it: as written, made absolute and normal
  std::string canonical;  // where it lies on the host, symlinks resolved
  dev_t dev = 0;
  ino_t ino = 0;
  bool directory = false;
  Access access = Access::kRead;
  std::string origin;
  sys::Fd fd;             // O_PATH: what was looked at
};

struct Mask {
  std::string shown;
  bool directory = false;
  std::string origin;
  sys::Fd fd;             // O_PATH: what is masked, so that it can be told whether the name still means it
};

struct Grants {
  std::vector<ResolvedGrant> grants;  // parents before children
  std::vector<Mask> masks;
  std::vector<Placeholder> placeholders;
};

// `make_placeholders` false: explain, which must not touch the host.
Result<Grants> resolve_grants(const Filesystem& fs, bool make_placeholders);

// What nobody can be granted, whatever carries the policy out: by the name that the cell would have it under, and by what that
// name leads to on the host.
Result<void> check_place(const FsGrant& grant, std::string_view shown);
Result<void> check_meaning(const FsGrant& grant, std::string_view canonical);

// The first mask whose name means another file now, or none: a process of the host has replaced or removed it, and with
// it the mask. Nothing inside the cell can do that.
const Mask* lost_mask(const Grants& grants);

std::string normal_path(std::string_view path);                       // lexical: no //, no /./, no /../, no trailing /
bool is_inside(std::string_view path, std::string_view folder);       // equal counts

}  // namespace hotcell
