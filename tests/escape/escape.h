// The shape of an escape test. Each case has three parts, run as three tests:
//   Control  the attack works outside, as the same user (or at least gets further than a wall of ours);
//   Denied   in a cell with every layer on it gets exactly this errno, and seccomp's denials are in the report;
//   Alone    each layer that claims to stop it does so by itself.
#pragma once
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "hotcell/policy.h"
#include "support/cells.h"
#include "support/leak_check.h"

namespace hotcell::testing {

inline constexpr int kOpen = 0;         // the attack went through
inline constexpr int kNotClaimed = -1;  // this layer does not promise to stop it
inline constexpr int kDiffers = -2;     // control: anything but what the cell answers
inline constexpr int kAny =
    -4;  // control: this kernel may refuse it to ordinary users, or lack it; the record shows the layer

enum class Where { kHere, kThrowawayNamespaces };

struct Control {
  int root = kOpen, user = kOpen;
  Where where = Where::kHere;  // throwaway: in namespaces of its own, for what would touch the host
};
// The errno by which a layer stops the attack when it is the only one.
struct Alone {
  int seccomp = kNotClaimed;    // the filter, in a process of the caller's with all its rights
  int landlock = kNotClaimed;   // either Landlock layer, in a process of the caller's, on the host's own tree
  int structure = kNotClaimed;  // namespaces, mounts, ids, capabilities, limits: a cell without the other two
};

struct EscapeCase {
  const char* id;  // of ESCAPES.md, and a letter where one row has several ways
  const char* what;
  int (*probe)();  // kOpen, or the errno it met
  int denied;
  Control control = {};
  Alone alone = {};
  const char* denial = nullptr;  // the system call that the report must name
};
void PrintTo(const EscapeCase& c, std::ostream* out);

struct Area {
  Area(std::initializer_list<EscapeCase> cases);
};

inline int result_of(long result) { return result < 0 ? errno : kOpen; }
// As a probe sees it: what the scene put into the environment.
std::string scene_path(const char* relative);
int scene_number(const char* name);  // S_PID, S_PORT, S_UDP, S_FD

// What the attacks are aimed at: files and folders, a process, listeners and a forgotten descriptor, all of the host.
//   secret  ro/file ro/.env  rw/file rw/sub/denied  sock  private/  work/
class Scene {
 public:
  Scene();
  ~Scene();
  static std::string shm() { return "/dev/shm/hc-escape-" + std::to_string(::getpid()); }
  std::string path(const std::string& relative) const { return dir_.path() + "/" + relative; }
  std::map<std::string, std::string> env(const std::string& work) const;
  // Shows ro and rw; denies ro/.env, rw/sub/denied and rw/unborn, which does not exist.
  Policy policy() const;

 private:
  TempDir dir_;
  pid_t victim_ = -1;
  int tcp_ = -1, udp_ = -1, unix_ = -1, abstract_ = -1, forgotten_ = -1;
  int port_ = 0, udp_port_ = 0;
};

class SceneTest : public LeakCheck {
 protected:
  void SetUp() override {
    LeakCheck::SetUp();
    scene_ = std::make_unique<Scene>();
  }
  void TearDown() override {
    scene_.reset();
    LeakCheck::TearDown();
  }
  std::unique_ptr<Scene> scene_;
};

}  // namespace hotcell::testing
