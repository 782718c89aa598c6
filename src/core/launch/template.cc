#include "core/launch/template.h"

#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/strings.h"
#include "core/kernel/lsm.h"
#include "core/launch/idmap.h"
#include "core/launch/ids.h"
#include "sys/fault.h"
#include "sys/socket.h"

namespace hotcell {
namespace {

constexpr std::size_t kMostAsked = 16;
constexpr timeval kPatience{10, 0};  // a clone takes a fifth of a millisecond; a stuck file system must not hang us

template <typename T>
Result<T> receive_one(int socket, std::size_t least, int flags = 0) {
  T out{};
  TRY_SET(sys::Message m, sys::receive(socket, {reinterpret_cast<char*>(&out), sizeof out}, flags));
  if (m.again) return make_error(ErrorCode::kIo, "the template does not answer");
  if (m.size < least) return make_error(ErrorCode::kInternal, m.size == 0 ? "the template is gone" : "the template sent a short record");
  return out;
}

}  // namespace

bool Template::suits(const Plan& plan, const Host& host) {
  // On v2 a cell is born in its cgroup, which only a process with rights over that folder can do. A security module's
  // profile is asked for through a /proc that a stamped cell does not have.
  return plan.backend == BackendKind::kNative && plan.grants.grants.empty() && plan.grants.masks.empty() &&
         host.cgroup.version != CgroupVersion::kV2 && !plan.policy.time_ns && !choose_lsm(host.lsm).transition;
}

Result<std::shared_ptr<Template>> Template::create(const Plan& plan, const Host& host, int init_fd) {
  std::shared_ptr<Template> out(new Template);
  TRY_SET(sys::SocketPair ctl, sys::seqpacket_pair());
  ChildFds fds;
  fds.ctl = fds.prog = ctl.theirs.get();
  TRY_SET(out->child_, start_init(plan, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWIPC | (plan.clone_flags & CLONE_NEWNET), init_fd, -1, fds));
  out->socket_ = std::move(ctl.ours);
  ctl.theirs.reset();
  if (::setsockopt(out->socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience) < 0) return errno_error("SO_RCVTIMEO", errno);
  TRY(write_template_maps(out->child_.pid, plan.policy, host));
  TRY(sys::send(out->socket_.get(), {&kBeTemplate, 1}));
  TRY_SET(Record record, receive_one<Record>(out->socket_.get(), offsetof(Record, op_ns)));
  if (record.type != RecordType::kReady) return make_error(ErrorCode::kInternal, cat("template: operation ", record.op, ": ", ::strerror(record.err)));
  return out;
}

Template::~Template() {
  if (child_.pid == 0) return;
  sys::signal_pidfd(child_.pidfd.get(), SIGKILL).ignore("it also ends when the socket closes");
  sys::reap(child_.pid, true).ignore("a destructor has nobody to tell");
  // A clone of which it died before it could tell is our child all the same, in its process group, and ends by itself.
  while (::waitpid(-child_.pid, nullptr, __WALL) > 0) {
  }
}

Result<void> Template::ask_for_cell(const ChildFds& fds, unsigned cell_id, bool will_wait, Stamp& stamp) {
  if (int e = sys::fault("template_make")) return errno_error("template", e);
  // Descriptors under way count against what a user may have of them.
  if (asked_.size() >= kMostAsked) settle(*asked_.front());
  if (dead_) return make_error(ErrorCode::kInternal, "the template is gone");
  TemplateRequest request = ask(TemplateAsk::kMakeCell);
  request.will_wait = will_wait ? 1 : 0;
  request.id = cell_id >= kFirstId ? cell_id - kFirstId + 1 : 0;
  std::vector<int> sent(fds.standard, fds.standard + 3);
  sent.push_back(fds.ctl);
  sent.push_back(fds.prog);
  sent.push_back(fds.lock >= 0 ? fds.lock : fds.ctl);
  sent.insert(sent.end(), fds.inherited.begin(), fds.inherited.end());
  auto told = sys::send(socket_.get(), {reinterpret_cast<const char*>(&request), sizeof request}, sent);
  dead_ = !told.ok();
  TRY(std::move(told));
  stamp.awaited = true;
  asked_.push_back(&stamp);
  return {};
}

Result<Template::Made> Template::read_answer(bool wait) {
  if (silent_) return make_error(ErrorCode::kInternal, "the template is gone");
  // What it said before it died counts: that cell is there.
  auto answer = receive_one<TemplateReply>(socket_.get(), sizeof(TemplateReply), wait && !dead_ ? 0 : MSG_DONTWAIT);
  if (!answer.ok()) give_up();
  TRY_SET(TemplateReply reply, std::move(answer));
  spare_ = reply.spare;
  // What is short may be there again; everything else it will not learn.
  refuses_ = reply.err != 0 && reply.err != EAGAIN && reply.err != ENOMEM && reply.err != EMFILE && reply.err != ENFILE && reply.err != EINTR;
  if (reply.err != 0) return errno_error("clone from the template", reply.err);
  Made made;
  made.net = reply.net;
  made.child.pid = reply.pid;
  // It is our own child and nobody else reaps it, so the number cannot have passed to another; what is no child of ours is not killed.
  siginfo_t state{};
  if (::waitid(P_PID, static_cast<id_t>(reply.pid), &state, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0) return errno_error("waitid of a stamped cell", errno);
  made.child.pidfd = sys::Fd(static_cast<int>(::syscall(SYS_pidfd_open, reply.pid, 0)));
  if (!made.child.pidfd.valid()) {
    int err = errno;
    ::kill(reply.pid, SIGKILL);
    sys::reap(reply.pid, true).ignore("what went wrong is told below");
    return errno_error("pidfd_open", err);
  }
  return made;
}

void Template::give_up() {
  dead_ = silent_ = true;
  sys::signal_pidfd(child_.pidfd.get(), SIGKILL).ignore("it may be dead already");
}

void Template::settle(Stamp& stamp, bool wait) {
  while (!stamp.made && !asked_.empty()) {
    Stamp& first = *asked_.front();
    asked_.pop_front();
    first.made = read_answer(wait);
  }
}

TemplateRequest Template::ask(TemplateAsk what) {
  TemplateRequest request{};
  request.ask = what;
  while (!backs_.empty() && request.backs < kMostBacks) {
    request.back[request.backs++] = backs_.back();
    backs_.pop_back();
  }
  return request;
}

void Template::give_back(int net) {
  backs_.push_back(net);
  if (backs_.size() >= kMostBacks) flush();
}

void Template::flush() {
  TemplateRequest request = ask(TemplateAsk::kTakeBack);
  dead_ = dead_ || !sys::send(socket_.get(), {reinterpret_cast<const char*>(&request), sizeof request}).ok();
}

void Template::stock_net() {
  TemplateRequest request = ask(TemplateAsk::kStockNet);
  if (sys::send(socket_.get(), {reinterpret_cast<const char*>(&request), sizeof request})) ++spare_;
  else dead_ = true;
}

}  // namespace hotcell
