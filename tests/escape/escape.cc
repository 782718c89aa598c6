#include "escape/escape.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/kernel/apply.h"
#include "core/kernel/seccomp.h"
#include "core/kernel/seccomp_apply.h"
#include "core/launch/plan.h"

namespace hotcell::testing {
namespace {

std::vector<EscapeCase>& all_cases() {
  static std::vector<EscapeCase> cases;
  return cases;
}

const EscapeCase* find_case(std::string_view id) {
  for (const auto& c : all_cases())
    if (id == c.id) return &c;
  return nullptr;
}

int listen_on(int type, int& port) {
  int fd = ::socket(AF_INET, type | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0) ::abort();
  if (type == SOCK_STREAM && ::listen(fd, 8) != 0) ::abort();
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  port = ntohs(address.sin_port);
  return fd;
}

int listen_unix(const std::string& name) {
  int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, name.data(), std::min(name.size(), sizeof address.sun_path));
  auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  if (::bind(fd, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(fd, 8) != 0) ::abort();
  return fd;
}

// ---- layers by themselves, in a forked child -----------------------------------------------------------------------

const EscapeCase* g_case;  // what the child of in_child() is to try
const Policy* g_policy;

int probe_here() {
  if (::chdir(scene_path("work").c_str()) != 0) return -1;
  return g_case->probe();
}

int probe_in_namespaces() {
  // Root keeps its rights over the kernel: what a wall of ours must stop is what root could do.
  if (::unshare(is_root() ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS) != 0) return -1;
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return -1;
  return probe_here();
}

int probe_under_seccomp() {
  SeccompRequest request;
  request.notify = false;  // nobody listens here: what would be reported is answered EPERM by the filter itself
  auto filter = plan_seccomp(request);
  if (!filter.ok() || ::chdir(scene_path("work").c_str()) != 0) return -1;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  if (apply_seccomp(filter.value().insns.data(), static_cast<unsigned>(filter.value().insns.size()), 0) < 0) return -1;
  return g_case->probe();
}

// One of the two Landlock layers: the rules of the cell's own plan, on the host's tree; without those for the cell's
// private folders and its top folder, which are other folders here.
Layer g_layer;
int probe_under_landlock() {
  auto host = Host::look();
  if (!host.ok() || ::chdir(scene_path("work").c_str()) != 0) return -1;
  auto plan = make_plan(*g_policy, host.value(), BackendKind::kNative, PlanPurpose::kExplain);
  if (!plan.ok()) return -1;
  auto bytes = plan.value()->builder.bytes();
  if (!bytes.ok()) return -1;
  ApplyContext ctx{};
  ctx.base = bytes.value().data();
  for (int& slot : ctx.slots) slot = -1;
  PlanHeader header;
  std::memcpy(&header, ctx.base, sizeof header);
  int restricted = 0;
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
  for (unsigned i = 0; i < header.op_count; ++i) {
    Op op;
    std::memcpy(&op, ctx.base + sizeof header + i * sizeof op, sizeof op);
    std::string_view path = op.path ? ctx.text(op.path) : "";
    bool is_private = path == "/work" || path == "/tmp" || path == "/dev/shm" || path == "/";
    int done = 0;
    if (static_cast<Layer>(op.layer) != g_layer) continue;
    switch (static_cast<OpKind>(op.kind)) {
      case OpKind::kRuleset:
        done = apply_ruleset(ctx, op);
        break;
      case OpKind::kPathRule:
        done = is_private ? 0 : apply_path_rule(ctx, op);
        break;
      case OpKind::kPortRule:
        done = apply_port_rule(ctx, op);
        break;
      case OpKind::kRestrict:
        done = apply_restrict(ctx, op);
        ++restricted;
        break;
      default:
        break;
    }
    if (done < 0) return -1;
  }
  return restricted == 1 ? g_case->probe() : -1;
}

}  // namespace

Area::Area(std::initializer_list<EscapeCase> cases) { all_cases().insert(all_cases().end(), cases); }

void PrintTo(const EscapeCase& c, std::ostream* out) { *out << c.id << ": " << c.what; }

std::string scene_path(const char* relative) {
  const char* dir = ::getenv("S_DIR");
  return std::string(dir ? dir : "/nonexistent") + "/" + relative;
}
int scene_number(const char* name) {
  const char* text = ::getenv(name);
  return text ? std::atoi(text) : -1;
}

Scene::Scene() {
  for (const char* folder : {"ro", "rw", "rw/sub", "work", "private"}) ::mkdir(path(folder).c_str(), 0755);
  for (const char* file : {"secret", "ro/file", "ro/.env", "rw/file", "rw/sub/denied"})
    write_text(path(file), "host secret\n");
  victim_ = ::fork();
  if (victim_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    for (;;) ::pause();
  }
  tcp_ = listen_on(SOCK_STREAM, port_);
  udp_ = listen_on(SOCK_DGRAM, udp_port_);
  unix_ = listen_unix(path("sock"));
  abstract_ = listen_unix(std::string(1, '\0') + "hc-" + std::to_string(::getpid()));
  write_text(shm(), "host secret\n");
  // Left open without close-on-exec, as careless callers do.
  forgotten_ = ::open("/", O_RDONLY | O_DIRECTORY);
}

Scene::~Scene() {
  for (int fd : {tcp_, udp_, unix_, abstract_, forgotten_}) ::close(fd);
  ::unlink(shm().c_str());
  ::kill(victim_, SIGKILL);
  ::waitpid(victim_, nullptr, 0);
}

std::map<std::string, std::string> Scene::env(const std::string& work) const {
  return {{"S_DIR", dir_.path()},
          {"S_WORK", work},
          {"S_SHM", shm()},
          {"S_PID", std::to_string(victim_)},
          {"S_PORT", std::to_string(port_)},
          {"S_UDP", std::to_string(udp_port_)},
          {"S_FD", std::to_string(forgotten_)},
          {"S_ABSTRACT", "hc-" + std::to_string(::getpid())}};
}

Policy Scene::policy() const {
  Policy p = test_policy();
  p.filesystem.grants.push_back({path("ro"), Access::kRead, "scene"});
  p.filesystem.grants.push_back({path("rw"), Access::kWrite, "scene"});
  for (const char* denied : {"ro/.env", "rw/sub/denied", "rw/unborn"})
    p.filesystem.deny.push_back({path(denied), "scene"});
  return p;
}

HOTCELL_PROGRAM(escape) {
  const char* id = ::getenv("S_CASE");
  const EscapeCase* c = id ? find_case(id) : nullptr;
  if (c == nullptr) return 98;
  int answer = c->probe();
  ::dprintf(1, "answer %d\n", answer);
  return 0;
}

class Escape : public SceneTest, public ::testing::WithParamInterface<EscapeCase> {
 protected:
  int outside(int (*body)()) {
    g_case = &GetParam();
    Policy p = scene_->policy();
    g_policy = &p;
    return in_child(scene_->env(scene_->path("work")), body);
  }
  Report inside(const Policy& policy) {
    auto env = scene_->env("/work");
    env["S_CASE"] = GetParam().id;
    return run(policy, program("escape", env));
  }
  static std::string said(int answer) { return "answer " + std::to_string(answer) + "\n"; }
  static std::string words(int err) { return err > 0 ? ::strerror(err) : err == 0 ? "went through" : "did not run"; }
};

TEST_P(Escape, Control) {
  const Control& c = GetParam().control;
  int got = outside(c.where == Where::kHere ? probe_here : probe_in_namespaces);
  int want = is_root() ? c.root : c.user;
  ASSERT_NE(got, -1) << "the probe did not run";
  if (want == kAny) {
    EXPECT_NE(GetParam().denial, nullptr) << "then only the report can tell who refused it";
  } else if (want == kDiffers) {
    EXPECT_NE(got, GetParam().denied) << "outside it meets the same error: " << words(got);
  } else {
    EXPECT_EQ(got, want) << "outside: " << words(got);
  }
}

TEST_P(Escape, Denied) {
  Report report = inside(scene_->policy());
  EXPECT_EQ(report.out, said(GetParam().denied)) << describe(report);
  EXPECT_EQ(report.verdict.exit_code, 0) << describe(report);
  if (const char* name = GetParam().denial) {
    EXPECT_TRUE(has_denial(report, name)) << describe(report);
  }
}

constexpr int kNothingToTry = -3;  // what a probe needed first could not be had

// The other way to make a cell. It has no grants, so what is aimed at one of them is simply not there; and the made
// files are not even the cell user's own, so EACCES comes before EROFS.
TEST_P(Escape, DeniedWhenStamped) {
  auto env = scene_->env("/work");
  env["S_CASE"] = GetParam().id;
  Report report = run_stamped(default_policy(), carried_program("escape", env));
  bool aim_is_missing = report.out == said(ENOENT) || report.out == said(kNothingToTry);
  bool not_even_its_own = GetParam().denied == EROFS && report.out == said(EACCES);
  if (!aim_is_missing) {
    EXPECT_TRUE(report.out == said(GetParam().denied) || not_even_its_own) << describe(report);
    if (const char* name = GetParam().denial) {
      EXPECT_TRUE(has_denial(report, name)) << describe(report);
    }
  }
  EXPECT_EQ(report.verdict.exit_code, 0) << describe(report);
}

TEST_P(Escape, Alone) {
  const Alone& alone = GetParam().alone;
  if (alone.seccomp != kNotClaimed) {
    int got = outside(probe_under_seccomp);
    EXPECT_EQ(got, alone.seccomp) << "under seccomp alone: " << words(got);
  }
  if (alone.landlock != kNotClaimed) {
    for (Layer layer : {Layer::kLandlockBroad, Layer::kLandlock}) {
      g_layer = layer;
      int got = outside(probe_under_landlock);
      EXPECT_EQ(got, alone.landlock) << "under " << to_string(layer) << " alone: " << words(got);
    }
  }
  if (alone.structure != kNotClaimed) {
    Policy policy = scene_->policy();
    for (const char* layer : {"seccomp", "landlock", "landlock_broad"}) policy.audit[layer] = AuditMode::kObserve;
    Report report = inside(policy);
    EXPECT_EQ(layer_status(report, Layer::kSeccomp), LayerStatus::kNone);
    EXPECT_EQ(layer_status(report, Layer::kLandlock), LayerStatus::kNone);
    EXPECT_EQ(report.out, said(alone.structure)) << "without seccomp and Landlock: " << describe(report);
  }
  EXPECT_TRUE(alone.seccomp != kNotClaimed || alone.landlock != kNotClaimed || alone.structure != kNotClaimed)
      << "no layer claims to stop it";
}

INSTANTIATE_TEST_SUITE_P(Cell, Escape, ::testing::ValuesIn(all_cases()), [](const auto& each) {
  std::string name = each.param.id;
  for (char& c : name)
    if (c == '-') c = '_';
  return name;
});

}  // namespace hotcell::testing
