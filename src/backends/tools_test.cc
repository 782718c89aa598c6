#include <gtest/gtest.h>

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "backends/posture.h"
#include "backends/probe.h"
#include "backends/scratch.h"
#include "backends/told.h"
#include "backends/tool_launcher.h"
#include "backends/tools.h"
#include "backends/walls.h"
#include "base/strings.h"
#include "sys/file.h"

namespace hotcell::backends {
namespace {

Request request_of(std::vector<std::string> argv) {
  Request r;
  r.id = "id";
  r.argv = std::move(argv);
  return r;
}

bool has_run(const std::vector<std::string>& argv, std::vector<std::string> part) {
  return std::search(argv.begin(), argv.end(), part.begin(), part.end()) != argv.end();
}

TEST(Backends, WhatCannotBeHeldIsKnownBefore) {
  Policy policy = default_policy();
  policy.filesystem.deny.push_back({"/work/.env", "--deny"});
  policy.network.mode = NetworkMode::kProxy;
  for (const Backend* b : all()) {
    std::vector<std::string> missing;
    for (const auto& h : unheld(*b, policy, {}))
      if (h.status == LayerStatus::kNone) missing.push_back(h.statement);
    EXPECT_EQ(missing, (std::vector<std::string>{"deny", "network"})) << b->name();
    for (const auto& h : unheld(*b, policy, {"deny", "network"})) EXPECT_NE(h.status, LayerStatus::kNone) << b->name() << " " << h.statement;
    for (const auto& h : b->judge(policy)) EXPECT_FALSE(h.detail.empty()) << b->name() << " " << h.statement;
  }
}

TEST(Backends, EveryStatementIsJudgedByEveryBackend) {
  for (const Backend* b : all()) {
    auto held = b->judge(default_policy());
    for (auto statement : kStatements)
      EXPECT_TRUE(std::any_of(held.begin(), held.end(), [&](const Held& h) { return h.statement == statement; })) << b->name() << " " << statement;
  }
}

TEST(Backends, AWaiverNamesAStatement) {
  EXPECT_TRUE(check_waivers({"deny", "network"}).ok());
  auto wrong = check_waivers({"netwrok"});
  ASSERT_FALSE(wrong.ok());
  EXPECT_NE(wrong.error().message.find("network"), std::string::npos) << wrong.error().message;
}

TEST(Bwrap, HasEveryNamespaceAndNoPrivilege) {
  auto plan = plan_tool(*bwrap(), default_policy(), request_of({"/bin/echo", "a b"}), "/s", 7);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const auto& a = plan.value().argv;
  for (auto flag : {"--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts", "--disable-userns", "--new-session", "--die-with-parent", "--as-pid-1", "--clearenv"})
    EXPECT_NE(std::find(a.begin(), a.end(), flag), a.end()) << flag;
  EXPECT_TRUE(has_run(a, {"--cap-drop", "ALL"}));
  EXPECT_TRUE(has_run(a, {"--seccomp", "9"}));
  EXPECT_TRUE(has_run(a, {"--bind", "/s/work", "/work"}));
  EXPECT_TRUE(has_run(a, {"--ro-bind", "/usr", "/usr"}));
  EXPECT_TRUE(has_run(a, {"--watch", "-", "/bin/echo", "a b"}));
  // As root there is nobody else of that uid, and mostly a cgroup; otherwise all that a user runs would count.
  if (::geteuid() == 0) EXPECT_TRUE(has_run(a, {"--", "/.hotcell/seal", "--watch"}));
  else EXPECT_TRUE(has_run(a, {"--", "/.hotcell/seal", cat("--tasks=", default_policy().limits.processes + 1), "--watch"}));
  EXPECT_EQ(plan.value().own_tasks, ::geteuid() != 0);
  // Nothing of the host's but what a native cell shows.
  EXPECT_EQ(std::count(a.begin(), a.end(), "/"), 1) << "only the remount of the root";
}

TEST(Bwrap, StrictWritesNowhere) {
  auto plan = plan_tool(*bwrap(), strict_policy(), request_of({"/bin/true"}), "/s", 7);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(has_run(plan.value().argv, {"--ro-bind", "/s/work", "/work"}));
  EXPECT_TRUE(has_run(plan.value().argv, {"--remount-ro", "/tmp"}));
  EXPECT_TRUE(has_run(plan.value().argv, {"--dev", "/dev", "--remount-ro", "/dev"})) << "/dev/shm";
  EXPECT_EQ(std::count(plan.value().argv.begin(), plan.value().argv.end(), "--bind"), 0);
}

TEST(Codex, WhatItsRootCannotHoldIsRefused) {
  auto files = [](const Policy& policy) {
    for (const auto& h : codex()->judge(policy))
      if (h.statement == "files") return h.status;
    return LayerStatus::kFull;
  };
  EXPECT_EQ(files(default_policy()), LayerStatus::kPartial);
  EXPECT_EQ(files(strict_policy()), LayerStatus::kNone) << "its /tmp can be written, whatever it is told";
}

TEST(Lxc, MakesThePlacesThatStandOnWhatItHasMountedBefore) {
  Policy policy = default_policy();
  policy.filesystem.grants.push_back({"/usr/bin", Access::kRead, ""});
  policy.filesystem.grants.push_back({"/usr/bin/env", Access::kRead, ""});
  auto plan = plan_tool(*lxc(), policy, request_of({"/bin/true"}), "/s", 7);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  auto conf = std::find_if(plan.value().pieces.begin(), plan.value().pieces.end(), [](const Piece& p) { return p.name == "lxc.conf"; });
  ASSERT_NE(conf, plan.value().pieces.end());
  EXPECT_NE(conf->bytes.find("/usr/bin usr/bin none bind,nosuid,nodev,ro,create=dir 0 0"), std::string::npos) << conf->bytes;
  EXPECT_NE(conf->bytes.find(" usr/bin/env none bind,nosuid,nodev,ro,create=file 0 0"), std::string::npos) << conf->bytes;
}

// Some tools would take them, and make folders in the host's root to mount our own parts on.
TEST(View, WhatANativeCellCannotBeGrantedNoToolIsAskedFor) {
  char folder[] = "/tmp/hotcell-view-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  for (auto [name, says] : {std::pair("/root", "/"), {"/proc", "/proc/self"}, {"/dev", "/dev"}}) ASSERT_EQ(::symlink(says, cat(folder, name).c_str()), 0);
  for (const Backend* b : all()) {
    auto asked = [&](const std::string& path, Access access) {
      Policy policy = default_policy();
      policy.filesystem.grants = {{path, access, "--grant"}};
      auto plan = plan_tool(*b, policy, request_of({"/bin/true"}), "/s", 7);
      return plan.ok() ? std::string("granted") : plan.error().message;
    };
    if (b->judge([] { Policy p = default_policy(); p.filesystem.grants = {{"/usr", Access::kRead, ""}}; return p; }())[0].status == LayerStatus::kNone) continue;
    for (const std::string& path : {std::string("/"), std::string("/proc"), std::string("/proc/1"), std::string("/dev"), std::string("/dev/kvm"), std::string("//dev/"),
                                    std::string("/usr/../proc"), std::string("/etc/passwd"), cat(folder, "/root"), cat(folder, "/proc"), cat(folder, "/dev")})
      for (auto access : {Access::kRead, Access::kWrite}) {
        EXPECT_NE(asked(path, access).find("--grant: "), std::string::npos) << b->name() << " " << path << ": " << asked(path, access);
        EXPECT_NE(asked(path, access).find("cannot be granted"), std::string::npos) << b->name() << " " << path << ": " << asked(path, access);
      }
  }
  for (auto name : {"/root", "/proc", "/dev"}) ::unlink(cat(folder, name).c_str());
  ::rmdir(folder);
}

TEST(View, NspawnIsToldOfOneMountForEachPlace) {
  Policy policy = default_policy();
  for (auto path : {"/tmp", "/run", "/sys", "/usr"}) policy.filesystem.grants.push_back({path, Access::kRead, ""});
  auto plan = plan_tool(*nspawn(), policy, request_of({"/bin/true"}), "/s", 7);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const auto& a = plan.value().argv;
  for (std::string_view path : {"/tmp", "/run", "/sys", "/usr"}) {
    EXPECT_EQ(std::count(a.begin(), a.end(), cat("--bind-ro=", path, ":", path)), 1) << path;
    EXPECT_EQ(std::count_if(a.begin(), a.end(), [&](const std::string& w) { return w.starts_with(cat("--tmpfs=", path, ":")); }), 0) << path;
  }
  auto bare = plan_tool(*nspawn(), default_policy(), request_of({"/bin/true"}), "/s", 7);
  ASSERT_TRUE(bare.ok());
  const auto& b = bare.value().argv;
  for (std::string_view path : {"/tmp", "/run", "/sys"})
    EXPECT_EQ(std::count_if(b.begin(), b.end(), [&](const std::string& w) { return w.starts_with(cat("--tmpfs=", path, ":")); }), 1) << path;
}

// Before the tools that do not see to it everywhere, and nothing where nothing is granted.
TEST(View, DevicesAreTakenOutOfWhatIsGrantedBeforeTheToolSeesIt) {
  for (const Backend* b : {crun(), runc(), runsc(), lxc(), nspawn()}) {
    Policy policy = default_policy();
    auto without = plan_tool(*b, policy, request_of({"/bin/true"}), "/s", 7);
    ASSERT_TRUE(without.ok()) << b->name() << without.error().message;
    EXPECT_NE(without.value().argv[0], "/s/harmless") << b->name();
    policy.filesystem.grants = {{"/var", Access::kWrite, ""}, {"/bin", Access::kRead, ""}};
    auto plan = plan_tool(*b, policy, request_of({"/bin/true"}), "/s", 7);
    ASSERT_TRUE(plan.ok()) << b->name() << plan.error().message;
    char real[PATH_MAX];
    ASSERT_NE(::realpath("/bin", real), nullptr);
    ASSERT_GT(plan.value().argv.size(), 4u);
    EXPECT_EQ(std::vector<std::string>(plan.value().argv.begin(), plan.value().argv.begin() + 4), (std::vector<std::string>{"/s/harmless", "/var", real, "--"})) << b->name();
    const auto& pieces = plan.value().pieces;
    EXPECT_TRUE(std::any_of(pieces.begin(), pieces.end(), [](const Piece& p) { return p.name == "harmless" && (p.mode & 0111) != 0 && !p.bytes.empty(); })) << b->name();
  }
}

TEST(View, EveryPartHasAPlaceWhenItsTurnComes) {
  Policy policy = default_policy();
  policy.filesystem.grants = {{"/etc", Access::kRead, ""}, {"/var/tmp", Access::kRead, ""}, {"/usr/bin", Access::kRead, ""}};
  auto plan = plan_tool(*crun(), policy, request_of({"/bin/true"}), "/s", 7);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  auto place = [&](std::string_view name) {
    auto it = std::find_if(plan.value().pieces.begin(), plan.value().pieces.end(), [&](const Piece& p) { return p.name == name; });
    return it == plan.value().pieces.end() ? std::optional<Piece::Kind>() : it->kind;
  };
  EXPECT_EQ(place("bundle/rootfs/etc"), Piece::Kind::kFolder);
  EXPECT_EQ(place("bundle/rootfs/etc/passwd"), Piece::Kind::kFile) << "it is mounted before /etc is mounted over it";
  EXPECT_EQ(place("bundle/rootfs/var/tmp"), Piece::Kind::kFolder) << "nothing can be mounted on a link";
  EXPECT_EQ(place("bundle/rootfs/usr/bin"), std::nullopt) << "/usr has it";
}

TEST(Told, ASignalAndAnExitCodeOfTheSameNumberAreTwoThings) {
  auto end = [](int code, std::optional<Told> told) {
    Verdict v{ExitReason::kExited, code, std::nullopt};
    name_the_end(v, told);
    return v;
  };
  auto same = [](const Verdict& a, const Verdict& b) { return a.reason == b.reason && a.exit_code == b.exit_code && a.signal == b.signal; };
  const Told exited = read_told(std::string_view("S\0E\x9f", 4)), killed = read_told(std::string_view("S\0K\x1f", 4)), silent = read_told(std::string_view("S\0", 2));
  EXPECT_TRUE(exited.started);
  EXPECT_EQ(exited.code, 159);
  EXPECT_TRUE(same(end(159, exited), {ExitReason::kExited, 159, std::nullopt}));
  EXPECT_TRUE(same(end(159, killed), {ExitReason::kPolicy, std::nullopt, SIGSYS}));
  EXPECT_TRUE(same(end(143, read_told(std::string_view("S\0K\x0f", 4))), {ExitReason::kSignal, std::nullopt, SIGTERM}));
  // The one that would have told was killed itself.
  EXPECT_TRUE(same(end(137, silent), {ExitReason::kSignal, std::nullopt, SIGKILL}));
  EXPECT_TRUE(same(end(159, silent), {ExitReason::kExited, 159, std::nullopt}));
  // A tool whose seal cannot tell: the number is all there is.
  EXPECT_TRUE(same(end(143, std::nullopt), {ExitReason::kSignal, std::nullopt, SIGTERM}));
  EXPECT_TRUE(same(end(7, std::nullopt), {ExitReason::kExited, 7, std::nullopt}));
  EXPECT_FALSE(read_told("").started);
  EXPECT_FALSE(read_told("E").code.has_value());
}

TEST(RunQuietly, WhatHangsIsEndedWithWhatItStarted) {
  auto scratch = Scratch::make(0);
  ASSERT_TRUE(scratch.ok()) << scratch.error().message;
  const std::string file = cat(scratch.value().path(), "/pid");
  EXPECT_FALSE(run_quietly({"/bin/sh", "-c", "trap '' TERM; sleep 1000 & echo $! > \"$0\"; wait", file}, 1));
  auto text = sys::read_file(file.c_str());
  ASSERT_TRUE(text.ok()) << text.error().message;
  const auto pid = parse_u64(trim(text.value())).value_or(0);
  ASSERT_GT(pid, 1u);
  // Whoever inherits it reaps it: until then it is there, and dead.
  auto dead = [&] {
    auto stat = sys::read_file(cat("/proc/", pid, "/stat").c_str());
    return !stat.ok() || stat.value().find(") Z") != std::string::npos;
  };
  for (int i = 0; i < 100 && !dead(); ++i) ::usleep(20'000);
  EXPECT_TRUE(dead());
}

TEST(Told, TheSealSaysThatItBeganAndHowItEnded) {
  auto scratch = Scratch::make(0);
  ASSERT_TRUE(scratch.ok()) << scratch.error().message;
  auto pieces = seal_pieces(default_policy());
  ASSERT_TRUE(pieces.ok());
  ASSERT_TRUE(scratch.value().write(pieces.value()).ok());
  ToldBy fd = open_told(scratch.value());
  ASSERT_TRUE(fd.valid());
  const std::string seal = cat(scratch.value().path(), "/sealed/.hotcell/seal");
  auto said = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {seal, "--watch"});
    run_quietly(words);
    return take_told(fd);
  };
  Told exited = said({"-", "/bin/sh", "-c", "exit 159"}), killed = said({"-", "/bin/sh", "-c", "kill -TERM $$"}), wrong = said({"/no/such/filter", "/bin/true"});
  EXPECT_TRUE(exited.started);
  EXPECT_EQ(exited.code, 159);
  EXPECT_TRUE(killed.started);
  EXPECT_EQ(killed.signal, SIGTERM);
  EXPECT_FALSE(wrong.started);
}

TEST(Told, BehindGvisorByFilesThatAreRead) {
  auto scratch = Scratch::make(0);
  ASSERT_TRUE(scratch.ok()) << scratch.error().message;
  EXPECT_FALSE(open_told(scratch.value()).valid()) << "there is neither a pipe nor a file";
  auto pieces = seal_pieces(default_policy());
  ASSERT_TRUE(pieces.ok());
  knocks_for_pipes(pieces.value());
  for (const auto& p : pieces.value()) EXPECT_NE(p.kind, Piece::Kind::kFifo) << p.name;
  ASSERT_TRUE(scratch.value().write(pieces.value()).ok());
  const std::string seal = cat(scratch.value().path(), "/sealed/.hotcell/seal");
  auto said = [&](std::vector<std::string> words) {
    ToldBy by = open_told(scratch.value());
    EXPECT_TRUE(by.valid());
    words.insert(words.begin(), {seal, "--watch"});
    run_quietly(words);
    return take_told(by);
  };
  auto end = [](int code, const Told& told) {
    Verdict v{ExitReason::kExited, code, std::nullopt};
    name_the_end(v, told);
    return v;
  };
  Told exited = said({"-", "/bin/sh", "-c", "exit 159"}), killed = said({"-", "/bin/sh", "-c", "kill -TERM $$"}), wrong = said({"/no/such/filter", "/bin/true"});
  EXPECT_TRUE(exited.started);
  EXPECT_EQ(end(159, exited).exit_code, 159);
  EXPECT_TRUE(killed.started);
  EXPECT_EQ(end(143, killed).signal, SIGTERM);
  EXPECT_FALSE(wrong.started);
  // What the program has read itself comes before what its seal reads when it is over.
  Told early = said({"-", "/bin/sh", "-c", cat("cat ", scratch.value().path(), "/sealed/.hotcell/killed; exit 159")});
  EXPECT_EQ(end(159, early).exit_code, 159);
}

TEST(Seal, LimitsThatAToolCouldNotLiveWithAreTheProgramsAlone) {
  auto scratch = Scratch::make(0);
  ASSERT_TRUE(scratch.ok()) << scratch.error().message;
  ASSERT_TRUE(scratch.value().write({seal_piece()}).ok());
  const std::string seal = cat(scratch.value().path(), "/sealed/.hotcell/seal");
  EXPECT_TRUE(run_quietly({seal, "--files=7", "--tasks=9000", "--watch", "-", "/bin/sh", "-c", "test $(ulimit -Hn) = 7"}));
  EXPECT_FALSE(run_quietly({seal, "--watch", "-", "/bin/sh", "-c", "test $(ulimit -Hn) = 7"})) << "the control";
  for (auto bad : {"--files=", "--files=x", "--files=7x", "--files=-7"}) EXPECT_FALSE(run_quietly({seal, bad, "-", "/bin/true"})) << bad;
  EXPECT_FALSE(run_quietly({seal, "--files=7", "--watch", "-"})) << "no program";

  Policy few = default_policy();
  few.limits.open_files = 20;
  auto plan = plan_tool(*crun(), few, request_of({"/bin/true"}), "/s", 7);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  auto config = std::find_if(plan.value().pieces.begin(), plan.value().pieces.end(), [](const Piece& p) { return p.name == "bundle/config.json"; });
  ASSERT_NE(config, plan.value().pieces.end());
  EXPECT_NE(config->bytes.find(R"("/.hotcell/seal","--files=20","--watch","-","/bin/true")"), std::string::npos);
  EXPECT_NE(config->bytes.find(R"({"type":"RLIMIT_NOFILE","hard":64,"soft":64})"), std::string::npos);
}

TEST(Memory, AnAllowanceThatIsNoSmallPartOfTheLimitIsTold) {
  auto memory = [](const Backend& backend, Bytes limit) {
    Policy policy = default_policy();
    policy.limits.memory = limit;
    for (const auto& h : backend.judge(policy))
      if (h.statement == "memory") return h;
    return Held{};
  };
  EXPECT_EQ(memory(*bwrap(), 64_MiB).status, LayerStatus::kFull);
  EXPECT_EQ(memory(*runsc(), 64_MiB).status, LayerStatus::kPartial);
  EXPECT_NE(memory(*runsc(), 64_MiB).detail.find("160 MiB more"), std::string::npos) << memory(*runsc(), 64_MiB).detail;
  EXPECT_EQ(memory(*codex(), 64_MiB).status, LayerStatus::kPartial);
  EXPECT_EQ(memory(*runsc(), 4096_MiB).status, LayerStatus::kFull);
}

TEST(Firejail, TheHostsTreeIsReadOnly) {
  auto plan = plan_tool(*firejail(), default_policy(), request_of({"/bin/true"}), "/s", 0);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_TRUE(has_run(plan.value().argv, {"--read-only=/"}));
  EXPECT_TRUE(has_run(plan.value().argv, {"--read-write=/tmp"}));
  EXPECT_TRUE(has_run(plan.value().argv, {"--", "/s/sealed/.hotcell/seal", "--watch", "/s/sealed/.hotcell/filter", "/usr/bin/env", "-i"})) << "our filter stands behind its own";
  for (auto path : {"/var", "/root", "/sys"}) EXPECT_TRUE(has_run(plan.value().argv, {cat("--blacklist=", path)})) << path;
  auto strict = plan_tool(*firejail(), strict_policy(), request_of({"/bin/true"}), "/s", 0);
  ASSERT_TRUE(strict.ok());
  for (const auto& word : strict.value().argv) EXPECT_FALSE(word.starts_with("--read-write")) << word;
  // What is mounted below / is not reached by the word for /.
  for (auto word : {"--read-only=/tmp", "--read-only=/dev/shm"}) EXPECT_TRUE(has_run(strict.value().argv, {word})) << word;
  EXPECT_GE(std::count_if(strict.value().argv.begin(), strict.value().argv.end(), [](const auto& w) { return w.starts_with("--read-only="); }), 5) << "and the workspace";
}

TEST(Nsjail, ArgumentsSayWhatThePolicySays) {
  Policy policy = default_policy();
  policy.limits.open_files = 77;
  auto plan = plan_tool(*nsjail(), policy, request_of({"/bin/echo", "a b"}), "/s", 7);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  const auto& a = plan.value().argv;
  EXPECT_TRUE(has_run(a, {"--mode", "o", "--really_quiet", "--hostname", "cell", "--user", cat(policy.uid), "--group", cat(policy.gid), "--time_limit", "0"}));
  EXPECT_TRUE(has_run(a, {"--rlimit_nofile", "77"}));
  EXPECT_TRUE(has_run(a, {"--iface_no_lo", "--disable_proc"}));
  EXPECT_TRUE(has_run(a, {"--bindmount_ro", "/usr:/usr"}));
  EXPECT_TRUE(has_run(a, {"--bindmount", "/s/work:/work"}));
  EXPECT_TRUE(has_run(a, {"--mount", "none:/proc:proc:"}));
  EXPECT_TRUE(has_run(a, {"--env", "HOME=/work"}));
  EXPECT_TRUE(has_run(a, {"--cwd", "/work", "--", "/.hotcell/seal", "--watch", "/.hotcell/filter"}));
  EXPECT_TRUE(has_run(a, {"/bin/echo", "a b"}));
  // Nothing that would keep a namespace of the host's, and no capability.
  for (const auto& word : a) EXPECT_FALSE(word.starts_with("--disable_clone") || word.starts_with("--keep") || word == "--cap") << word;
  auto strict = plan_tool(*nsjail(), strict_policy(), request_of({"/bin/true"}), "/s", 7);
  ASSERT_TRUE(strict.ok());
  EXPECT_TRUE(has_run(strict.value().argv, {"--bindmount_ro", "/s/work:/work"}));
  EXPECT_FALSE(plan_tool(*nsjail(), policy, request_of({"/bin/true"}), "/s:/etc", 7).ok()) << "a colon would be a second path";
}

TEST(Oci, TheBundleSaysWhatThePolicySays) {
  Policy policy = default_policy();
  policy.limits.open_files = 77;
  auto plan = plan_tool(*runc(), policy, request_of({"/bin/echo", "quo\"te"}), "/s", 7);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  auto it = std::find_if(plan.value().pieces.begin(), plan.value().pieces.end(), [](const Piece& p) { return p.name == "bundle/config.json"; });
  ASSERT_NE(it, plan.value().pieces.end());
  const std::string& json = it->bytes;
  for (auto part : {R"("readonly":true)", R"("noNewPrivileges":true)", R"("type":"RLIMIT_NOFILE","hard":77)", R"("type":"network")", R"("type":"user")",
                    R"("hostID":7)", R"("bounding":[])", R"("maskedPaths")", R"("defaultAction")", R"(quo\"te)"})
    EXPECT_NE(json.find(part), std::string::npos) << part;
  EXPECT_EQ(json.find("@seccomp@"), std::string::npos);
}

TEST(Lxc, TheConfigurationSaysWhatThePolicySays) {
  Policy policy = default_policy();
  policy.limits.open_files = 77;
  std::string odd = cat(::testing::TempDir(), "/odd\nlxc.cap.keep = all #");
  ASSERT_EQ(::mkdir(odd.c_str(), 0755), 0);
  policy.filesystem.grants.push_back({odd, Access::kRead, "--read"});
  auto plan = plan_tool(*lxc(), policy, request_of({"/bin/true"}), "/s", 7);
  ::rmdir(odd.c_str());
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  auto it = std::find_if(plan.value().pieces.begin(), plan.value().pieces.end(), [](const Piece& p) { return p.name == "lxc.conf"; });
  ASSERT_NE(it, plan.value().pieces.end());
  for (auto line : {"lxc.rootfs.options = ro\n", "lxc.net.0.type = empty\n", "lxc.cap.keep = none\n", "lxc.no_new_privs = 1\n", "lxc.prlimit.nofile = 77\n", "lxc.idmap = u 1000 7 1\n"})
    EXPECT_NE(it->bytes.find(line), std::string::npos) << line;
  // A name of a path is no second setting.
  EXPECT_EQ(it->bytes.find("\nlxc.cap.keep = all"), std::string::npos) << it->bytes;
  EXPECT_TRUE(has_run(plan.value().argv, {"--", "/.hotcell/seal", "--end-others", "/.hotcell/filter"}));
}

TEST(Settings, AreKnownNamesWithValues) {
  auto good = Settings::parse({"lxc.executable=/opt/lxc-execute", "lxc.instance=mine"});
  ASSERT_TRUE(good.ok()) << good.error().message;
  EXPECT_EQ(good.value().get("lxc.executable"), "/opt/lxc-execute");
  EXPECT_EQ(Settings().get("lxc.instance"), "hotcell");
  for (auto word : {"lxc.executable", "lxc.executable=", "lxc.exceutable=/x", "lxc.instance=a\nb", "=x"}) EXPECT_FALSE(Settings::parse({word}).ok()) << word;
  EXPECT_NE(Settings::parse({"lxc.exceutable=/x"}).error().message.find("lxc.executable"), std::string::npos);
}

TEST(Settings, AToolThatIsNotThereIsMissedByItsName) {
  auto settings = Settings::parse({"lxc.executable=/nowhere/lxc-execute"});
  auto opened = open_tool(*lxc(), {{}, false, settings.value()});
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.error().message.find("/nowhere/lxc-execute is not installed"), std::string::npos) << opened.error().message;
  auto strange = Settings::parse({"lxc.instance=a/../b"});
  EXPECT_FALSE(plan_tool(*lxc(), default_policy(), request_of({"/bin/true"}), "/s", 7, strange.value()).ok());
}

