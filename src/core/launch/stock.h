// Cells of one policy that wait for requests, and when the next ones are made. The launcher makes them.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>

#include "core/launch/cell.h"
#include "core/launch/parts.h"
#include "hotcell/launcher.h"

namespace hotcell {

constexpr unsigned kMostLost = 8;
constexpr std::size_t kManyWanted = 4;

// Finished (same_cell) and waiting; each with the runtime started, if there is one.
struct Stock {
  std::uint64_t id = 0;
  std::shared_ptr<const Runtime> runtime;
  std::shared_ptr<Kept> kept;
  std::size_t wanted = 0;
  std::deque<std::uint64_t> ready;  // run ids
  std::size_t coming = 0;
  bool filling = false;             // beside programs that run
  Clock::time_point not_before{};   // what a cell takes may be short: processes, memory, descriptors
  unsigned lost = 0;                // died while they waited or could not be made, since the last request

  const Policy& policy() const { return kept->plan->policy; }
  bool placed() const { return runtime && runtime->outer; }  // each of its cells has a plan of its own
  bool lacks() const { return ready.size() + coming < wanted; }
  bool may_try() const { return lacks() && Clock::now() >= not_before; }

  // One request after the other, with no pause in which cells could be made: while a program runs on one processor, another has
  // time to make the next ones. Not before half of them are gone, and then all that are missing: so whoever leaves pauses is not
  // disturbed, and whoever leaves none is mostly served by one that waits. Two at a time: more, and the program itself would wait
  // for them. No runtimes, which take longer to start than most programs run; and not for the sake of one or two cells, which
  // nobody keeps who has many requests. To be told of everything that comes and goes.
  void note_level() {
    if ((ready.size() + coming) * 2 < wanted) filling = true;
    if (!lacks()) filling = false;
  }
  bool fills_beside() const { return filling && !runtime && wanted >= kManyWanted && coming < 2 && may_try(); }

  // It could not be made, or does not stay. A runtime that is like that stays like that, and the next request meets the error itself;
  // what a mere cell lacked may be there again.
  void try_later() {
    if (runtime) wanted = 0;
    not_before = Clock::now() + std::min(std::chrono::milliseconds(100 << std::min(lost, 7u)), std::chrono::milliseconds(10'000));
    ++lost;
  }
};

}  // namespace hotcell
