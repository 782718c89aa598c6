#include "core/launch/init_image.h"

#include <string_view>

#include "sys/file.h"

extern "C" const char hotcell_init_begin[];
extern "C" const char hotcell_init_end[];

namespace hotcell {

Result<sys::Fd> load_init(const std::string& path) {
  if (path.empty()) {
    std::string_view image(hotcell_init_begin, static_cast<std::size_t>(hotcell_init_end - hotcell_init_begin));
    return sys::memfd("init", image, true, true).context("init");
  }
  TRY_SET(std::string image, sys::read_file(path.c_str(), 16 << 20).context("init"));
  return sys::memfd("init", image, true, true).context("init");
}

}  // namespace hotcell
