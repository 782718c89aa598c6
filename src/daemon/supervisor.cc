#include "daemon/supervisor.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>

#include "base/strings.h"
#include "cells/keeper/client.h"
#include "cells/keeper/folder.h"
#include "core/remote/launcher_process.h"
#include "daemon/control.h"
#include "daemon/notify.h"
#include "daemon/say.h"
#include "sys/file.h"
#include "sys/process.h"
#include "sys/socket.h"
#include "sys/spawn.h"

namespace hotcell::daemon {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto kStopWithin = 20s;       // a front that does not end by itself after what ran has is killed
constexpr auto kDeaf = 60s;             // so is one whose loop has stood still for this long
constexpr auto kQuiet = 12s;            // both are heard of every five seconds
constexpr std::size_t kMostSockets = 64;

// How soon to try again: at once at first, then slower, so that a program that cannot start does not spin.
class Backoff {
 public:
  Clock::time_point next(Clock::time_point now) {
    if (now - last_ > 30s) failures_ = 0;
    last_ = now;
    auto wait = failures_ == 0 ? 0ms : std::min<std::chrono::milliseconds>(50ms * (1 << std::min(failures_, 8)), 5s);
    ++failures_;
    return now + wait;
  }

 private:
  Clock::time_point last_{};
  int failures_ = 0;
};

class Supervisor {
 public:
  explicit Supervisor(const SupervisorOptions& options) : options_(options) {}

  Result<int> run() {
    say_json(options_.json_log);
    TRY(prepare());
    // A project that is half applied does not wait for the first question about cells.
    if (cells::left_unfinished(options_.state_dir)) connect_cells().ignore("whoever asks first starts it");
    while (!done()) {
      start_what_is_missing();
      TRY(wait());
    }
    if (front_.pid > 0) kill_child(front_);
    if (launcher_.pid > 0) end_launcher(launcher_, launcher_socket_);
    if (strong_.pid > 0) end_launcher(strong_, strong_socket_);
    if (options_.end_cells) end_cells();
    remove_names();
    notify("STOPPING=1");
    return exit_code_;
  }

 private:
  Result<void> prepare() {
    sys::raise_open_files();
    TRY_SET(launcher_program_, remote::find_program_of_ours("hotcell-launcher"));
    TRY_SET(front_program_, remote::find_program_of_ours("hotcell-front"));
    TRY_SET(readers_.verify, remote::find_program_of_ours("hotcell-verify"));
    // Without these the daemon works; who asks for an inspection or the network is told.
    if (auto found = remote::find_program_of_ours("hotcell-inspect"); found.ok()) readers_.inspect = found.value();
    if (auto found = remote::find_program_of_ours("hotcell-proxy"); found.ok()) readers_.proxy = found.value();
    if (auto found = remote::find_program_of_ours("hotcell-tls"); found.ok()) readers_.tls = found.value();
    if (const char* file = ::getenv("SSL_CERT_FILE"); file != nullptr) readers_.authorities = file;
    readers_.proxy_words = options_.proxy_words;
    TRY_SET(self_, sys::read_link("/proc/self/exe"));
    TRY_SET(null_, sys::open("/dev/null", O_RDWR));
    if (!options_.stdio) listening_ = activated_sockets();
    sigset_t set;
    sigemptyset(&set);
    for (int s : {SIGTERM, SIGINT, SIGHUP, SIGCHLD}) sigaddset(&set, s);
    if (::sigprocmask(SIG_BLOCK, &set, nullptr) != 0) return errno_error("sigprocmask", errno);
    signals_ = sys::Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!signals_.valid()) return errno_error("signalfd", errno);
    ::signal(SIGPIPE, SIG_IGN);
    return {};
  }

  bool done() const { return stopping_ && front_.pid == 0; }

  void start_what_is_missing() {
    auto now = Clock::now();
    if (launcher_.pid == 0 && !stopping_ && now >= launcher_at_) {
      if (auto started = start_launcher(); !started.ok()) {
        say(cat("the launcher cannot be started: ", started.error().message));
        launcher_at_ = launcher_backoff_.next(now);
      }
    }
    if (front_.pid == 0 && !stopping_ && now >= front_at_) {
      if (auto started = start_front(); !started.ok()) {
        say(cat("the front cannot be started: ", started.error().message));
        front_at_ = front_backoff_.next(now);
      }
    }
    hand_over_launcher();  // again, when the front had no room for it
    if (cells_wanted_ && front_.pid != 0 && !stopping_) hand_over_cells();
    if (strong_wanted_ && front_.pid != 0 && !stopping_) start_strong();
    if (ready_ && fact_.pid == 0 && !stopping_) gather_next_fact();
  }

