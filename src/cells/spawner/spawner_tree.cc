#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cells/spawner/tree.h"

namespace hotcell::cells {
namespace {

struct Process {
  pid_t pid, parent, group;
  char state;
  bool marked;
};
constexpr unsigned kMost = 8192;
Process g_all[kMost];  // untouched pages cost nothing

ssize_t read_text(const char* path, char* out, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t n = read(fd, out, size - 1);
  close(fd);
  if (n >= 0) out[n] = 0;
  return n;
}

unsigned list_processes() {
  DIR* proc = opendir("/proc");
  if (proc == nullptr) return 0;
  unsigned count = 0;
  while (dirent* entry = readdir(proc)) {
    char* end;
    long pid = strtol(entry->d_name, &end, 10);
    if (*end != 0 || pid <= 1 || count == kMost) continue;
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    if (read_text(path, text, sizeof text) <= 0) continue;
    // The name is in parentheses and may hold anything, parentheses too: what follows the last one is fixed.
    const char* rest = strrchr(text, ')');
    char state;
    int parent, group;
    if (rest == nullptr || sscanf(rest + 1, " %c %d %d", &state, &parent, &group) != 3) continue;
    g_all[count++] = {static_cast<pid_t>(pid), parent, group, state, false};
  }
  closedir(proc);
  return count;
}

// The processes below `top`. Marked over and over until nothing is added: parents need not come before children.
unsigned mark_descendants(pid_t top, unsigned count) {
  unsigned living = 0;
  for (bool added = true; added;) {
    added = false;
    for (unsigned i = 0; i < count; ++i) {
      if (g_all[i].marked) continue;
      bool below = g_all[i].parent == top;
      for (unsigned j = 0; j < count && !below; ++j) below = g_all[j].marked && g_all[j].pid == g_all[i].parent;
      if (!below) continue;
      g_all[i].marked = added = true;
      if (g_all[i].state != 'Z' && g_all[i].state != 'X') ++living;
    }
  }
  return living;
}

bool is_terminal(pid_t pid, long fd) {
  char path[64], target[64];
  snprintf(path, sizeof path, "/proc/%d/fd/%ld", pid, fd);
  ssize_t n = readlink(path, target, sizeof target - 1);
  if (n <= 0) return false;
  target[n] = 0;
  return strncmp(target, "/dev/pts/", 9) == 0 || strcmp(target, "/dev/tty") == 0;
}

// What it polls, when that is one descriptor; else -1.
long polled(pid_t pid, unsigned long at) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/mem", pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  struct {
    int fd;
    short events, revents;
  } one;
  ssize_t n = pread(fd, &one, sizeof one, static_cast<off_t>(at));
  close(fd);
  return n == static_cast<ssize_t>(sizeof one) ? one.fd : -1;
}

}  // namespace

void kill_tree(pid_t top) {
  // Orphans come back to `top`, so the next round finds whoever was forked while we looked. Stopped first: what stands
  // still forks no more.
  for (int round = 0; round < 500; ++round) {
    unsigned count = list_processes();
    if (mark_descendants(top, count) == 0) return;
    constexpr int kSignals[] = {SIGSTOP, SIGKILL};
    for (int signal : kSignals)
      for (unsigned i = 0; i < count; ++i)
        if (g_all[i].marked) kill(g_all[i].pid, signal);
    usleep(round < 10 ? 500 : 5000);
  }
}

bool reads_terminal(pid_t group, bool raw) {
  unsigned count = list_processes();
  for (unsigned i = 0; i < count; ++i) {
    if (g_all[i].group != group || g_all[i].state != 'S') continue;
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/syscall", g_all[i].pid);
    if (read_text(path, text, sizeof text) <= 0) continue;
    char* rest;
    long number = strtol(text, &rest, 10);
    if (rest == text || *rest != ' ') continue;  // "running"
    unsigned long first = strtoul(rest + 1, &rest, 16);
    unsigned long second = strtoul(rest, nullptr, 16);
    long fd = -1;
    switch (number) {
      case SYS_read: fd = static_cast<long>(first); break;
#ifdef SYS_select
      case SYS_select:
#endif
      case SYS_pselect6: fd = first == 1 ? 0 : -1; break;  // one above the highest: descriptor 0 alone
#ifdef SYS_poll
      case SYS_poll:
#endif
      case SYS_ppoll: fd = second == 1 ? polled(g_all[i].pid, first) : -1; break;
#ifdef SYS_epoll_wait
      case SYS_epoll_wait:
#endif
      case SYS_epoll_pwait: fd = raw ? 0 : -1; break;      // who took the terminal out of its lines wants keys
      default: break;
    }
    if (fd >= 0 && is_terminal(g_all[i].pid, fd)) return true;
  }
  return false;
}

}  // namespace hotcell::cells
