// `hotcell serve --open`: a process of its own that waits for the daemon's addresses and becomes the desktop's opener.
#pragma once
#include "sys/fd.h"

namespace hotcell {

// Where the addresses are to be written, one a line. Closed without any, nothing is opened.
Result<sys::Fd> open_when_told();

}  // namespace hotcell
