// What a launcher process does, whatever launcher it has: hotcell-launcher with cells of this kernel, or another program of
// ours with walls of other tools.
#pragma once
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "hotcell/launcher.h"
#include "hotcell/result.h"

namespace hotcell::remote {

// `words` are those of start_launcher (launcher_process.h). Until the last connection has closed.
using MakeLauncher = std::function<Result<std::unique_ptr<Launcher>>(const LauncherOptions&)>;
Result<void> serve_launcher(const std::vector<std::string_view>& words, const MakeLauncher& make);

}  // namespace hotcell::remote
