#include "backends/told.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>

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

ToldBy open_told(const Scratch& scratch) {
  ToldBy out;
  // For reading and writing, so that it is open whether or not anybody writes, and has no end.
  out.fd = sys::Fd(::open(cat(scratch.path(), "/", kToldPiece).c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW));
  if (out.valid() || errno != ENOENT) return out;
  out.fd = sys::Fd(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  int* numbers[] = {&out.begun, &out.exited, &out.killed};
  for (std::size_t i = 0; out.valid() && i < std::size(numbers); ++i) {
    // Once each: a program that reads them again and again fills nothing. What it reads itself is a word about nobody but itself.
    *numbers[i] = ::inotify_add_watch(out.fd.get(), cat(scratch.path(), "/", kSealFolder, "/", kKnocks[i]).c_str(), IN_ACCESS | IN_ONESHOT | IN_DONT_FOLLOW);
    if (*numbers[i] < 0) out.reset();
  }
  return out;
}

namespace {

std::string all_of(int fd) {
  std::string bytes;
  char chunk[4096];
  while (bytes.size() < kMostTold) {
    ssize_t n = ::read(fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    bytes.append(chunk, static_cast<std::size_t>(n));
  }
  return bytes;
}

}  // namespace

Told take_told(const ToldBy& by) {
  std::string bytes = all_of(by.fd.get());
  if (by.begun == 0) return read_told(bytes);
  Told out;
  inotify_event event;
  for (std::size_t at = 0; at + sizeof event <= bytes.size(); at += sizeof event + event.len) {
    std::memcpy(&event, bytes.data() + at, sizeof event);
    if ((event.mask & IN_ACCESS) == 0) continue;
    out.started |= event.wd == by.begun;
    if (event.wd == by.exited) out.code = kOfTheTool, out.signal.reset();
    if (event.wd == by.killed) out.signal = kOfTheTool, out.code.reset();
  }
  return out;
}

void name_the_end(Verdict& verdict, const std::optional<Told>& told) {
  if ((verdict.reason != ExitReason::kExited && verdict.reason != ExitReason::kMemory) || !verdict.exit_code || *verdict.exit_code <= 128 || *verdict.exit_code > 128 + 64) return;
  int signal = *verdict.exit_code - 128;
  // Of one that was killed itself nobody has told; only SIGKILL ends a pid 1.
  if (told && !(told->signal ? *told->signal == signal || *told->signal == kOfTheTool : !told->code && signal == SIGKILL)) return;
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
