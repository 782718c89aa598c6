// Notices data that leaves by the back door: in names that are looked up, whoever asks for them, and drop by drop. One for each
// door, in the proxy's own thread. It stops nothing; it says what somebody should look at.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "net/log.h"

namespace hotcell::net {

class Watcher {
 public:
  using Clock = std::chrono::steady_clock;
  // What is sent to one target with less than `pause` between is one upload, over however many connections.
  Watcher(Log& log, std::chrono::milliseconds pause) : log_(log), pause_(pause) {}

  // A name that was asked for, by DNS or as the host of a request. Allowed ones are looked up, so that somebody hears them;
  // they are counted by themselves, lest refused ones fill the table.
  void name(std::string_view host, bool allowed);
  void upload(const std::string& target, std::uint64_t bytes, Clock::time_point now);

 private:
  using Names = std::map<std::string, std::set<std::string>, std::less<>>;  // by the domain they are below
  struct Drips {
    Clock::time_point last{};
    std::uint64_t bytes = 0;   // of the upload that is under way
    unsigned small = 0;        // uploads that were
  };
  Log& log_;
  const std::chrono::milliseconds pause_;
  Names names_[2];
  std::map<std::string, Drips, std::less<>> drips_;
};

}  // namespace hotcell::net
