// A folder that is made beside another one and takes its name when it is whole.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "sys/fd.h"

namespace hotcell::cells {

// Names of things in the making: NAME.hotcell-PURPOSE-UUID. clean_leftovers() knows them by that.
std::string temporary_name(const std::string& name, std::string_view purpose);
bool is_temporary_of(std::string_view candidate, std::string_view name);

class Beside {
 public:
  static Result<Beside> make(const std::string& final_path, std::string_view purpose);
  Beside(Beside&& other) noexcept;
  Beside& operator=(Beside&&) = delete;
  ~Beside();  // removes it when it has not taken its place

  int fd() const { return folder_.get(); }
  // What is there is exchanged for it and then removed; a crash between the two leaves a leftover only. kOnDisk: when
  // this replaces something, a power cut must not leave names without bytes.
  enum class Sync : std::uint8_t { kNo, kOnDisk };
  Result<void> take_place(Sync sync);

 private:
  Beside() = default;
  std::string final_, path_;
  sys::Fd folder_;
};

}  // namespace hotcell::cells