TEST(Posture, IsReadFromWhatTheProgramFound) {
  std::string inside = "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\nCapBnd:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n"
                       "ns_user:user:[1]\nns_pid:pid:[1]\nns_mnt:mnt:[1]\nns_net:net:[1]\nns_ipc:ipc:[1]\nns_uts:uts:[1]\nns_cgroup:cgroup:[1]\nroot:ro,nosuid\nhome:hidden\nshadow:hidden\n";
  for (const auto& l : read_posture(inside, *bwrap())) {
    bool landlock = l.layer == Layer::kLandlock || l.layer == Layer::kLandlockBroad;
    EXPECT_EQ(l.status, landlock ? LayerStatus::kNone : LayerStatus::kFull) << to_string(l.layer);
  }
  // What could not be read is not claimed.
  for (const auto& l : read_posture("", *bwrap())) EXPECT_NE(l.status, LayerStatus::kFull) << to_string(l.layer);
}

// A tool whose worth is a kernel of its own: one that lets the host's answer is found out, whatever filter it has put on.
TEST(Posture, AKernelOfItsOwnIsSeenNotBelieved) {
  auto here = [](const char* path) { return std::string(trim(sys::read_file(path).value())); };
  const std::string same = cat("Seccomp:\t2\nNoNewPrivs:\t1\nkernel:", here("/proc/version"), "\n");
  const std::string boot = cat("boot:", here("/proc/sys/kernel/random/boot_id"), "\n");
  auto filter = [](const std::string& inside) {
    for (const auto& l : read_posture(inside, *runsc()))
      if (l.layer == Layer::kSeccomp) return l;
    return LayerReport{};
  };
  EXPECT_EQ(filter("kernel:Linux version 4.4.0\nboot:\n").status, LayerStatus::kFull);
  EXPECT_EQ(filter(cat(same, boot)).status, LayerStatus::kNone);
  EXPECT_EQ(filter(cat(same, "boot:00000000-0000-4000-8000-000000000000\n")).status, LayerStatus::kNone) << "a boot id can be made up";
  EXPECT_EQ(filter(cat("kernel:Linux version 9\n", boot)).status, LayerStatus::kNone) << "so can a name";
  EXPECT_EQ(filter("").status, LayerStatus::kNone) << "and what says nothing is nothing";
}

