#include "cells/files/steps.h"

#include <signal.h>
#include <stdlib.h>

#include <atomic>

#include "base/strings.h"

namespace hotcell::cells {
namespace {

void (*g_hook)() = nullptr;

// HOTCELL_KILL_AT=N: the process dies before the Nth step. Like HOTCELL_FAULT it can only end something, and stays in.
void die_when_told() {
  static const std::uint64_t at = [] {
    const char* text = ::getenv("HOTCELL_KILL_AT");
    return text == nullptr ? 0 : parse_u64(text).value_or(0);
  }();
  static std::atomic<std::uint64_t> steps = 0;
  if (at != 0 && ++steps == at) ::raise(SIGKILL);
}

}  // namespace

void set_step_hook(void (*hook)()) { g_hook = hook; }

void about_to_change() {
  if (g_hook != nullptr) g_hook();
  die_when_told();
}

}  // namespace hotcell::cells
