// The wasm backend as others see it: a WASI module in a native cell (languages/wasm says how it becomes a program).
#pragma once

namespace hotcell {

// Makes it known to backends/probe.h; does nothing the second time.
void register_wasm_backend();

}  // namespace hotcell
