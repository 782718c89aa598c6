#include "core/kernel/lsm.h"

#include <unistd.h>

#include "base/strings.h"
#include "sys/file.h"

namespace hotcell {

LsmFacts look_at_lsms() {
  LsmFacts facts;
  // The files in /proc are there whenever it was compiled in; this one says whether it was switched on.
  if (::access("/sys/module/apparmor", F_OK) == 0)
    if (auto on = sys::read_file("/sys/module/apparmor/parameters/enabled"); on.ok())
      facts.apparmor = trim(on.value()) == "Y";
  facts.selinux = ::access("/sys/fs/selinux/enforce", F_OK) == 0;
  if (!facts.apparmor) return facts;
  for (const char* path : {"/proc/self/attr/apparmor/current", "/proc/self/attr/current"})
    if (auto label = sys::read_file(path); label.ok()) {
      facts.label = trim(label.value());
      break;
    }
  return facts;
}

LsmChoice choose_lsm(const LsmFacts& facts) {
  if (!facts.apparmor && facts.selinux) return {false, "SELinux is active, and hotcell has no policy module for it"};
  if (!facts.apparmor) return {false, "neither AppArmor nor SELinux is active"};
  // From another profile, under no_new_privs, the kernel lets exec go to a narrower one only, and fails it otherwise.
  if (facts.label != "unconfined")
    return {false, cat("hotcell itself runs under the AppArmor profile ",
                       facts.label.empty() ? "(unknown)" : printable(facts.label))};
  return {true, ""};
}

void plan_lsm(const LsmChoice& choice, PlanBuilder& plan) {
  if (!choice.transition) return;
  plan.add({.kind = OpKind::kLsmExec,
            .layer = Layer::kLsm,
            .path = "/proc/thread-self/attr/apparmor/exec",
            .data = cat("exec ", kLsmProfile),
            .flags = kOptional},
           cat("AppArmor profile ", kLsmProfile, " from exec on, if it is loaded"));
}

LsmPending parse_lsm_exec(std::string_view text) {
  while (!text.empty() && text.back() == '\0') text.remove_suffix(1);
  text = trim(text);
  if (!text.starts_with(kLsmProfile)) return LsmPending::kNone;
  text.remove_prefix(kLsmProfile.size());
  if (text == " (enforce)") return LsmPending::kEnforce;
  return text == " (complain)" ? LsmPending::kComplain : LsmPending::kNone;
}

}  // namespace hotcell