TEST(Posture, WhatWasPromisedAndIsNotFoundIsRefused) {
  auto layers = [](std::optional<Layer> missing) {
    Posture found{};
    for (Layer l : {Layer::kUserNs, Layer::kPidNs, Layer::kMountNs, Layer::kNetNs, Layer::kRootfs, Layer::kSeccomp, Layer::kCapabilities, Layer::kNoNewPrivs})
      found.walls.push_back({l, l == missing ? LayerStatus::kNone : LayerStatus::kFull, "seen"});
    return found;
  };
  const std::pair<Layer, std::string_view> rows[] = {{Layer::kUserNs, "identity"}, {Layer::kPidNs, "processes"}, {Layer::kMountNs, "files"}, {Layer::kNetNs, "network"},
                                                     {Layer::kRootfs, "files"}, {Layer::kSeccomp, "syscalls"}, {Layer::kCapabilities, "identity"}, {Layer::kNoNewPrivs, "identity"}};
  EXPECT_TRUE(check_promises(*bwrap(), default_policy(), {}, layers({})).ok());
  for (auto [layer, statement] : rows) {
    auto refused = check_promises(*bwrap(), default_policy(), {}, layers(layer));
    ASSERT_FALSE(refused.ok()) << to_string(layer);
    EXPECT_NE(refused.error().message.find(cat(statement, ": ", to_string(layer))), std::string::npos) << refused.error().message;
    EXPECT_TRUE(check_promises(*bwrap(), default_policy(), {std::string(statement)}, layers(layer)).ok());
  }
  Policy on = default_policy();
  on.network.mode = NetworkMode::kHost;
  EXPECT_TRUE(check_promises(*bwrap(), on, {}, layers(Layer::kNetNs)).ok()) << "the host's network was asked for";
  EXPECT_TRUE(check_promises(*none(), default_policy(), {}, {}).ok()) << "it promises nothing";
  EXPECT_FALSE(check_promises(*bwrap(), default_policy(), {}, {}).ok()) << "nothing read is nothing held";
}

