#include "daemon/say.h"

#include <unistd.h>

#include "base/json_write.h"
#include "base/strings.h"
#include "base/time_text.h"

namespace hotcell::daemon {
namespace {

bool as_json = false;  // of one thread

}  // namespace

void say_json(bool json) { as_json = json; }

void say(std::string_view text, std::string_view level) {
  std::string line;
  if (as_json) {
    JsonWriter w;
    w.begin_object();
    w.field("time", rfc3339(std::chrono::system_clock::now()));
    w.field("level", level);
    w.field("message", text);
    w.end_object();
    line = w.take();
  } else {
    line = cat("hotcell: ", printable(text));
  }
  line += '\n';
  // Lost where nobody takes it: the daemon need not wait for a log.
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace hotcell::daemon
