#include "core/kernel/etc_settings.h"

#include <limits.h>
#include <stdlib.h>

#include <iterator>
#include <string_view>

#include "base/strings.h"
#include "core/kernel/grants.h"
#include "sys/file.h"

namespace hotcell {
namespace {

constexpr const char* kNames[] = {"ld.so.cache", "ssl/certs", "ssl/openssl.cnf", "ca-certificates", "alternatives", "localtime",
                                  "mime.types", "locale.alias", "matplotlibrc"};

// Each version of a runtime has its own.
bool is_of_a_runtime(std::string_view name) {
  return (name.starts_with("java-") && name.ends_with("-openjdk")) || name.starts_with("python3");
}

}  // namespace

std::vector<EtcSetting> etc_settings() {
  std::vector<std::string> names(std::begin(kNames), std::end(kNames));
  if (auto all = sys::list_dir("/etc"))
    for (auto& name : all.value())
      if (is_of_a_runtime(name)) names.push_back(std::move(name));
  std::vector<EtcSetting> out;
  for (const auto& name : names) {
    EtcSetting setting{.path = cat("/etc/", name), .leads_to = {}, .st = {}};
    if (::lstat(setting.path.c_str(), &setting.st) != 0) continue;
    if (S_ISLNK(setting.st.st_mode)) {
      char real[PATH_MAX];
      if (::realpath(setting.path.c_str(), real) == nullptr || !is_inside(real, "/usr")) continue;
      setting.leads_to = real;
    }
    out.push_back(std::move(setting));
  }
  return out;
}

}  // namespace hotcell
