// What the keeper knows of the usage of a cell that runs.
#pragma once
#include <chrono>
#include <functional>
#include <vector>

#include "cells/monitor/limit_watch.h"

namespace hotcell::cells {

struct CellUsage {
  CellUsage(std::string id, const WatchLimits& limits) : watch(std::move(id), limits) {}

  LimitWatch watch;
  UsageSample last;                          // whether it was kept or not
  std::chrono::steady_clock::time_point kept{}, next_look{};
  bool notable = false;                      // near a limit when it was last seen
  Bytes disk;
  std::uint64_t inodes = 0;
  Bytes nameless_seen, nameless, nameless_at_look;  // in open files without a name: in the last sample, in both of the last two, counted
  Nanoseconds cpu_at_look{-1};               // what has used no CPU since has written nothing
  bool looking = false;
  bool stale = false;                        // a program has ended since the last look began
  Nanoseconds took{0};                       // that look
  int uncounted = 0;                         // looks one after the other that failed
  std::uint64_t stops = 0;                   // how often programs were stopped for the disk
  std::vector<std::function<void()>> next_look_told;  // who wants a look that begins from now on
  std::uint64_t over = 0, over_names = 0;    // bytes, names held when its programs were last stopped for them; 0: within the limit
  std::vector<std::function<void()>> on_sample;  // who wants to know how it is now
};

}  // namespace hotcell::cells
