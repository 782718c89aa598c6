// Whatever the bytes, unpacking writes into its folder alone, leaves no link there that leads out, and nothing half made.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "cells/tar/tar.h"

namespace fs = std::filesystem;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  char top[] = "/tmp/hotcell-tar-fuzz-XXXXXX";
  if (::mkdtemp(top) == nullptr || ::mkdirat(AT_FDCWD, (std::string(top) + "/in").c_str(), 0700) < 0) return 0;
  int in = ::memfd_create("tar", MFD_CLOEXEC);
  int folder = ::open((std::string(top) + "/in").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  hotcell::cells::TarFault fault;
  bool good = false;
  if (in >= 0 && folder >= 0 && ::write(in, data, size) == static_cast<ssize_t>(size) && ::lseek(in, 0, SEEK_SET) == 0)
    good = hotcell::cells::tar_read(in, folder, 1 << 20, 64, hotcell::cells::TarLinks::kInside, fault);
  ::close(in);
  ::close(folder);
  if (good != (fault.err == 0)) std::abort();
  for (const auto& e : fs::directory_iterator(top))
    if (e.path().filename() != "in") std::abort();
  std::error_code ignored;
  fs::path inside = fs::path(top) / "in";
  for (const auto& e : fs::recursive_directory_iterator(inside, ignored)) {
    if (!e.is_symlink(ignored)) {
      if (!e.is_regular_file(ignored) && !e.is_directory(ignored)) std::abort();
      if ((e.status(ignored).permissions() & fs::perms(07000)) != fs::perms::none) std::abort();
      continue;
    }
    fs::path end = fs::weakly_canonical(e.path(), ignored);
    if (!ignored && end.native() != inside.native() && !end.native().starts_with(inside.native() + "/")) std::abort();
  }
  fs::remove_all(top, ignored);
  return 0;
}
