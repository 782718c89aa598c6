// What an attack aims at: things of the host made for the purpose, so that a wall that fails costs nothing, and whether
// they were reached is seen from outside rather than believed.
#pragma once
#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "hotcell/result.h"

namespace hotcell {

class Scene {
 public:
  static Result<Scene> set();
  Scene(Scene&& other) noexcept;
  Scene& operator=(Scene&&) = delete;
  ~Scene();

  // "{canary} {port}" → the words, filled in: dir canary secret victim port abstract env token.
  std::vector<std::string> words(std::string_view pattern) const;
  // What has happened to the scene since it was set or mended; empty: nothing.
  std::vector<std::string> damage();
  Result<void> mend();

  std::vector<pid_t> survivors() const;  // processes anywhere on the host that carry the token
  void end_survivors() const;
  const std::string& dir() const { return dir_; }

 private:
  Scene() = default;
  Result<void> start_victim();
  Result<void> listen_on_loopback();
  Result<void> leak_descriptors();
  void stop_victim();

  std::string dir_, canary_, secret_, token_, abstract_;
  pid_t victim_ = -1;
  int tcp_ = -1, unix_ = -1, leaked_file_ = -1, leaked_dir_ = -1, lock_ = -1;
  unsigned port_ = 0;
};

}  // namespace hotcell
