#include "cli/say.h"

#include <unistd.h>

#include "base/strings.h"
#include "sys/file.h"

namespace hotcell {

namespace {
constexpr std::size_t kLongest = 2000;  // a name of a megabyte must not become a message of one
}  // namespace

void say(std::string_view sentence) {
  bool cut = sentence.size() > kLongest;
  sys::write_all(STDERR_FILENO, cat("hotcell: ", printable(sentence.substr(0, kLongest)), cut ? "...\n" : "\n"))
      .ignore("without stderr there is nobody to tell; the exit code still says it");
}

int refuse(const Error& error) {
  say(error.message);
  return exit_code_of(error.code);
}

int print(std::string_view text) {
  auto written = sys::write_all(STDOUT_FILENO, text);
  if (written.ok()) return 0;
  if (written.error().err != EPIPE) say(cat("standard output: ", written.error().message));
  return kExitRefused;
}

}  // namespace hotcell
