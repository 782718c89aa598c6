// A thread of ours inside a caller's process.
#pragma once
#include <functional>
#include <thread>

#include "hotcell/result.h"

namespace hotcell::sys {

// The process's signals are the caller's: none of its handlers shall run there. kLimit: no thread is to be had now, which is
// how a host says that it is full, and no reason to end what runs.
Result<std::thread> quiet_thread(std::function<void()> work);

// The thread sanitizer has a thread of its own in every process, and what confines itself must be the only one: it is ended.
// Without a sanitizer there is none.
void end_sanitizer_thread();

}  // namespace hotcell::sys
