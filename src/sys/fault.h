// Every wrapper in sys/ asks here first whether a test wants it to fail. HOTCELL_FAULT=name:errno[:nth] arms one
// fault; it can only turn a success into an error, so it fails closed and stays in release builds.
#pragma once

namespace hotcell::sys {

// 0, or the errno that the wrapper `name` must pretend to have got.
int fault(const char* name);
void arm_fault(const char* name, int err, int nth = 1);  // nullptr disarms
bool fault_given();                                      // the armed one has been asked for often enough, and has failed

}  // namespace hotcell::sys
