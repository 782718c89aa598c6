// Files of a cell: one run of its file agent each, which is a program inside the cell.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/json_write.h"
#include "base/strings.h"
#include "cells/spawner/orders.h"
#include "cells/tar/tar.h"
#include "cli/cell.h"
#include "cli/output_sink.h"
#include "cli/say.h"
#include "cli/signals.h"
#include "sys/file.h"

namespace hotcell {
namespace {

constexpr Bytes kLargest{std::uint64_t{16} << 30};      // of what is brought out or in by one command
constexpr std::uint64_t kMostEntries = 1'000'000;

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

std::string inside(std::string_view path) {
  if (path.empty()) return "/work";
  return path.starts_with('/') ? std::string(path) : cat("/work/", path);
}

cells::ExecAsk agent(std::string cell, std::vector<std::string> words) {
  cells::ExecAsk ask;
  ask.cell = std::move(cell);
  ask.argv = {cells::kSpawnerPath};
  for (auto& w : words) ask.argv.push_back(std::move(w));
  ask.output = kLargest;
  ask.cancelled = [] { return caught_signal() != 0; };
  return ask;
}

// What the agent says on its stderr is the error.
Result<Report> run_agent(cells::KeeperClient& keeper, cells::ExecAsk ask) {
  std::string said;
  auto pass_on = std::move(ask.on_output);
  ask.on_output = [&](Stream stream, std::string_view bytes) {
    if (stream == Stream::kStderr && said.size() < 4096) said += bytes;
    if (stream == Stream::kStdout && pass_on) pass_on(stream, bytes);
  };
  TRY_SET(Report report, keeper.exec(ask));
  if (report.verdict.reason == ExitReason::kExited && report.verdict.exit_code == 0) return report;
  if (caught_signal() != 0) return make_error(ErrorCode::kCancelled, "interrupted");
  std::string why(trim(said));
  if (report.verdict.reason == ExitReason::kDisk) return make_error(ErrorCode::kInvalid, "the cell has more on its disk now than it may");
  return make_error(ErrorCode::kInvalid, why.empty() ? cat("the file agent ended: ", to_string(report.verdict.reason)) : printable(why));
}

struct Entry {
  std::string type, mode, size, time, name, target;
};
std::vector<Entry> read_entries(std::string_view text) {
  std::vector<Entry> out;
  auto pieces = split(text, '\0');
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (pieces[i].empty()) continue;
    std::string_view rest = pieces[i];
    Entry e;
    for (std::string* field : {&e.type, &e.mode, &e.size, &e.time}) {
      auto space = rest.find(' ');
      if (space == rest.npos) break;
      *field = std::string(rest.substr(0, space));
      rest.remove_prefix(space + 1);
    }
    e.name = std::string(rest);
    if (e.type == "l" && i + 1 < pieces.size()) e.target = std::string(pieces[++i]);
    out.push_back(std::move(e));
  }
  return out;
}

std::string_view type_word(const Entry& e) {
  return e.type == "f" ? "file" : e.type == "d" ? "folder" : e.type == "l" ? "symlink" : e.type == "p" ? "fifo" : e.type == "s" ? "socket" : "other";
}

int print_entries(const std::vector<Entry>& entries, bool json) {
  std::string text;
  JsonWriter w;
  w.begin_array();
  for (const auto& e : entries) {
    w.begin_object();
    w.field("name", std::string_view(e.name));
    w.field("type", type_word(e));
    w.field("mode", std::string_view(e.mode));
    w.field("size", parse_u64(e.size).value_or(0));
    w.field("modified", std::string_view(e.time));
    if (!e.target.empty()) w.field("target", std::string_view(e.target));
    w.end_object();
    text += cat(e.type, " ", std::string(e.mode.size() < 4 ? 4 - e.mode.size() : 0, '0'), e.mode, " ", std::string(e.size.size() < 10 ? 10 - e.size.size() : 0, ' '),
                e.size, " ", printable(e.name), e.target.empty() ? "" : cat(" -> ", printable(e.target)), "\n");
  }
  w.end_array();
  return print(json ? w.take() + "\n" : text);
}

struct Place {
  std::string cell, path;  // no cell: here
};
Place place_of(std::string_view word) {
  auto colon = word.find(':');
  auto slash = word.find('/');
  if (colon == word.npos || (slash != word.npos && slash < colon)) return {"", std::string(word)};
  return {std::string(word.substr(0, colon)), std::string(word.substr(colon + 1))};
}

std::string last_part(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  auto slash = path.rfind('/');
  return std::string(slash == path.npos ? path : path.substr(slash + 1));
}

Error tar_error(const cells::TarFault& fault) {
  return Error{ErrorCode::kInvalid, fault.err, cat(printable(fault.name), ": ", fault.what, ": ", ::strerror(fault.err))};
}

Result<void> copy_file_in(cells::KeeperClient& keeper, const std::string& from, const Place& to) {
  TRY_SET(sys::Fd file, sys::open(from.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY));
  TRY_SET(struct stat st, sys::stat_fd(file.get(), from));
  if (S_ISDIR(st.st_mode)) return bad(cat(printable(from), " is a folder; cp -r copies it"));
  if (!S_ISREG(st.st_mode)) return bad(cat(printable(from), " is not a regular file"));
  std::string target = inside(to.path);
  if (to.path.empty() || to.path.ends_with('/')) target = cat(target, target.ends_with('/') ? "" : "/", last_part(from));
  char mode[8];
  ::snprintf(mode, sizeof mode, "%o", st.st_mode & 0777);
  cells::ExecAsk ask = agent(to.cell, {"write", target, mode});
  ask.stdin_fd = file.get();
  TRY(run_agent(keeper, std::move(ask)));
  return {};
}

Result<void> copy_folder_in(cells::KeeperClient& keeper, const std::string& from, const Place& to) {
  TRY_SET(sys::Pipe pipe, sys::make_pipe(0));
  cells::TarFault fault;
  // The reader may go first.
  ::signal(SIGPIPE, SIG_IGN);
  std::thread writer([&, out = pipe.write.release()] {
    cells::tar_write(AT_FDCWD, from.c_str(), last_part(from).c_str(), out, fault);
    ::close(out);
  });
  cells::ExecAsk ask = agent(to.cell, {"unpack", inside(to.path)});
  ask.stdin_fd = pipe.read.get();
  auto ran = run_agent(keeper, std::move(ask));
  pipe.read.reset();
  writer.join();
  if (fault.err != 0 && fault.err != EPIPE) return tar_error(fault);
  if (!ran.ok()) return std::move(ran).error();
  return {};
}

Result<void> copy_file_out(cells::KeeperClient& keeper, const Place& from, const std::string& to) {
  struct stat st {};
  std::string target = to;
  if (::stat(to.c_str(), &st) == 0 && S_ISDIR(st.st_mode)) target = cat(to, "/", last_part(from.path));
  std::string temporary = cat(target, ".hotcell-", ::getpid());
  auto opened = sys::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!opened.ok()) return std::move(opened).error();
  sys::Fd file = std::move(opened).value();
  Result<void> written;
  cells::ExecAsk ask = agent(from.cell, {"read", inside(from.path)});
  ask.collect = false;
  ask.on_output = [&](Stream, std::string_view bytes) {
    if (written.ok()) written = sys::write_all(file.get(), bytes);
  };
  auto ran = run_agent(keeper, std::move(ask));
  Result<void> done;
  mode_t mask = ::umask(0);
  ::umask(mask);
  if (!ran.ok()) done = ran.error();
  else if (!written.ok()) done = written.error();
  else if (::fchmod(file.get(), 0666 & ~mask) < 0 || ::fsync(file.get()) < 0 || ::rename(temporary.c_str(), target.c_str()) < 0)
    done = errno_error(printable(target), errno);
  if (!done.ok()) ::unlink(temporary.c_str());
  return done;
}

