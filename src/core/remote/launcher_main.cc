// hotcell-launcher: the process that owns all cells of a daemon. Its orders come over one socket from the front, its
// ceiling from the command line, which only the supervisor writes. Not for calling by hand.
#include <cstdio>

#include "core/remote/serve_launcher.h"

int main(int argc, char** argv) {
  std::vector<std::string_view> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  auto done = hotcell::remote::serve_launcher(words, [](const hotcell::LauncherOptions& o) { return hotcell::Launcher::create(o); });
  if (done.ok()) return 0;
  std::fprintf(stderr, "hotcell-launcher: %s\n", done.error().message.c_str());
  return 125;
}
