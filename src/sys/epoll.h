// An epoll descriptor that watches one other from the start.
#pragma once
#include <cstdint>

#include "hotcell/result.h"
#include "sys/fd.h"

namespace hotcell::sys {

// Events of `fd` come with the number 0.
Result<Fd> epoll_with(int fd, std::uint32_t events);

}  // namespace hotcell::sys
