// `audit verify` and `audit show`.
#include "base/json_write.h"
#include "base/strings.h"
#include "cli/say.h"
#include "cli/state.h"
#include "store/audit_log.h"

namespace hotcell {

namespace {

constexpr int kExitBroken = 1;

Result<int> verify(const std::string& folder, bool json) {
  TRY_SET(AuditVerdict verdict, verify_audit(folder));
  int code = 0;
  if (json) {
    JsonWriter w;
    w.begin_object();
    w.field("ok", verdict.ok);
    w.field("entries", verdict.entries);
    w.field("file", verdict.file);
    w.field("line", verdict.line);
    w.field("why", verdict.why);
    w.end_object();
    code = print(w.take() + "\n");
  } else if (verdict.ok) {
    code = print(cat("whole: ", verdict.entries, verdict.entries == 1 ? " entry\n" : " entries\n"));
  } else {
    code = print(cat("broken: ", printable(verdict.file), " line ", verdict.line, ": ", verdict.why, "; ", verdict.entries,
                     " good before it\n"));
  }
  return code != 0 || verdict.ok ? code : kExitBroken;
}

// The lines are JSON as they stand in the file, oldest first, so that the newest is at the bottom of a terminal.
Result<int> show(const std::string& folder, const Parsed& parsed) {
  TRY_SET(std::size_t limit, count_option(parsed, Opt::kLimit, 20, 100'000));
  TRY_SET(auto lines, read_audit(folder, 0, limit));
  std::string out;
  bool json = parsed.has(Opt::kJson);
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (json) out += cat(out.empty() ? "" : ",", line->json);
    else out += cat(line->json, "\n");
  }
  return print(json ? cat("[", out, "]\n") : out);
}

Result<int> run(const Parsed& parsed) {
  if (parsed.words.size() != 1 || (parsed.words[0] != "verify" && parsed.words[0] != "show")) {
    return make_error(ErrorCode::kInvalid, "audit: expected verify or show");
  }
  TRY_SET(std::string folder, state_folder(parsed, Missing::kRefuse));
  return parsed.words[0] == "verify" ? verify(folder, parsed.has(Opt::kJson)) : show(folder, parsed);
}

}  // namespace

int cmd_audit(Args args) { return run_command(Command::kAudit, args, run); }

}  // namespace hotcell
