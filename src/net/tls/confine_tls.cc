#include "net/tls/confine_tls.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>

namespace hotcell::net {

namespace {

struct Limit {
  decltype(RLIMIT_AS) what;
  rlim_t most;
  const char* name;
};
// Neither a core file nor a huge one. 512 connections at once are two descriptors and one thread of 8 MiB of addresses each.
constexpr Limit kLimits[] = {{RLIMIT_CORE, 0, "RLIMIT_CORE"},
                             {RLIMIT_FSIZE, 0, "RLIMIT_FSIZE"},
                             {RLIMIT_NOFILE, 1100, "RLIMIT_NOFILE"},
                             {RLIMIT_AS, rlim_t{16} << 30, "RLIMIT_AS"},
                             {RLIMIT_CPU, 24 * 3600, "RLIMIT_CPU"}};

}  // namespace

Result<Enforcement> confine_tls(const std::vector<std::string>& readable) {
  for (const Limit& limit : kLimits) {
#ifdef HOTCELL_SANITIZED
    if (limit.what == RLIMIT_AS) continue;  // a sanitizer reserves terabytes of address space
#endif
    rlimit have{};
    if (::getrlimit(limit.what, &have) < 0) return errno_error(limit.name, errno);
    rlim_t most = have.rlim_max < limit.most ? have.rlim_max : limit.most;
    rlimit want{most, most};
    if (::setrlimit(limit.what, &want) < 0) return errno_error(limit.name, errno);
  }
  ConfineOptions options;
  options.alone = true;
  struct stat st {};
  for (const std::string& path : readable)
    if (::stat(path.c_str(), &st) == 0) options.read_only.push_back(path);
  TRY_SET(Enforcement out, confine_self(options));
  // Neither a debugger of the same user shows the secrets.
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) return errno_error("PR_SET_DUMPABLE", errno);
  return out;
}

}  // namespace hotcell::net
