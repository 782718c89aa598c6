// Parts of the host's /etc that programs cannot do without: the linker's cache, certificates, alternatives (java,
// editors, awk are links through it) and the read-only settings of language runtimes.
#pragma once
#include <sys/stat.h>

#include <string>
#include <vector>

namespace hotcell {

struct EtcSetting {
  std::string path;
  std::string leads_to;  // of a link, always into /usr; empty: a file or folder itself
  struct stat st {};
};

// Those that are there. A link that dangles or leads out of /usr is left out.
std::vector<EtcSetting> etc_settings();

}  // namespace hotcell
