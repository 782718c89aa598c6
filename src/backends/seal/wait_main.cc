// wait: what the seal starts in a sandbox that was started ahead. It says that it is there (one NUL), reads its orders from
// stdin (request.h: Runtime) to the last byte and no further, and becomes the program; what comes after them is the program's.
// Static, so that it needs nothing of the tree it finds. The seal above it tells how the program ended.
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern char** environ;

namespace {

constexpr size_t kDigits = 10;

// No words: nobody has asked for anything yet, and stderr will be the program's.
[[noreturn]] void fail() { _exit(125); }

void read_exactly(char* bytes, size_t size) {
  while (size > 0) {
    ssize_t n = read(0, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail();
    bytes += n;
    size -= static_cast<size_t>(n);
  }
}

size_t number(const char* text) {
  size_t n = 0;
  if (*text == 0) fail();
  for (; *text != 0; ++text) {
    if (*text < '0' || *text > '9' || n > SIZE_MAX / 16) fail();
    n = n * 10 + static_cast<size_t>(*text - '0');
  }
  return n;
}

struct Fields {
  char* at;
  char* end;
  char* next() {
    auto* stop = at == end ? nullptr : static_cast<char*>(memchr(at, 0, static_cast<size_t>(end - at)));
    if (stop == nullptr) fail();
    char* field = at;
    at = stop + 1;
    return field;
  }
  char** list() {
    size_t count = number(next());
    if (count > static_cast<size_t>(end - at)) fail();
    auto** out = static_cast<char**>(calloc(count + 1, sizeof(char*)));
    if (out == nullptr) fail();
    for (size_t i = 0; i < count; ++i) out[i] = next();
    return out;
  }
};

}  // namespace

int main() {
  if (write(1, "", 1) != 1) fail();
  char length[kDigits + 1] = {};
  read_exactly(length, kDigits);
  size_t size = number(length);
  void* memory = mmap(nullptr, size + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail();
  auto* bytes = static_cast<char*>(memory);
  read_exactly(bytes, size);
  Fields fields{bytes, bytes + size};
  char** argv = fields.list();
  const char* folder = fields.next();
  environ = fields.list();
  if (argv[0] == nullptr) fail();
  if (chdir(folder) != 0) {
    const char* parts[] = {"hotcell: working directory ", folder, ": ", strerror(errno), "\n"};
    for (const char* part : parts) (void)!write(2, part, strlen(part));
    _exit(128);
  }
  execvp(argv[0], argv);
  // As the seal says it where nothing was started ahead.
  const bool absent = errno == ENOENT;
  const char* why = absent ? "hotcell seal: the program is not there\n" : "hotcell seal: the program cannot be started\n";
  (void)!write(2, why, strlen(why));
  _exit(absent ? 127 : 126);
}
