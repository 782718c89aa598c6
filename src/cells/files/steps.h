// For tests that kill a process in the middle: called before every step that changes something others could see.
#pragma once

namespace hotcell::cells {

void set_step_hook(void (*hook)());  // none in life
void about_to_change();

}  // namespace hotcell::cells
