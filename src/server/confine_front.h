// What the front puts itself behind before anybody can connect to it. Whoever takes it over by a bug in a
// parser has its state folder and its connections, and no more: the cells belong to the launcher, which asks no front
// whether a policy is within its ceiling.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "hotcell/launcher.h"

namespace hotcell::server {

struct FrontPlaces {
  std::string state_dir;                     // read and written
  std::vector<std::string> read_only;        // profile folders; one that is missing is left out
  std::vector<std::uint16_t> connect_ports;  // of the OTLP collector; empty: connects to nobody
};

// An empty folder in its place, for this process alone (a mount namespace; as an ordinary user inside a user namespace). Landlock
// can grant a folder with all below it and take nothing out. Before the first thread.
// True: a user namespace was needed, in which every other user looks the same.
Result<bool> hide_folder(const std::string& folder);

// Before the first thread. All sockets must be bound, certificates be loaded, names be resolved; it is given what it accepts from
// by somebody else, afterwards.
Result<Enforcement> confine_front(const FrontPlaces& places);

}  // namespace hotcell::server
