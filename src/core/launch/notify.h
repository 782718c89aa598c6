// The seccomp listener of one cell: every named-denied call is recorded and answered EPERM. Nothing is decided on the
// program's memory (another thread could change it), only on the number. Under --explain-denials the calls that name
// files come here too, are noted and go on: those the filter itself would have allowed, and nobody else's.
#pragma once
#include <linux/seccomp.h>
#include <linux/types.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/launch/file_marks.h"
#include "core/launch/file_watch.h"
#include "core/kernel/seccomp_names.h"
#include "hotcell/report.h"
#include "sys/fd.h"

namespace hotcell {

class NotifyListener {
 public:
  NotifyListener() = default;
  explicit NotifyListener(sys::Fd fd) : fd_(std::move(fd)) {}
  int fd() const { return fd_.get(); }
  bool valid() const { return fd_.valid(); }
  void close() { fd_.reset(); }
  // `observed`: numbers of calls (of our own architecture) that are only watched.
  void observe(std::vector<std::uint32_t> observed, std::unique_ptr<FileWatch> files);
  // `numbers`: of calls that are done for the program.
  void do_marks(std::vector<std::uint32_t> numbers, std::unique_ptr<FileMarks> marks);
  FileWatch* files() const { return files_.get(); }

  void serve();                               // one pending call; more wait for the next readiness
  bool flooded() const { return served_ + done_ / 128 > 512; }  // then the supervisor serves it only once a millisecond
  std::vector<Denial> denials() const;
  std::vector<Denial> take_new() { return std::exchange(new_, {}); }  // kinds that were not there at the last call
  void forget();                              // what was refused so far is not the program's
  bool dropped() const { return dropped_; }   // there were more kinds than are kept

 private:
  bool is_one_of(const std::vector<std::uint32_t>& calls, const seccomp_notif& call) const;
  int mark(const seccomp_notif& call);
  void watch(const seccomp_notif& call);
  void remember(const DeniedCall& call);
  void record(int nr, std::uint32_t arch, const __u64 (&args)[6]);
  sys::Fd fd_;
  std::vector<std::uint32_t> observed_;       // sorted
  std::unique_ptr<FileWatch> files_;
  std::vector<std::uint32_t> mark_calls_;     // sorted
  std::unique_ptr<FileMarks> marks_;
  std::uint64_t done_ = 0;                    // for the program: as many as a large archive has are ordinary, too
  std::uint64_t served_ = 0;                  // refused ones: watched calls are ordinary and must not be slowed
  std::vector<Denial> new_;
  std::map<std::string, Denial> denials_;     // by what was tried; at most kMostKinds
  bool dropped_ = false;
  static constexpr std::size_t kMostKinds = 64;
};

}  // namespace hotcell