// What a policy requires of the ceilings is looked up in a run, too: where there is no cgroup they are less than full.
TEST(Posture, ARequiredCeilingIsAsItWasFound) {
  Policy policy = default_policy();
  policy.required = {Layer::kMemory};
  Posture found;
  EXPECT_FALSE(check_required(policy, found).ok());
  found.limits.push_back({Layer::kMemory, LayerStatus::kPartial, "by samples"});
  auto refused = check_required(policy, found);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("required layer memory is partial here: by samples"), std::string::npos) << refused.error().message;
  found.limits[0].status = LayerStatus::kFull;
  EXPECT_TRUE(check_required(policy, found).ok());
}

TEST(Posture, RlimitsAreThoseTheProgramHas) {
  Limits limits;
  limits.open_files = 77;
  const std::string rest = cat("fsize:", limits.disk.n / 512, "\ncore:0\nstack:", limits.stack.n / 1024, "\nas:unlimited\n");
  EXPECT_EQ(read_rlimits(cat("files:77\n", rest), limits).status, LayerStatus::kFull);
  EXPECT_EQ(read_rlimits("files:77\n", limits).status, LayerStatus::kPartial) << "of the others nothing is known";
  EXPECT_EQ(read_rlimits(cat("files:77\ncore:unlimited\n", rest), limits).status, LayerStatus::kPartial);
  limits.address_space = 1_GiB;
  EXPECT_EQ(read_rlimits(cat("files:77\n", rest), limits).status, LayerStatus::kPartial);
  limits.address_space.reset();
  EXPECT_EQ(read_rlimits("files:1024\n", limits).status, LayerStatus::kNone);
  EXPECT_EQ(read_rlimits("files:unlimited\n", limits).status, LayerStatus::kNone);
  EXPECT_EQ(read_rlimits("", limits).status, LayerStatus::kNone);
}

