// What systemd wants to know of a service, if it is there.
#pragma once
#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

#include "sys/fd.h"

namespace hotcell::daemon {

void notify(std::string_view state);                        // "READY=1"; nothing without NOTIFY_SOCKET
std::optional<std::chrono::microseconds> watchdog_every();  // half of WATCHDOG_USEC
std::vector<sys::Fd> activated_sockets();                   // LISTEN_FDS, taken out of the environment

}  // namespace hotcell::daemon