  Result<void> start_launcher() {
    TRY_SET(remote::LauncherProcess process, remote::start_launcher(launcher_program_, options_.ceiling, readers_, {"hotcell-launcher", cat("backend=", options_.backend)}));
    launcher_ = std::move(process.child);
    launcher_socket_ = std::move(process.socket);
    hand_over_launcher();
    return {};
  }

  // The front owns the connection; a copy kept here would keep the launcher alive after the front has gone.
  void hand_over_launcher() {
    if (front_.pid == 0 || !launcher_socket_.valid()) return;
    int fd = launcher_socket_.get();
    auto sent = sys::send(control_.get(), std::string_view(&kLauncher, 1), std::span<const int>(&fd, 1));
    if (sent.ok()) launcher_socket_.reset();
  }

  // The keeper of lasting cells is nobody's child: it goes on when the daemon is restarted, and so do its cells. It is started
  // by whoever needs it first, here or `hotcell cell`. What the front may order is said before it has the connection.
  void hand_over_cells() {
    cells_wanted_ = false;
    auto made = connect_cells();
    if (!made.ok()) {
      sys::send(control_.get(), cat(kNoCells, made.error().message)).ignore("it asks again");
      return;
    }
    int fd = made.value().get();
    sys::send(control_.get(), std::string_view(&kCells, 1), std::span<const int>(&fd, 1)).ignore("it asks again");
  }
  Result<sys::Fd> connect_cells() {
    TRY_SET(auto client, cells::KeeperClient::connect(options_.state_dir, {self_, {"hotcell", "cell", "keeper"}}));
    TRY(client.send(cells::bind_ask(options_.cells)));
    return sys::duplicate(client.fd());
  }
  // Of a state folder that is about to be thrown away.
  void end_cells() {
    auto socket = cells::connect_in(cat(options_.state_dir, "/cells"), cells::kSocketName);
    if (!socket.ok()) return;
    cells::Ask ask;
    ask.verb = "end";
    cells::send_message(socket.value().get(), cells::pack(ask)).ignore("it has gone");
    pollfd p{socket.value().get(), POLLIN, 0};
    // Its end closes the connection; the answer comes before.
    char byte[4096];
    while (::poll(&p, 1, 10'000) > 0 && ::recv(socket.value().get(), byte, sizeof byte, 0) > 0) {
    }
  }

  Result<void> start_front() {
    TRY_SET(sys::SocketPair pair, sys::seqpacket_pair());
    TRY_SET(sys::Fd config, sys::memfd("hotcell-config", options_.config, false, true));
    sys::Spawn what;
    what.program = front_program_;
    what.argv = {"hotcell-front"};
    if (!listening_.empty()) what.argv.emplace_back("bound");
    if (!options_.home.empty()) what.argv.push_back(cat("home=", options_.home));
    if (options_.stdio) what.argv.emplace_back("stdio");
    if (options_.fixtures) what.argv.emplace_back("fixtures");
    if (!readers_.proxy.empty()) what.argv.emplace_back("proxy");
    for (const auto& word : readers_.proxy_words) what.argv.push_back(cat("proxy-word=", word));
    what.fds = {options_.stdio ? STDIN_FILENO : null_.get(), options_.stdio ? STDOUT_FILENO : null_.get(), STDERR_FILENO,
                pair.theirs.get(), config.get()};
    bound_.clear();  // of one that did not get as far as its walls: this one binds again
    TRY_SET(front_, sys::spawn(what));
    control_ = std::move(pair.ours);
    TRY(sys::set_nonblocking(control_.get()));
    cells_wanted_ = false;
    heard_ = Clock::now();
    // The old launcher's connections died with the old front, and the launcher with them.
    if (launcher_.pid != 0 && !launcher_socket_.valid()) end_launcher(launcher_, launcher_socket_);
    if (strong_.pid != 0) end_launcher(strong_, strong_socket_);
    tell_strong();
    if (launcher_.pid == 0) TRY(start_launcher());
    else hand_over_launcher();
    return {};
  }

  // Whatever reads from strangers is confined before the first of them can connect. The sockets are kept: the next front, if this
  // one dies, goes on with them, and nobody is turned away meanwhile. One that has its sockets cannot bring others.
  void hand_over_sockets() {
    if (listening_.empty()) {
      for (const auto& fd : bound_)
        if (auto done = sys::listen(fd.get()); !done.ok()) {
          sys::send(control_.get(), cat(kNotListening, done.error().message)).ignore("it has gone");
          return;
        }
      listening_ = std::move(bound_);
      remember_names();
    }
    bound_.clear();
    for (const auto& fd : listening_) {
      int number = fd.get();
      sys::send(control_.get(), std::string_view(&kListening, 1), std::span<const int>(&number, 1)).ignore("the next one gets it");
    }
    sys::send(control_.get(), cat(kListening, listening_.size())).ignore("it has gone");
  }

  // Of Unix sockets that were bound for us; systemd's are systemd's.
  void remember_names() {
    for (const auto& fd : listening_) {
      sockaddr_un own{};
      socklen_t size = sizeof own;
      struct stat st {};
      if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &size) < 0 || own.sun_family != AF_UNIX || own.sun_path[0] == 0) continue;
      const std::string path(own.sun_path, ::strnlen(own.sun_path, sizeof own.sun_path));
      if (::lstat(path.c_str(), &st) == 0 && S_ISSOCK(st.st_mode)) names_.push_back({path, st.st_dev, st.st_ino});
    }
  }
  // While we still listen: nobody else can have bound that name meanwhile, unless somebody took ours away.
  void remove_names() {
    for (const auto& name : names_) {
      struct stat st {};
      if (::lstat(name.path.c_str(), &st) == 0 && st.st_dev == name.device && st.st_ino == name.inode) ::unlink(name.path.c_str());
    }
  }

  Result<void> wait() {
    auto now = Clock::now();
    auto until = now + 5s;
    if (front_.pid == 0) until = std::min(until, front_at_);
    if (launcher_.pid == 0) until = std::min(until, launcher_at_);
    if (stopping_) until = std::min(until, kill_at_);
    if (watchdog_) until = std::min(until, next_ping_);
    pollfd fds[2] = {{signals_.get(), POLLIN, 0}, {control_.get(), POLLIN, 0}};
    auto ms = std::max<long long>(0, std::chrono::ceil<std::chrono::milliseconds>(until - now).count());
    if (::poll(fds, control_.valid() ? 2 : 1, static_cast<int>(ms)) < 0 && errno != EINTR) return errno_error("poll", errno);
    hear();
    take_signals();
    now = Clock::now();
    if (front_.pid != 0 && ready_ && now - heard_ > kDeaf) {
      say("the front does not answer any more");
      sys::signal_pidfd(front_.pidfd.get(), SIGKILL).ignore("it may have gone");
      heard_ = now;
    }
    if (stopping_ && front_.pid != 0 && now >= kill_at_) {
      sys::signal_pidfd(front_.pidfd.get(), SIGKILL).ignore("it may have gone");
      kill_at_ = now + kStopWithin;
    }
    // Only as long as both are heard of: a daemon that answers nobody, or runs nothing, is to be restarted.
    if (watchdog_ && now >= next_ping_) {
      const auto patience = std::max<Clock::duration>(kQuiet, *watchdog_);
      if (now - heard_ < patience && now - launcher_heard_ < patience) notify("WATCHDOG=1");
      next_ping_ = now + *watchdog_;
    }
    return {};
  }

  void hear() {
    while (control_.valid()) {
      char buffer[8192];
      auto message = sys::receive(control_.get(), buffer, MSG_DONTWAIT);
      if (!message.ok() || message.value().size == 0) {
        if (!message.ok() || !message.value().again) control_.reset();
        return;
      }
      heard_ = Clock::now();
      std::string_view text(buffer + 1, message.value().size - 1);
      if (buffer[0] == kBound && bound_.size() < kMostSockets)
        for (auto& fd : message.value().fds) bound_.push_back(std::move(fd));
      if (buffer[0] == kConfined) hand_over_sockets();
      if (buffer[0] == kReady) became_ready(text);
      if (buffer[0] == kAlive && text == kLauncherToo) launcher_heard_ = heard_;
      if (buffer[0] == kCells) cells_wanted_ = true;
      if (buffer[0] == kStrong) strong_wanted_ = true;
    }
  }

  void became_ready(std::string_view addresses) {
    for (auto line : split(addresses, '\n'))
      if (!line.empty() && !ready_) say(cat("listening on ", line), "info");
    if (options_.ready_fd >= 0 && !ready_) {
      sys::Fd fd(options_.ready_fd);
      sys::write_all(fd.get(), cat(addresses, "\n")).ignore("whoever wanted to know has gone");
    }
    if (!ready_) {
      notify(cat("READY=1\nSTATUS=", addresses.substr(0, addresses.find('\n'))));
      watchdog_ = watchdog_every();
      next_ping_ = launcher_heard_ = Clock::now();
      if (options_.gather_facts) facts_ = {"languages", "strong", "backends", "doctor"};
    }
    ready_ = true;
  }

  void take_signals() {
    signalfd_siginfo info;
    while (::read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      if (info.ssi_signo == SIGCHLD) continue;
      if (info.ssi_signo == SIGHUP) {
        if (ready_ && options_.gather_facts) facts_ = {"languages", "strong", "backends", "doctor"};
        continue;
      }
      if (stopping_) kill_at_ = Clock::now();  // asked twice
      else stop();
    }
    reap();
  }

  void stop() {
    stopping_ = true;
    kill_at_ = Clock::now() + options_.drain + kStopWithin;
    notify("STOPPING=1");
    // Before the launcher, which clears away what it leaves.
    facts_.clear();
    if (fact_.pid != 0) kill_child(fact_);
    if (control_.valid()) sys::send(control_.get(), std::string_view(&kStop, 1)).ignore("it has gone");
  }

  void reap() {
    if (int status = 0; has_ended(front_, status)) {
      control_.reset();
      const bool refused = WIFEXITED(status) && WEXITSTATUS(status) == 125 && !ready_;
      const bool finished = WIFEXITED(status) && WEXITSTATUS(status) == 0;
      if (stopping_ || finished || refused) {
        // MCP over stdio ends when its client does; a front that cannot start at all has said why.
        exit_code_ = refused ? 125 : 0;
        stopping_ = true;
      } else {
        say(WIFSIGNALED(status) ? cat("the front was ended by signal ", WTERMSIG(status), "; starting another")
                                : cat("the front ended with ", WEXITSTATUS(status), "; starting another"));
        front_at_ = front_backoff_.next(Clock::now());
      }
    }
    if (int status = 0; has_ended(launcher_, status)) {
      launcher_socket_.reset();
      if (!stopping_ && front_.pid != 0) {
        // A front that refuses to start lets go of it, and may still be on its way out; it has said why.
        if (ready_ || !WIFEXITED(status) || WEXITSTATUS(status) != 0) say("the launcher has stopped; starting another");
        launcher_at_ = launcher_backoff_.next(Clock::now());
      }
    }
    // By itself, when the front has let it go.
    if (int status = 0; has_ended(strong_, status)) strong_socket_.reset();
    if (int status = 0; has_ended(fact_, status)) finish_fact(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }

  static bool has_ended(sys::Child& child, int& status) {
    if (child.pid == 0) return false;
    auto reaped = sys::reap(child.pid, false);
    if (!reaped.ok() || !reaped.value()) return false;
    status = reaped.value()->status;
    child = {};
    return true;
  }

  static void kill_child(sys::Child& child) {
    sys::signal_pidfd(child.pidfd.get(), SIGKILL).ignore("it may have gone");
    sys::reap(child.pid, true).ignore("gone either way");
    child = {};
  }

  // By itself, so that it takes its cells down in order, but not for ever.
  static void end_launcher(sys::Child& launcher, sys::Fd& socket) {
    socket.reset();
    pollfd p{launcher.pidfd.get(), POLLIN, 0};
    ::poll(&p, 1, 5000);
    kill_child(launcher);
  }

  // --- the strong tier: a launcher with the strongest walls of this host, for as long as something runs behind them ---

  void tell_strong() {
    if (control_.valid() && !strong_words_.empty()) sys::send(control_.get(), cat(kStrong, strong_words_)).ignore("the next front is told");
  }
  void learn_strong(bool good) {
    ::lseek(strong_said_.get(), 0, SEEK_SET);
    auto said = sys::read_fd(strong_said_.get(), 64u << 10);
    strong_said_.reset();
    std::vector<std::string_view> lines = split(said.ok() ? std::string_view(said.value()) : std::string_view(), '\n');
    good = good && lines.size() >= 2;
    strong_backend_ = good ? std::string(lines[0]) : std::string();
    // What it says of itself is shown to people, not believed in: a name of ours, a line each.
    strong_words_ = good ? cat("+", lines[0], ": ", lines[1]) : cat("-", lines.empty() || lines[0].empty() ? std::string_view("no backend could be tried") : lines[0]);
    tell_strong();
  }
  void start_strong() {
    strong_wanted_ = false;
    auto refuse = [this](std::string_view why) { sys::send(control_.get(), cat(kNoStrong, why)).ignore("it asks again"); };
    if (strong_backend_.empty()) return refuse("no strong backend works here");
    if (strong_.pid != 0) end_launcher(strong_, strong_socket_);
    auto process = remote::start_launcher(self_, options_.ceiling, readers_, {"hotcell", "backend", "launcher", strong_backend_}, true);  // where caches are
    if (!process.ok()) return refuse(process.error().message);
    strong_ = std::move(process.value().child);
    strong_socket_ = std::move(process.value().socket);
    int fd = strong_socket_.get();
    sys::send(control_.get(), std::string_view(&kStrong, 1), std::span<const int>(&fd, 1)).ignore("it asks again");
    strong_socket_.reset();
  }

  // --- what the host can do, in files that the front shows ---

  void gather_next_fact() {
    if (facts_.empty()) return;
    fact_name_ = facts_.front();
    facts_.pop_front();
    if (fact_name_ == "strong") return choose_strong();
    // The folder is the front's to change: nothing in it may lead us elsewhere.
    std::string folder = cat(options_.state_dir, "/facts");
    ::mkdir(folder.c_str(), 0700);
    auto opened = sys::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    if (!opened.ok()) return;
    facts_folder_ = std::move(opened).value();
    std::string name = fact_name_ + ".json.new";
    ::unlinkat(facts_folder_.get(), name.c_str(), 0);
    auto out = sys::open_at(facts_folder_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    if (!out.ok()) return;
    if (fact_name_ == "doctor") spawn_fact({"hotcell", "doctor", "--json"}, out.value().get());
    else spawn_fact({"hotcell", fact_name_ == "languages" ? "language" : "backend", "list", "--json"}, out.value().get());
  }

  // Not by a file in a folder of the front's: what it says is acted upon.
  void choose_strong() {
    auto out = sys::memfd("hotcell-strong", {}, false, false);
    if (!out.ok()) return;
    strong_said_ = std::move(out).value();
    spawn_fact({"hotcell", "backend", "strongest"}, strong_said_.get());
  }

  void spawn_fact(std::vector<std::string> argv, int out) {
    sys::Spawn what;
    what.program = self_;
    what.keep_environment = true;
    what.argv = std::move(argv);
    what.fds = {null_.get(), out, null_.get()};
    auto child = sys::spawn(what);
    if (!child.ok()) return;
    fact_ = std::move(child).value();
    // Nobody waits for it.
    ::setpriority(PRIO_PROCESS, static_cast<id_t>(fact_.pid), 10);
  }

  void finish_fact(bool good) {
    if (fact_name_ == "strong") return learn_strong(good);
    const std::string name = fact_name_ + ".json", fresh = name + ".new";
    // `doctor` exits with 1 when something is missing, and has told what.
    struct stat s {};
    const bool there = ::fstatat(facts_folder_.get(), fresh.c_str(), &s, AT_SYMLINK_NOFOLLOW) == 0 && s.st_size > 0;
    if ((good || fact_name_ == "doctor") && there)
      ::renameat(facts_folder_.get(), fresh.c_str(), facts_folder_.get(), name.c_str());
    else ::unlinkat(facts_folder_.get(), fresh.c_str(), 0);
  }

  SupervisorOptions options_;
  std::string launcher_program_, front_program_, self_;
  remote::ReaderPrograms readers_;
  sys::Fd null_, signals_, control_, launcher_socket_, strong_socket_, strong_said_, facts_folder_;
  std::vector<sys::Fd> listening_, bound_;
  struct Name {
    std::string path;
    dev_t device;
    ino_t inode;
  };
  std::vector<Name> names_;
  sys::Child launcher_, strong_, front_, fact_;
  std::string strong_backend_, strong_words_;   // which, and what the front is told of it
  std::string fact_name_;
  std::deque<std::string> facts_;
  Backoff launcher_backoff_, front_backoff_;
  Clock::time_point launcher_at_{}, front_at_{}, kill_at_{}, heard_{}, launcher_heard_{}, next_ping_{};
  std::optional<std::chrono::microseconds> watchdog_;
  bool ready_ = false, stopping_ = false, cells_wanted_ = false, strong_wanted_ = false;
  int exit_code_ = 0;
};

}  // namespace

Result<int> supervise(const SupervisorOptions& options) { return Supervisor(options).run(); }

}  // namespace hotcell::daemon
