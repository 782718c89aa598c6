// Container engines of the tests' own: real ones, in a folder and with mounts and groups of their own, gone at the end.
#pragma once
#include <string>
#include <vector>

#include "backends/settings.h"

namespace hotcell::testing {

// Started when they are first asked for. Root only: empty without.
std::vector<std::string> engines_here();   // none for an ordinary user, who may not start one
std::string docker_socket();
std::string podman_socket();
backends::Settings engine_settings();   // both sockets
void stop_engines();

}  // namespace hotcell::testing
