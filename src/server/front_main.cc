// hotcell-front: started by `hotcell serve` and `hotcell mcp`. Not for calling by hand.
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <cstdio>
#include <string_view>

#include "base/strings.h"
#include "daemon/control.h"
#include "server/front/front.h"

int main(int argc, char** argv) {
  using namespace hotcell;
  server::FrontArguments arguments;
  bool known = true;
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (word == "stdio") arguments.stdio = true;
    else if (word == "fixtures") arguments.fixtures = true;
    else if (word == "proxy") arguments.proxy = true;
    else if (word == "bound") arguments.bound = true;
    else if (word.starts_with("proxy-word=")) arguments.proxy_words.emplace_back(word.substr(11));
    else if (word.starts_with("home=")) arguments.home = word.substr(5);
    else known = false;
  }
  struct stat s {};
  if (!known || ::fstat(daemon::kControlFd, &s) != 0 || !S_ISSOCK(s.st_mode)) {
    std::fputs("hotcell-front is started by hotcell serve\n", stderr);
    return 125;
  }
  // The supervisor says when; a terminal's signals reach it, too.
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
  ::prctl(PR_SET_DUMPABLE, 0);
  // One heap for all threads: in those of the others malloc keeps what one large request took, where malloc_trim() does not reach.
  ::mallopt(M_ARENA_MAX, 1);
  auto code = server::run_front(arguments);
  if (code.ok()) return code.value();
  std::fprintf(stderr, "hotcell: %s\n", printable(code.error().message).c_str());
  return 125;
}
