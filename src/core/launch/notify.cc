#include "core/launch/notify.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/strings.h"
#include "core/kernel/seccomp_names.h"
#include "core/launch/file_judge.h"

namespace hotcell {

void NotifyListener::serve() {
  seccomp_notif call;
  std::memset(&call, 0, sizeof call);  // the kernel refuses anything but zeros
  if (::ioctl(fd_.get(), SECCOMP_IOCTL_NOTIF_RECV, &call) < 0) {
    // ENOENT: the caller was killed meanwhile. Anything else: the cell is gone.
    if (errno != ENOENT && errno != EINTR && errno != EAGAIN) fd_.reset();
    return;
  }
  seccomp_notif_resp answer;
  std::memset(&answer, 0, sizeof answer);
  answer.id = call.id;
  if (marks_ && is_one_of(mark_calls_, call)) {
    answer.error = mark(call);
  } else if (is_one_of(observed_, call)) {
    // Observing, never deciding: the kernel goes on with this very call and every other layer has its say. That the
    // filter allows it was settled by its registers before we heard of it; what its pointers name, we only note.
    watch(call);
    answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
  } else {
    ++served_;
    record(call.data.nr, call.data.arch, call.data.args);
    answer.error = -EPERM;
  }
  if (::ioctl(fd_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer) < 0 && errno != ENOENT) fd_.reset();
}

void NotifyListener::observe(std::vector<std::uint32_t> observed, std::unique_ptr<FileWatch> files) {
  observed_ = std::move(observed);
  std::sort(observed_.begin(), observed_.end());
  files_ = std::move(files);
}

void NotifyListener::do_marks(std::vector<std::uint32_t> numbers, std::unique_ptr<FileMarks> marks) {
  mark_calls_ = std::move(numbers);
  std::sort(mark_calls_.begin(), mark_calls_.end());
  marks_ = std::move(marks);
}

bool NotifyListener::is_one_of(const std::vector<std::uint32_t>& calls, const seccomp_notif& call) const {
  return call.data.arch == audit_arch(kNativeArch) && call.data.nr >= 0 &&
         std::binary_search(calls.begin(), calls.end(), static_cast<std::uint32_t>(call.data.nr));
}

int NotifyListener::mark(const seccomp_notif& call) {
  std::string path;
  int result = marks_->carry_out(call, fd_.get(), path);
  if (result != -EPERM) {
    ++done_;
    return result;
  }
  ++served_;
  std::uint64_t copy[6];
  for (int i = 0; i < 6; ++i) copy[i] = call.data.args[i];
  DeniedCall denied = describe_denial(call.data.nr, call.data.arch, copy);
  denied.fix.clear();
  // Many names shall not take the room of other kinds.
  if (!path.empty() && denials_.size() < kMostKinds / 2) {
    denied.what = cat(denied.name, " of ", printable(path), " was refused: it is in no folder that may be written");
    denied.fix = grant_fix("--write ", path);
  }
  remember(denied);
  return result;
}

void NotifyListener::watch(const seccomp_notif& call) {
  auto names = named_files(call);
  // A caller that was killed meanwhile may have left its number to another process: what was read is not its own then.
  __u64 id = call.id;
  if (::ioctl(fd_.get(), SECCOMP_IOCTL_NOTIF_ID_VALID, &id) < 0) return;
  if (names) files_->add(*std::move(names));
  else files_->miss();
}

void NotifyListener::record(int nr, std::uint32_t arch, const __u64 (&args)[6]) {
  std::uint64_t copy[6];
  for (int i = 0; i < 6; ++i) copy[i] = args[i];
  remember(describe_denial(nr, arch, copy));
}

void NotifyListener::remember(const DeniedCall& call) {
  auto it = denials_.find(call.what);
  if (it != denials_.end()) {
    ++it->second.count;
  } else if (denials_.size() < kMostKinds) {
    Denial d;
    d.layer = "seccomp";
    d.subject = call.name;
    d.what = call.what;
    d.fix = call.fix;
    new_.push_back(d);
    denials_.emplace(call.what, std::move(d));
  } else {
    dropped_ = true;
  }
}

std::vector<Denial> NotifyListener::denials() const {
  std::vector<Denial> out;
  for (const auto& [what, denial] : denials_) out.push_back(denial);
  return out;
}

void NotifyListener::forget() {
  denials_.clear();
  new_.clear();
  dropped_ = false;
  served_ = 0;
}

}  // namespace hotcell