TEST(Backends, WhatIsNoWallSaysSoOfEveryStatement) {
  for (const Backend* b : {basic(), none()}) {
    EXPECT_FALSE(b->walls());
    for (const auto& h : b->judge(default_policy()))
      EXPECT_TRUE((h.statement != "files" && h.statement != "network" && h.statement != "syscalls") || h.status == LayerStatus::kNone) << b->name() << " " << h.statement;
    for (const auto& h : unheld(*b, default_policy(), {})) EXPECT_NE(h.status, LayerStatus::kNone) << "its name is what was asked for: " << h.statement;
  }
}

// What the caller has named as the folder is where the program starts: what it writes there must not go with the workspace.
TEST(Backends, WhatIsNoWallStartsInTheFolderThatWasNamed) {
  Policy policy = default_policy();
  policy.filesystem.grants = {{"/work/granted", Access::kWrite, "--write"}};
  for (const Backend* b : {basic(), none()})
    for (auto [said, expected] : std::initializer_list<std::pair<const char*, const char*>>{
             {"", "/s/work"}, {"/usr", "/usr"}, {"/work/sub", "/s/work/sub"}, {"/work/granted/x", "/work/granted/x"}, {"/workshop", "/workshop"}}) {
      Request request = request_of({"/bin/pwd", said});
      request.workdir = said;
      auto plan = plan_tool(*b, policy, request, "/s", 7);
      ASSERT_TRUE(plan.ok()) << plan.error().message;
      EXPECT_TRUE(has_run(plan.value().argv, {"-C", expected})) << b->name() << " " << said;
      EXPECT_EQ(plan.value().argv.back(), *said == '\0' ? "" : expected) << "words and folder are the same";
    }
}

