#include "backends/told.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

#include "backends/tools.h"
#include "base/strings.h"
#include "sys/file.h"

namespace hotcell::backends {
namespace {

constexpr std::size_t kMostTold = 1 << 20;  // the most a pipe can hold here
constexpr std::size_t kMostWords = 600;     // the first are about the cause, those after them about what follows from it

}  // namespace

Told read_told(std::string_view bytes) {
  Told out;
  out.started = bytes.starts_with('S');
  for (std::size_t at = 0; at + 2 <= bytes.size(); at += 2) {
    int number = static_cast<unsigned char>(bytes[at + 1]);
    if (bytes[at] == 'E') out.code = number, out.signal.reset();
    if (bytes[at] == 'K') out.signal = number, out.code.reset();
  }
  return out;
}

sys::Fd open_told(const Scratch& scratch) {
  // For reading and writing, so that it is open whether or not anybody writes, and has no end.
  return sys::Fd(::open(cat(scratch.path(), "/", kToldPiece).c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
}

Told take_told(int fd) {
  std::string bytes;
  char chunk[4096];
  while (bytes.size() < kMostTold) {
    ssize_t n = ::read(fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    bytes.append(chunk, static_cast<std::size_t>(n));
  }
  return read_told(bytes);
}

void name_the_end(Verdict& verdict, const std::optional<Told>& told) {
  if ((verdict.reason != ExitReason::kExited && verdict.reason != ExitReason::kMemory) || !verdict.exit_code || *verdict.exit_code <= 128 || *verdict.exit_code > 128 + 64) return;
  int signal = *verdict.exit_code - 128;
  // Of one that was killed itself nobody has told; only SIGKILL ends a pid 1.
  if (told && !(told->signal ? *told->signal == signal : !told->code && signal == SIGKILL)) return;
  verdict.signal = signal;
  verdict.exit_code.reset();
  if (verdict.reason == ExitReason::kMemory) return;  // the kernel has said why
  verdict.reason = signal == SIGSYS ? ExitReason::kPolicy : ExitReason::kSignal;
}

std::string words_of_tool(std::string_view err, const Scratch& scratch) {
  std::string said, text(trim(err));
  if (text.empty())
    if (auto log = sys::read_file(cat(scratch.path(), "/", kToolLog).c_str(), 1 << 20)) text = trim(log.value());
  for (auto line : split(std::string_view(text).substr(0, kMostWords), '\n')) said += cat(said.empty() ? "" : "; ", trim(line));
  return said.empty() ? "it said nothing" : printable(said);
}

}  // namespace hotcell::backends
