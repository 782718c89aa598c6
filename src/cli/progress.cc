#include "cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/strings.h"
#include "core/policy/units.h"
#include "sys/file.h"

namespace hotcell {

namespace {
constexpr auto kQuiet = std::chrono::seconds(1);
constexpr auto kBetween = std::chrono::milliseconds(100);

std::string seconds(Nanoseconds time) {
  auto tenths = std::chrono::duration_cast<std::chrono::milliseconds>(time).count() / 100;
  return cat(tenths / 10, ".", tenths % 10, "s");
}

std::string mebibytes(Bytes size) {
  auto tenths = size.n * 10 / (1 << 20);
  return cat(tenths / 10, ".", tenths % 10, "M");
}

std::size_t columns_of(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

void to_terminal(std::string_view text) {
  sys::write_all(STDERR_FILENO, text).ignore("a progress line nobody can see harms nobody");
}
}  // namespace

Progress::Progress(bool on_terminal, Nanoseconds wall) : on_(on_terminal), wall_(wall) {}

std::string progress_line(Nanoseconds elapsed, Nanoseconds wall, const LiveUsage& usage, const std::string& near_limit,
                          std::size_t columns) {
  auto out = cat("hotcell: running ", seconds(elapsed), " of ", format_duration(wall), ", memory ",
                 mebibytes(usage.memory), ", cpu ", seconds(usage.cpu), ", ", usage.tasks, usage.tasks == 1 ? " task" : " tasks", near_limit);
  if (columns > 1 && out.size() >= columns) out.resize(columns - 1);
  return out;
}

void Progress::note(const Event& event) {
  if (event.type != "limit.warning") return;
  auto number = [&](const char* key) {
    auto field = event.fields.find(key);
    return field == event.fields.end() ? std::nullopt : parse_u64(field->second);
  };
  auto current = number("current"), most = number("max");
  auto limit = event.fields.find("limit_type");
  if (!current || !most || *most == 0 || limit == event.fields.end()) return;
  near_limit_ = cat(", ", limit->second, " at ", static_cast<std::uint64_t>(100.0 * static_cast<double>(*current) /
                                                                           static_cast<double>(*most)), "%");
}

void Progress::tick(bool at_line_start) {
  auto now = Clock::now();
  if (!on_ || !at_line_start || now - started_ < kQuiet || now - last_output_ < kQuiet || now - last_drawn_ < kBetween)
    return;
  last_drawn_ = now;
  to_terminal(cat("\r\x1b[K", progress_line(now - started_, wall_, usage_, near_limit_, columns_of(STDERR_FILENO))));
  drawn_ = true;
}

void Progress::erase() {
  if (drawn_) to_terminal("\r\x1b[K");
  drawn_ = false;
}

}  // namespace hotcell