TEST(Settings, AreOfSomeBackendsAndNoOthers) {
  auto root = Settings::parse({"oci.rootfs=/r"}).value();
  for (auto name : {"crun", "runc", "runsc", "oci"}) EXPECT_EQ(not_for(name, root, SettingsOf::kNamed), "") << name;
  for (auto name : {"native", "bwrap", "docker", "lxc", "vm", "none"})
    for (auto how : {SettingsOf::kNamed, SettingsOf::kCandidate})
      EXPECT_EQ(not_for(name, root, how), "it cannot do what oci.rootfs says; that is for crun, runc, runsc and oci") << name;
  // Where a tool is says nothing about another one.
  auto socket = Settings::parse({"docker.socket=/s"}).value();
  EXPECT_EQ(not_for("docker", socket, SettingsOf::kNamed), "");
  EXPECT_EQ(not_for("podman", socket, SettingsOf::kCandidate), "");
  EXPECT_NE(not_for("podman", socket, SettingsOf::kNamed), "");
  EXPECT_NE(not_for("bwrap", Settings::parse({"basic.shell=read_only"}).value(), SettingsOf::kCandidate), "") << "rules that nobody would look at";
  EXPECT_NE(not_for("runsc", Settings::parse({"vm.image=/i"}).value(), SettingsOf::kCandidate), "");
  EXPECT_EQ(not_for("bwrap", {}, SettingsOf::kNamed), "");
  // Whoever opens one by name is told, too; and of a choice each gets its own.
  for (auto name : {"native", "landlock", "podman", "bwrap", "vm"}) {
    auto opened = open_backend(name, {}, {{}, true, socket});
    ASSERT_FALSE(opened.ok()) << name;
    EXPECT_EQ(opened.error().message, cat("backend ", name, ": it cannot do what docker.socket says; that is for docker"));
  }
  auto both = Settings::parse({"docker.socket=/d", "oci.rootfs=/r", "runsc.platform=ptrace"}).value();
  EXPECT_EQ(both.of("runsc").text(), "oci.rootfs=/r runsc.platform=ptrace");
  EXPECT_EQ(both.of("docker").text(), "docker.socket=/d");
  EXPECT_EQ(both.of("native").text(), "");
}

