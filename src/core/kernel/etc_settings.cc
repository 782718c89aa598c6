#include "core/kernel/etc_settings.h"

#include <glob.h>
#include <limits.h>
#include <stdlib.h>

#include "core/kernel/grants.h"

namespace hotcell {
namespace {

constexpr const char* kPatterns[] = {"/etc/ld.so.cache", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ca-certificates",
                                     "/etc/alternatives", "/etc/java-*-openjdk", "/etc/python3*", "/etc/localtime",
                                     "/etc/mime.types", "/etc/locale.alias", "/etc/matplotlibrc"};

}  // namespace

std::vector<EtcSetting> etc_settings() {
  std::vector<EtcSetting> out;
  for (const char* pattern : kPatterns) {
    glob_t found{};
    if (::glob(pattern, GLOB_NOSORT, nullptr, &found) == 0) {
      for (std::size_t i = 0; i < found.gl_pathc; ++i) {
        EtcSetting setting{.path = found.gl_pathv[i], .leads_to = {}, .st = {}};
        if (::lstat(setting.path.c_str(), &setting.st) != 0) continue;
        if (S_ISLNK(setting.st.st_mode)) {
          char real[PATH_MAX];
          if (::realpath(setting.path.c_str(), real) == nullptr || !is_inside(real, "/usr")) continue;
          setting.leads_to = real;
        }
        out.push_back(std::move(setting));
      }
    }
    ::globfree(&found);
  }
  return out;
}

}  // namespace hotcell
