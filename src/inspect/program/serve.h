#pragma once
#include <cstdint>

#include "hotcell/inspect.h"
#include "inspect/wire/question.h"

namespace hotcell {

InspectAnswer as_parts(Inspection inspection);

// Confines this process, then answers questions (inspect/wire/question.h) on the socket until it is closed. An exit code.
int serve_inspections(int socket, std::uint64_t memory_bytes);

}  // namespace hotcell
