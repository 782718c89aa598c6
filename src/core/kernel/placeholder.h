// An empty file made on the host so that a denied name that does not exist yet has something to be masked on. Cells
// that deny the same name share it; the last one that goes removes it.
#pragma once
#include <sys/types.h>

#include <optional>
#include <string>

#include "hotcell/result.h"
#include "sys/fd.h"

namespace hotcell {

class Placeholder {
 public:
  // Makes `name`, which was not there. EEXIST: it is there now, so look again.
  static Result<Placeholder> make(int parent, const std::string& name);
  // When `name` is a placeholder that a living cell holds: a share of it. Nothing when it is anybody else's file.
  // EEXIST: it is coming or going this moment, so look again.
  static Result<std::optional<Placeholder>> share(int parent, const std::string& name);

  Placeholder(Placeholder&&) = default;
  Placeholder& operator=(Placeholder&&) = delete;
  ~Placeholder();  // removes it when nobody else holds it and it is still the empty file that was made

 private:
  Placeholder(sys::Fd parent, std::string name, sys::Fd file);

  sys::Fd parent_;
  std::string name_;
  sys::Fd file_;  // holds the lock
};

}  // namespace hotcell
