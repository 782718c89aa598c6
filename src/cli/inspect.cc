// `hotcell inspect`: checks the words and has hotcell-inspect look, which has what would make this program large. What that
// finds goes to our own streams from there; here it is written into the audit, which it could not even open.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "base/strings.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/inspected.h"
#include "cli/options.h"
#include "cli/say.h"
#include "core/remote/launcher_process.h"
#include "inspect/wire/question.h"
#include "manager/finding_notes.h"
#include "sys/framed_child.h"
#include "sys/spawn.h"

namespace hotcell {

namespace {

constexpr int kTellFd = 3;

std::vector<std::string> inspector_words(const Parsed& p) {
  std::vector<std::string> words = {"hotcell-inspect", "--tell", cat(kTellFd)};
  if (p.has(Opt::kJson)) words.insert(words.end(), {"--format", "json"});
  for (const auto& [option, value] : p.values()) {
    if (option == Opt::kJson || option == Opt::kState) continue;
    const char* name = option == Opt::kKind    ? "--kind"
                       : option == Opt::kAs    ? "--as"
                       : option == Opt::kRules ? "--rules"
                                               : "--allow-domain";
    words.emplace_back(name);
    words.emplace_back(value);
  }
  words.emplace_back("--");
  words.insert(words.end(), p.words.begin(), p.words.end());
  return words;
}

// It has read hostile text: what it says of that is only looked at as far as it makes sense.
std::vector<AuditEvent> events_of(const InspectAnswer& told, std::string_view form) {
  std::vector<OutputFinding> findings;
  std::vector<std::string> paths;
  for (const auto& f : told.parts) {
    findings.push_back({"", f.kind, f.type, f.level, f.rule, f.message, "", f.offset});
    paths.push_back(f.path);
  }
  std::vector<AuditEvent> events;
  for (auto& note : finding_notes(findings, paths, told.cut)) {
    AuditEvent e = finding_event(std::move(note));
    e.details["form"] = form;
    e.details["file"] = printable(told.text);
    e.client = "local";
    events.push_back(std::move(e));
  }
  return events;
}

Result<int> inspect(const Parsed& p) {
  sys::Spawn what;
  TRY_SET(what.program, remote::find_program_of_ours("hotcell-inspect"));
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) return errno_error("socketpair", errno);
  sys::Fd ours(pair[0]), theirs(pair[1]);
  what.argv = inspector_words(p);
  what.fds = {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, theirs.get()};
  what.keep_environment = true;
  TRY_SET(sys::Child child, sys::spawn(what));
  theirs.reset();
  {
    FindingAudit audit(p);
    for (std::string in; sys::receive_frame(ours.get(), kLongestInspectAnswer, in);)
      if (auto told = unpack_inspect_answer(in)) audit.tell(events_of(*told, p.last(Opt::kAs).value_or("text")));
  }
  TRY_SET(auto reaped, sys::reap(child.pid, true));
  if (!reaped || !WIFEXITED(reaped->status))
    return make_error(ErrorCode::kInternal, cat("hotcell-inspect was ended by signal ", reaped ? WTERMSIG(reaped->status) : 0));
  return WEXITSTATUS(reaped->status);
}

}  // namespace

int cmd_inspect(Args args) {
  auto parsed = parse(Command::kInspect, args);
  if (!parsed.ok()) return refuse(parsed.error());
  const Parsed& p = parsed.value();
  if (p.has(Opt::kHelp)) return print(help_text(Command::kInspect));
  if (p.words.empty()) return refuse(make_error(ErrorCode::kInvalid, "inspect: expected FILE... or - for standard input"));
  if (std::count(p.words.begin(), p.words.end(), "-") > 1)
    return refuse(make_error(ErrorCode::kInvalid, "inspect: standard input can be read only once"));
  auto done = inspect(p);
  return done.ok() ? done.value() : refuse(done.error());
}

}  // namespace hotcell