constexpr int kNotAllCopied = 1;

// 0, or what says that links were left out.
Result<int> copy_folder_out(cells::KeeperClient& keeper, const Place& from, const std::string& to) {
  TRY_SET(sys::Fd folder, sys::open(to.c_str(), O_RDONLY | O_DIRECTORY).context("cp -r: the folder to copy into"));
  TRY_SET(sys::Pipe pipe, sys::make_pipe(0));
  ::signal(SIGPIPE, SIG_IGN);
  const std::string place = inside(from.path), last = last_part(place), asked = last.empty() ? "." : last;  // as the agent calls it
  cells::TarFault fault;
  cells::TarLeftOut left_out;
  bool good = false;
  std::thread reader([&, in = pipe.read.release()] {
    good = cells::tar_read(in, folder.get(), kLargest.n, kMostEntries, cells::TarLinks::kInside, fault, &left_out, asked.c_str());
    char rest[4096];
    while (good && ::read(in, rest, sizeof rest) > 0) {}
    ::close(in);
  });
  cells::ExecAsk ask = agent(from.cell, {"pack", place});
  ask.collect = false;
  Result<void> passed;
  ask.on_output = [&](Stream, std::string_view bytes) {
    if (passed.ok()) passed = sys::write_all(pipe.write.get(), bytes);
  };
  ask.cancelled = [&] { return caught_signal() != 0 || !passed.ok(); };
  auto ran = run_agent(keeper, std::move(ask));
  pipe.write.reset();
  reader.join();
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(left_out.count, cells::TarLeftOut::kNamed); ++i)
    say(cat(printable(left_out.names[i]), ": left out, a link that leads out of what is copied"));
  if (left_out.count > cells::TarLeftOut::kNamed)
    say(cat("and ", left_out.count - cells::TarLeftOut::kNamed, " more links that lead out of what is copied, ", left_out.count, " in all"));
  if (!good && (ran.ok() || !passed.ok())) return tar_error(fault);
  if (!ran.ok()) return std::move(ran).error();
  return left_out.count > 0 ? kNotAllCopied : 0;
}

