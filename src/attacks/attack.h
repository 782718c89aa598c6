// The attack program: small, static, no interpreter needed. One name, one attack, one line that says what happened.
// It knows nothing of the sandbox it is in; the same program run outside shows that the attack works.
//
//   attack --list
//   attack NAME [ARGS]   → RESULT NAME blocked|open|unclear|started DETAIL
//
// `blocked` is claimed only for errors that mean a refusal; any other failure is `unclear`, since an attack that is
// simply wrong would otherwise count as a wall. `started`: only somebody outside can tell how it ends.
// Plain C++ without the C++ library, so that it also builds against musl.
#pragma once
#include <errno.h>
#include <stddef.h>

namespace attack {

enum class Outcome : int { kBlocked = 0, kOpen = 10, kUnclear = 11, kStarted = 12 };

struct Args {
  int count;
  char** values;
  const char* text(int index, const char* otherwise) const { return index < count ? values[index] : otherwise; }
  long number(int index, long otherwise) const;
};

struct Attack {
  const char* name;
  const char* what;  // with its arguments
  Outcome (*run)(const Args& args);
};
struct Family {
  const Attack* attacks;
  size_t count;
};

// Set the detail of the result line, printf-like.
[[gnu::format(printf, 1, 2)]] Outcome blocked(const char* format, ...);
[[gnu::format(printf, 1, 2)]] Outcome open(const char* format, ...);
[[gnu::format(printf, 1, 2)]] Outcome unclear(const char* format, ...);
[[gnu::format(printf, 1, 2)]] Outcome started(const char* format, ...);
const char* detail();

const char* errno_name(int err);

struct Errors {
  unsigned char bit[134];
  bool has(int err) const { return err > 0 && err < 134 && bit[err] != 0; }
};
template <typename... T>
constexpr Errors errors(T... list) {
  Errors e{};
  ((e.bit[list] = 1), ...);
  return e;
}
inline constexpr Errors kRefused = errors(EPERM, EACCES, ENOSYS);
inline constexpr Errors kHidden = errors(EPERM, EACCES, ENOSYS, ENOENT, EROFS, ENXIO, ENODEV, ELOOP, ENOTDIR, EXDEV);

// `for (auto x : List<int>{…})`: a braced list without <initializer_list>, which belongs to the C++ library.
template <typename T>
using List = const T[];

// Several ways to the same goal: one that works makes the attack open, one that fails oddly makes it unclear.
class Tries {
 public:
  // result < 0 with errno set: judged by it; otherwise the attack went through.
  void did(const char* what, long result, const Errors& refusals);
  void went_through(const char* what);
  void refused(const char* what, const char* how);
  void odd(const char* what, const char* how);
  Outcome outcome() const;

 private:
  void note(char* list, const char* what, const char* how);
  char open_[300] = {}, odd_[300] = {}, refused_[700] = {};
};

// Runs `body` in a child and says how it ended: signal number if > 0, -(1 + exit code) otherwise, 0 when fork failed.
int in_child(void (*body)());

extern const Family kResources, kProcesses, kFiles, kKernel, kNetwork;

}  // namespace attack
