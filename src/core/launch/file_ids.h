// What the launcher does to a cell's files is done with the cell's rights.
#pragma once
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

namespace hotcell {

// Root's own uid has no name inside the cell's file system (EOVERFLOW); the thread borrows the cell's for a moment.
// Raw calls, because the C library would change every thread.
class FileIds {
 public:
  explicit FileIds(unsigned id) : id_(id) {
    if (id_ == 0) return;
    // Our groups are none of the cell's.
    if (const long count = ::syscall(SYS_getgroups, 0, nullptr); count > 0) {
      groups_.resize(static_cast<std::size_t>(count));
      ::syscall(SYS_getgroups, count, groups_.data());
      ::syscall(SYS_setgroups, 0, nullptr);
    }
    ::syscall(SYS_setfsgid, id_);
    ::syscall(SYS_setfsuid, id_);
  }
  ~FileIds() {
    if (id_ == 0) return;
    ::syscall(SYS_setfsuid, ::geteuid());
    ::syscall(SYS_setfsgid, ::getegid());
    if (!groups_.empty()) ::syscall(SYS_setgroups, groups_.size(), groups_.data());
  }
  FileIds(const FileIds&) = delete;
  FileIds& operator=(const FileIds&) = delete;

 private:
  unsigned id_;
  std::vector<gid_t> groups_;
};

}  // namespace hotcell
