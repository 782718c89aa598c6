// Modes and times of files for a cell without mounts of its own. Landlock does not look at them, and the files of an ordinary user's
// cell are the caller's. So the launcher changes them, and only in the cell's writable folders: names are resolved beneath a held
// folder, and what was resolved is what is changed. Nothing is decided on memory that the program could change meanwhile.
#pragma once
#include <linux/seccomp.h>

#include <string>
#include <vector>

#include "core/launch/plan.h"

namespace hotcell {

class FileMarks {
 public:
  // `workspace` and the plan stay the cell's; `id`: its host id, where we are root.
  FileMarks(const Plan& plan, int workspace, unsigned id);
  // What the call itself would answer: 0 or a negative errno. -EPERM for what lies outside; `what` is then its name, if it has one.
  int carry_out(const seccomp_notif& call, int listener, std::string& what) const;

 private:
  struct Place {
    std::string name;
    int fd;
    bool writable;
  };
  const Place* place_of(const std::string& path) const;
  int open_named(pid_t tid, int dir, const std::string& path, bool follow, sys::Fd& out, std::string& what) const;
  int open_held(pid_t tid, int fd, sys::Fd& out, std::string& what) const;
  std::vector<Place> places_;
  unsigned id_;
};

}  // namespace hotcell
