// `shell`: a terminal in a cell for people, and single commands in a kept shell for programs.
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/json_write.h"
#include "base/strings.h"
#include "cli/cell.h"
#include "cli/commands.h"
#include "cli/output_sink.h"
#include "cli/say.h"
#include "cli/state.h"
#include "core/policy/units.h"
#include "sys/file.h"

namespace hotcell {
namespace {

constexpr char kLeave = 0x1d;            // Ctrl-]
constexpr int kAwaitingInput = 75;       // EX_TEMPFAIL: it goes on when it is given its line

volatile sig_atomic_t g_resized = 0;

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

class RawTerminal {
 public:
  RawTerminal() {
    if (::tcgetattr(STDIN_FILENO, &before_) < 0) return;
    termios raw = before_;
    ::cfmakeraw(&raw);
    set_ = ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw) == 0;
  }
  ~RawTerminal() {
    if (set_) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
  }
  RawTerminal(const RawTerminal&) = delete;
  RawTerminal& operator=(const RawTerminal&) = delete;

 private:
  termios before_{};
  bool set_ = false;
};

cells::Ask session_ask(std::string verb, const std::string& cell, const std::string& session) {
  cells::Ask ask = cell_ask(std::move(verb), cell);
  ask.fields["session"] = session;
  return ask;
}

void add_size(cells::Ask& ask) {
  winsize size{};
  if (::ioctl(STDIN_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0) return;
  ask.fields["rows"] = cat(size.ws_row);
  ask.fields["columns"] = cat(size.ws_col);
}

// What comes from the cell goes to the terminal as it is: editors and pagers need it. Whoever attaches to a cell's
// terminal trusts their own to obey it, as with ssh.
Result<int> attach(cells::KeeperClient& keeper, const std::string& cell, const std::string& session) {
  if (::isatty(STDIN_FILENO) == 0 || ::isatty(STDOUT_FILENO) == 0)
    return bad(cat("shell: standard input and output are no terminal; for single commands: hotcell shell ", printable(cell), " -- COMMAND"));
  cells::Ask open = session_ask("shell.open", cell, session);
  open.fields["kind"] = "terminal";
  open.fields["reuse"] = "1";
  if (const char* term = ::getenv("TERM")) open.env["TERM"] = term;
  add_size(open);
  TRY(keeper.ask(std::move(open)));
  std::vector<sys::Fd> fds;
  TRY(keeper.ask(session_ask("shell.attach", cell, session), {}, &fds));
  if (fds.empty()) return make_error(ErrorCode::kInternal, "the keeper gave no connection to the shell");
  sys::Fd line = std::move(fds[0]);
  say(cat("attached to ", printable(cell), "; Ctrl-] leaves, the shell goes on"));
  struct sigaction resized {};
  resized.sa_handler = [](int) { g_resized = 1; };
  ::sigaction(SIGWINCH, &resized, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  g_resized = 1;
  RawTerminal raw;
  char bytes[16 << 10];
  for (;;) {
    if (g_resized != 0) {
      g_resized = 0;
      cells::Ask resize = session_ask("shell.resize", cell, session);
      add_size(resize);
      keeper.ask(std::move(resize)).ignore("the old size does for a while");
    }
    pollfd ready[2] = {{STDIN_FILENO, POLLIN, 0}, {line.get(), POLLIN, 0}};
    if (::poll(ready, 2, -1) < 0) continue;
    if (ready[1].revents != 0) {
      ssize_t n = ::read(line.get(), bytes, sizeof bytes);
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return 0;
      if (n > 0) TRY(sys::write_all(STDOUT_FILENO, {bytes, static_cast<std::size_t>(n)}));
    }
    if (ready[0].revents == 0) continue;
    ssize_t n = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (n <= 0) return 0;
    std::string_view typed(bytes, static_cast<std::size_t>(n));
    auto leave = typed.find(kLeave);
    for (std::string_view rest = typed.substr(0, leave); !rest.empty();) {
      ssize_t sent = ::send(line.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EAGAIN) ::poll(nullptr, 0, 5);
      else if (sent < 0 && errno != EINTR) return 0;
      if (sent > 0) rest.remove_prefix(static_cast<std::size_t>(sent));
    }
    if (leave != typed.npos) return 0;
  }
}

std::string field(const cells::Told& told, const char* name) {
  auto it = told.fields.find(name);
  return it == told.fields.end() ? std::string() : it->second;
}

Result<int> show(const cells::Told& told, const std::string& cell, bool json) {
  std::string state = field(told, "state");
  int code = static_cast<int>(parse_u64(field(told, "exit_code")).value_or(125));
  if (state == "timeout") code = 124;
  if (state == "awaiting_input") code = kAwaitingInput;
  if (json) {
    JsonWriter w;
    w.begin_object();
    w.field("state", std::string_view(state));
    w.key("exit_code");
    if (auto given = parse_u64(field(told, "exit_code"))) w.value(*given);
    else w.null();
    w.field("output", std::string_view(told.text));
    w.field("truncated", field(told, "truncated") == "1");
    w.field("duration", parse_u64(field(told, "duration_ns")).value_or(0));
    if (state == "awaiting_input") w.field("echo", field(told, "echo") == "1");
    w.end_object();
    if (int failed = print(w.take() + "\n"); failed != 0) return failed;
    return code;
  }
  OutputSink out(STDOUT_FILENO);
  out.push(told.text, OutputSink::Clock::now() + std::chrono::hours(1));
  out.finish();
  if (state == "timeout") say("the command ran too long and was interrupted; the shell goes on");
  if (state == "awaiting_input") say(cat("the command waits for input; hotcell shell ", printable(cell), " --input TEXT"));
  if (state == "ended") say("the shell ended");
  return code;
}

// It does one thing: what would be left undone is refused.
Result<void> check_options(const Parsed& parsed) {
  std::string_view what = parsed.dashes ? "-- COMMAND" : "";
  for (auto [option, name] : {std::pair{Opt::kInput, "--input"}, std::pair{Opt::kInterrupt, "--interrupt"}, std::pair{Opt::kHistory, "--history"},
                              std::pair{Opt::kClose, "--close"}}) {
    if (!parsed.has(option)) continue;
    if (!what.empty()) return bad(cat("shell: ", what, " and ", std::string_view(name), " do not go together"));
    what = name;
  }
  if (parsed.has(Opt::kTimeout) && !parsed.dashes) return bad("shell: --timeout goes with -- COMMAND");
  if (parsed.has(Opt::kJson) && (what.empty() || what == "--interrupt" || what == "--close"))
    return bad("shell: --json goes with -- COMMAND, --input and --history");
  return {};
}

Result<int> dispatch(const Parsed& parsed) {
  if (parsed.words.empty()) return bad("shell: which cell? give its name or its id");
  std::string cell(parsed.words[0]);
  bool commands = parsed.dashes || parsed.has(Opt::kInput) || parsed.has(Opt::kInterrupt) || parsed.has(Opt::kHistory) ||
                  parsed.has(Opt::kClose);
  TRY(check_options(parsed));
  std::string session(parsed.last(Opt::kSession).value_or(commands ? "agent" : "main"));
  if (!parsed.dashes && parsed.words.size() > 1) return bad(cat("shell: a command comes after --: hotcell shell ", printable(cell), " -- COMMAND"));
  TRY_SET(bool any, has_cells(parsed));
  if (!any) return no_cell(parsed, cell);
  TRY_SET(auto keeper, connect_keeper(parsed));
  if (!commands) return attach(keeper, cell, session);
  if (parsed.has(Opt::kClose) || parsed.has(Opt::kInterrupt)) {
    TRY(keeper.ask(session_ask(parsed.has(Opt::kClose) ? "shell.close" : "shell.interrupt", cell, session)));
    return 0;
  }
  if (parsed.has(Opt::kHistory)) {
    TRY_SET(cells::Told told, keeper.ask(session_ask("shell.history", cell, session)));
    return print(told.text + "\n");
  }
  if (auto text = parsed.last(Opt::kInput)) {
    cells::Ask input = session_ask("shell.input", cell, session);
    input.words = {cat(*text, "\n")};
    TRY(keeper.ask(std::move(input)));
    cells::Ask wait = session_ask("shell.wait", cell, session);
    wait.fields["stop_on_input"] = "1";
    TRY_SET(cells::Told told, keeper.ask(std::move(wait)));
    return show(told, cell, parsed.has(Opt::kJson));
  }
  cells::Ask open = session_ask("shell.open", cell, session);
  open.fields["reuse"] = "1";
  TRY(keeper.ask(std::move(open)));
  cells::Ask run = session_ask("shell.run", cell, session);
  std::string command;
  for (std::size_t i = 1; i < parsed.words.size(); ++i) command += cat(i == 1 ? "" : " ", parsed.words[i]);
  run.words = {std::move(command)};
  run.fields["stop_on_input"] = "1";
  if (auto time = parsed.last(Opt::kTimeout)) {
    TRY_SET(Nanoseconds limit, parse_duration(*time).context("--timeout"));
    run.fields["timeout_ns"] = cat(static_cast<std::uint64_t>(limit.count()));
  }
  TRY_SET(cells::Told told, keeper.ask(std::move(run)));
  return show(told, cell, parsed.has(Opt::kJson));
}

}  // namespace

int cmd_shell(Args args) { return run_command(Command::kShell, args, dispatch); }

}  // namespace hotcell
