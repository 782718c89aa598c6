// A thread of ours inside a caller's process.
#pragma once
#include <functional>
#include <thread>

namespace hotcell::sys {

// The process's signals are the caller's: none of its handlers shall run there.
std::thread quiet_thread(std::function<void()> work);

}  // namespace hotcell::sys
