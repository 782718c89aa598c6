#include "core/launch/notify.h"

#include <linux/seccomp.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>

#include "base/strings.h"
#include "core/kernel/seccomp_names.h"

namespace hotcell {

void NotifyListener::serve() {
  seccomp_notif call;
  std::memset(&call, 0, sizeof call);  // the kernel refuses anything but zeros
  if (::ioctl(fd_.get(), SECCOMP_IOCTL_NOTIF_RECV, &call) < 0) {
    // ENOENT: the caller was killed meanwhile. Anything else: the cell is gone.
    if (errno != ENOENT && errno != EINTR && errno != EAGAIN) fd_.reset();
    return;
  }
  ++served_;
  record(call.data.nr, call.data.arch, call.data.args);
  seccomp_notif_resp answer;
  std::memset(&answer, 0, sizeof answer);
  answer.id = call.id;
  answer.error = -EPERM;
  if (::ioctl(fd_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer) < 0 && errno != ENOENT) fd_.reset();
}

void NotifyListener::record(int nr, std::uint32_t arch, const __u64 (&args)[6]) {
  std::uint64_t copy[6];
  for (int i = 0; i < 6; ++i) copy[i] = args[i];
  DeniedCall call = describe_denial(nr, arch, copy);
  auto it = denials_.find(call.what);
  if (it != denials_.end()) {
    ++it->second.count;
  } else if (denials_.size() < kMostKinds) {
    Denial d;
    d.layer = "seccomp";
    d.subject = call.name;
    d.what = call.what;
    d.fix = call.fix;
    denials_.emplace(call.what, std::move(d));
  }
}

std::vector<Denial> NotifyListener::denials() const {
  std::vector<Denial> out;
  for (const auto& [what, denial] : denials_) out.push_back(denial);
  return out;
}

}  // namespace hotcell