Result<int> watch(cells::KeeperClient& keeper, const std::string& cell, const std::string& path, bool json) {
  std::string rest;
  cells::ExecAsk ask = agent(cell, {"watch", path});
  ask.collect = false;
  ask.on_output = [&](Stream, std::string_view bytes) {
    rest += bytes;
    for (auto end = rest.find('\0'); end != rest.npos; end = rest.find('\0')) {
      std::string_view line = std::string_view(rest).substr(0, end);
      auto space = line.find(' ');
      JsonWriter w;
      w.begin_object();
      w.field("change", line.substr(0, space));
      w.field("path", space == line.npos ? std::string_view() : line.substr(space + 1));
      w.end_object();
      print(json ? w.take() + "\n" : printable(line) + "\n");
      rest.erase(0, end + 1);
    }
  };
  auto ran = run_agent(keeper, std::move(ask));
  if (caught_signal() != 0) return 0;
  if (!ran.ok()) return std::move(ran).error();
  return 0;
}

}  // namespace

Result<int> cell_file(const Parsed& parsed, std::string_view what) {
  TRY_SET(std::string cell, cell_word(parsed));
  std::size_t needed = what == "move" ? 4 : what == "ls" ? 2 : 3;
  if (parsed.words.size() < needed || parsed.words.size() > (what == "move" ? 4u : 3u))
    return bad(cat("cell ", what, ": expected hotcell cell ", what, " NAME", what == "ls" ? " [PATH]" : " PATH", what == "move" ? " PATH" : ""));
  std::string path = inside(parsed.words.size() > 2 ? parsed.words[2] : std::string_view());
  TRY(catch_signals());
  TRY_SET(auto keeper, connect_keeper(parsed));
  if (what == "watch") return watch(keeper, cell, path, parsed.has(Opt::kJson));
  if (what == "cat") {
    OutputSink out(STDOUT_FILENO);
    cells::ExecAsk ask = agent(cell, {"read", path});
    ask.collect = false;
    ask.on_output = [&](Stream, std::string_view bytes) { out.push(bytes, OutputSink::Clock::now() + std::chrono::hours(24)); };
    ask.cancelled = [&] { return caught_signal() != 0 || out.failed() != 0; };
    auto ran = run_agent(keeper, std::move(ask));
    out.finish();
    if (out.failed() != 0) return 128 + 13;
    if (!ran.ok()) return std::move(ran).error();
    return 0;
  }
  std::vector<std::string> words = {std::string(what == "ls" ? "list" : what), path};
  cells::ExecAsk ask;
  if (what == "write") words.push_back("644");
  if (what == "move") words.push_back(inside(parsed.words[3]));
  if (what == "mkdir" || (what == "remove" && parsed.has(Opt::kRecursive))) words.push_back("deep");
  ask = agent(cell, std::move(words));
  if (what == "write") ask.stdin_fd = STDIN_FILENO;
  TRY_SET(Report report, run_agent(keeper, std::move(ask)));
  if (what == "ls" || what == "stat") return print_entries(read_entries(report.out), parsed.has(Opt::kJson));
  return 0;
}

Result<int> cell_copy(const Parsed& parsed) {
  if (parsed.words.size() != 3) return bad("cell cp: expected hotcell cell cp [-r] FROM TO, one of them NAME:PATH");
  Place from = place_of(parsed.words[1]), to = place_of(parsed.words[2]);
  if (from.cell.empty() == to.cell.empty()) return bad("cell cp: one side is NAME:PATH, the other a path of this host");
  TRY(catch_signals());
  TRY_SET(auto keeper, connect_keeper(parsed));
  bool folder = parsed.has(Opt::kRecursive);
  if (from.cell.empty()) TRY(folder ? copy_folder_in(keeper, from.path, to) : copy_file_in(keeper, from.path, to));
  else if (folder) return copy_folder_out(keeper, from, to.path);
  else TRY(copy_file_out(keeper, from, to.path));
  return 0;
}

}  // namespace hotcell
