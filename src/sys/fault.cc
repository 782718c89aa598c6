#include "sys/fault.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

namespace hotcell::sys {
namespace {

struct Fault {
  char name[48] = {};
  int err = 0;
  std::atomic<int> nth = 0;
  std::atomic<bool> loaded = false;   // stored last: whoever sees it sees the rest
};
Fault g_fault;

bool load_from_environment() {
  const char* spec = ::getenv("HOTCELL_FAULT");
  const char* colon = spec != nullptr ? std::strchr(spec, ':') : nullptr;
  if (colon == nullptr) {
    arm_fault(nullptr, 0);
    return true;
  }
  std::string name(spec, colon);
  int err = std::atoi(colon + 1);
  const char* second = std::strchr(colon + 1, ':');
  arm_fault(name.c_str(), err, second ? std::atoi(second + 1) : 1);
  return true;
}

}  // namespace

void arm_fault(const char* name, int err, int nth) {
  g_fault.err = name ? err : 0;
  g_fault.nth = nth;
  std::strncpy(g_fault.name, name ? name : "", sizeof g_fault.name - 1);
  g_fault.loaded = true;
}

int fault(const char* name) {
  if (!g_fault.loaded.load(std::memory_order_acquire)) [[unlikely]] {
    // By one of the threads that come here first; the others wait for it.
    static const bool once = load_from_environment();
    (void)once;
  }
  if (g_fault.err == 0 || std::strcmp(name, g_fault.name) != 0) return 0;
  return --g_fault.nth == 0 ? g_fault.err : 0;
}

bool fault_given() { return g_fault.err != 0 && g_fault.nth <= 0; }

}  // namespace hotcell::sys
