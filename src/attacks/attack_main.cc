#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

namespace attack {
namespace {

char detail_text[1400];

struct Name {
  int err;
  const char* name;
};
#define ERRNO(x) {x, #x}
constexpr Name kNames[] = {
    ERRNO(EPERM),        ERRNO(ENOENT),       ERRNO(ESRCH),       ERRNO(EINTR),           ERRNO(EIO),
    ERRNO(ENXIO),        ERRNO(E2BIG),        ERRNO(ENOEXEC),     ERRNO(EBADF),           ERRNO(ECHILD),
    ERRNO(EAGAIN),       ERRNO(ENOMEM),       ERRNO(EACCES),      ERRNO(EFAULT),          ERRNO(EBUSY),
    ERRNO(EEXIST),       ERRNO(EXDEV),        ERRNO(ENODEV),      ERRNO(ENOTDIR),         ERRNO(EISDIR),
    ERRNO(EINVAL),       ERRNO(EMFILE),       ERRNO(ENOTTY),      ERRNO(ETXTBSY),         ERRNO(EFBIG),
    ERRNO(ENOSPC),       ERRNO(ESPIPE),       ERRNO(EROFS),       ERRNO(EMLINK),          ERRNO(EPIPE),
    ERRNO(ENAMETOOLONG), ERRNO(ENOSYS),       ERRNO(ELOOP),       ERRNO(EPROTONOSUPPORT), ERRNO(ESOCKTNOSUPPORT),
    ERRNO(EOPNOTSUPP),   ERRNO(EAFNOSUPPORT), ERRNO(EADDRINUSE),  ERRNO(EADDRNOTAVAIL),   ERRNO(ENETDOWN),
    ERRNO(ENETUNREACH),  ERRNO(ECONNABORTED), ERRNO(ECONNRESET),  ERRNO(ENOTCONN),        ERRNO(ETIMEDOUT),
    ERRNO(ECONNREFUSED), ERRNO(EHOSTUNREACH), ERRNO(EINPROGRESS), ERRNO(EDQUOT),          ERRNO(ENODATA),
    ERRNO(ENOKEY),       ERRNO(EUSERS),       ERRNO(EPROTO),      ERRNO(EOVERFLOW)};
#undef ERRNO

Outcome say(Outcome outcome, const char* format, va_list list) {
  vsnprintf(detail_text, sizeof detail_text, format, list);
  return outcome;
}

const Family* const kFamilies[] = {&kResources, &kProcesses, &kFiles, &kKernel, &kNetwork};

const char* word_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kBlocked:
      return "blocked";
    case Outcome::kOpen:
      return "open";
    case Outcome::kUnclear:
      return "unclear";
    case Outcome::kStarted:
      return "started";
  }
  return "unclear";
}

int list_all() {
  for (const Family* family : kFamilies)
    for (size_t i = 0; i < family->count; ++i) printf("%-18s %s\n", family->attacks[i].name, family->attacks[i].what);
  return 0;
}

}  // namespace

const char* errno_name(int err) {
  for (const Name& n : kNames)
    if (n.err == err) return n.name;
  static char other[24];
  snprintf(other, sizeof other, "E%d", err);
  return other;
}

long Args::number(int index, long otherwise) const {
  if (index >= count) return otherwise;
  char* end = nullptr;
  long n = strtol(values[index], &end, 10);
  return end != values[index] && *end == 0 ? n : otherwise;
}

#define SAY(function, outcome)                \
  Outcome function(const char* format, ...) { \
    va_list list;                             \
    va_start(list, format);                   \
    Outcome o = say(outcome, format, list);   \
    va_end(list);                             \
    return o;                                 \
  }
SAY(blocked, Outcome::kBlocked)
SAY(open, Outcome::kOpen)
SAY(unclear, Outcome::kUnclear)
SAY(started, Outcome::kStarted)
#undef SAY
const char* detail() { return detail_text; }

void Tries::note(char* list, const char* what, const char* how) {
  const size_t room = list == refused_ ? sizeof refused_ : sizeof open_;
  const size_t used = strlen(list);
  snprintf(list + used, room - used, "%s%s%s%s", used != 0 ? ", " : "", what, *how != 0 ? " " : "", how);
}
void Tries::did(const char* what, long result, const Errors& refusals) {
  const int err = errno;
  if (result >= 0) note(open_, what, "");
  else note(refusals.has(err) ? refused_ : odd_, what, errno_name(err));
}
void Tries::went_through(const char* what) { note(open_, what, ""); }
void Tries::refused(const char* what, const char* how) { note(refused_, what, how); }
void Tries::odd(const char* what, const char* how) { note(odd_, what, how); }
Outcome Tries::outcome() const {
  if (open_[0] != 0) return open("%s", open_);
  if (odd_[0] != 0) return unclear("%s", odd_);
  if (refused_[0] == 0) return unclear("nothing was tried");
  return blocked("%s", refused_);
}

int in_child(void (*body)()) {
  fflush(stdout);
  pid_t pid = fork();
  if (pid < 0) return 0;
  if (pid == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? WTERMSIG(status) : -(1 + WEXITSTATUS(status));
}

}  // namespace attack

int main(int argc, char** argv) {
  using namespace attack;
  if (argc == 2 && strcmp(argv[1], "--list") == 0) return list_all();
  if (argc < 2) {
    fprintf(stderr, "usage: attack NAME [ARGS] | --list\n");
    return 125;
  }
  for (const Family* family : kFamilies) {
    for (size_t i = 0; i < family->count; ++i) {
      if (strcmp(family->attacks[i].name, argv[1]) != 0) continue;
      Outcome outcome = family->attacks[i].run({argc - 2, argv + 2});
      char line[1600];
      int n = snprintf(line, sizeof line, "RESULT %s %s %s\n", argv[1], word_of(outcome), detail());
      if (write(1, line, static_cast<size_t>(n)) != n) return static_cast<int>(Outcome::kUnclear);
      return static_cast<int>(outcome);
    }
  }
  fprintf(stderr, "attack: no attack is called %s; see --list\n", argv[1]);
  return 125;
}