// What only root has is not said to somebody else, and what root's id does not bring along is said to root.
TEST(Backends, WhatIsHeldIsOfThisUser) {
  const bool root = ::geteuid() == 0;
  auto row = [](std::string_view backend, std::string_view statement, const Policy& policy) {
    for (auto& h : held_of(backend, policy))
      if (h.statement == statement) return h;
    return Held{};
  };
  for (auto backend : {"native", "landlock", "bwrap", "firejail", "basic", "none"})
    for (auto statement : {"memory", "cpu"}) EXPECT_EQ(row(backend, statement, default_policy()).status, root ? LayerStatus::kFull : LayerStatus::kPartial) << backend;
  EXPECT_EQ(row("docker", "memory", default_policy()).status, LayerStatus::kFull) << "an engine is root whoever asks";
  EXPECT_EQ(row("basic", "identity", default_policy()).status, root ? LayerStatus::kFull : LayerStatus::kNone);
  Policy granted = default_policy();
  granted.filesystem.grants = {{"/srv", Access::kWrite, "--write"}};
  for (auto backend : {"landlock", "bwrap", "crun", "docker"}) {
    EXPECT_EQ(row(backend, "identity", granted).detail.find("root's own files stay shut") != std::string::npos, root) << backend;
    EXPECT_EQ(row(backend, "identity", default_policy()).detail.find("root's own"), std::string::npos) << backend;
  }
  for (auto backend : {"native", "vm", "none"}) EXPECT_EQ(row(backend, "identity", granted).detail.find("root's own"), std::string::npos) << backend;
}

TEST(Settings, SayHowLongATrialMayTake) {
  using std::chrono::milliseconds;
  auto said = Settings::parse({"codex.probe_timeout=70"}).value();
  EXPECT_EQ(patience_for("codex", said, milliseconds(5)), milliseconds(70));
  EXPECT_EQ(patience_for("bwrap", said, milliseconds(5)), milliseconds(5));
  EXPECT_EQ(patience_for("codex", {}, milliseconds(5)), milliseconds(5));
}

}  // namespace
}  // namespace hotcell::backends
