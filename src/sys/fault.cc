#include "sys/fault.h"

#include <cstdlib>
#include <cstring>
#include <string>

namespace hotcell::sys {
namespace {

struct Fault {
  char name[48] = {};
  int err = 0;
  int nth = 0;
  bool loaded = false;
};
Fault g_fault;

void load_from_environment() {
  g_fault.loaded = true;
  const char* spec = ::getenv("HOTCELL_FAULT");
  if (spec == nullptr) return;
  const char* colon = std::strchr(spec, ':');
  if (colon == nullptr) return;
  std::string name(spec, colon);
  int err = std::atoi(colon + 1);
  const char* second = std::strchr(colon + 1, ':');
  arm_fault(name.c_str(), err, second ? std::atoi(second + 1) : 1);
}

}  // namespace

void arm_fault(const char* name, int err, int nth) {
  g_fault.loaded = true;
  g_fault.err = name ? err : 0;
  g_fault.nth = nth;
  std::strncpy(g_fault.name, name ? name : "", sizeof g_fault.name - 1);
}

int fault(const char* name) {
  if (!g_fault.loaded) [[unlikely]] load_from_environment();
  if (g_fault.err == 0 || std::strcmp(name, g_fault.name) != 0) return 0;
  return --g_fault.nth == 0 ? g_fault.err : 0;
}

bool fault_given() { return g_fault.err != 0 && g_fault.nth <= 0; }

}  // namespace hotcell::sys
