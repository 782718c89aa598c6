// `history list` and `history show`: what the daemon has run, read beside it.
#include <fcntl.h>

#include <algorithm>

#include "base/json_write.h"
#include "base/strings.h"
#include "cli/say.h"
#include "cli/state.h"
#include "manager/record_json.h"
#include "store/ended.h"
#include "store/history_reader.h"
#include "store/schema.h"
#include "sys/file.h"

namespace hotcell {

namespace {

std::string in_width(std::string_view text, std::size_t width) {
  std::string shown = printable(text.substr(0, width * 4));
  if (shown.size() > width) shown.resize(width);
  return shown + std::string(width - shown.size(), ' ');
}

// What ended a moment ago has no row yet, nor has what a daemon that was killed had noted: to be read before the rows are.
Result<std::vector<WholeExecution>> noted_in(const std::string& folder) {
  TRY_SET(sys::Fd opened, sys::open(folder.c_str(), O_RDONLY | O_DIRECTORY));
  return Ended::look(opened.get());
}

Result<int> list(HistoryReader& reader, const std::vector<WholeExecution>& noted, const Parsed& parsed) {
  TRY_SET(std::size_t limit, count_option(parsed, Opt::kLimit, 20, HistoryReader::kMostRows));
  TRY_SET(auto rows, reader.list({.limit = limit}));
  for (const auto& one : noted) {
    auto row = std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.number == one.record.number; });
    if (row == rows.end()) rows.push_back(one.record);
    else if (!row->ended_already()) *row = one.record;
  }
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.number > b.number; });
  if (rows.size() > limit) rows.resize(limit);
  if (parsed.has(Opt::kJson)) {
    JsonWriter w;
    w.begin_array();
    for (const auto& r : rows) {
      w.begin_object();
      write_record_fields(w, r);
      w.end_object();
    }
    w.end_array();
    return print(w.take() + "\n");
  }
  std::string out;
  for (const auto& r : rows) {
    out += cat(utc_time(r.created), "  ", in_width(r.id, 36), "  ", in_width(status_word(r.status), 9), "  ",
               in_width(r.client, 12), "  ", printable(r.command.substr(0, 80)), "\n");
  }
  return print(out);
}

Result<WholeExecution> whole(HistoryReader& reader, const std::vector<WholeExecution>& noted, std::string_view id) {
  TRY_SET(auto found, reader.find(id));
  auto note = std::find_if(noted.begin(), noted.end(), [&](const auto& n) { return n.record.id == id; });
  if (note != noted.end() && (!found || !found->ended_already())) return *note;
  if (!found) return make_error(ErrorCode::kInvalid, cat("no execution ", printable(id)));
  TRY_SET(ExecutionDetails details, reader.details(id));
  return WholeExecution{*std::move(found), std::move(details)};
}

Result<int> show(HistoryReader& reader, const std::vector<WholeExecution>& noted, const Parsed& parsed, std::string_view id) {
  TRY_SET(const WholeExecution execution, whole(reader, noted, id));
  const ExecutionDetails& details = execution.details;
  JsonWriter w(parsed.has(Opt::kJson) ? JsonStyle::kOneLine : JsonStyle::kPretty);
  w.begin_object();
  write_record_fields(w, execution.record);
  // JSON texts of our own, put in as they are.
  std::string out = w.take();
  for (auto [name, text] : {std::pair<std::string_view, const std::string&>{"request", details.request},
                            {"result", details.result},
                            {"usage", details.usage},
                            {"events", details.events}}) {
    out += cat(parsed.has(Opt::kJson) ? "," : ",\n  ", "\"", name, "\":", parsed.has(Opt::kJson) ? "" : " ",
               text.empty() ? "null" : text);
  }
  return print(cat(out, parsed.has(Opt::kJson) ? "}\n" : "\n}\n"));
}

Result<int> run(const Parsed& parsed) {
  const auto& words = parsed.words;
  bool listing = words.size() == 1 && words[0] == "list";
  if (!listing && (words.size() != 2 || words[0] != "show")) {
    return make_error(ErrorCode::kInvalid, "history: expected list, or show ID");
  }
  TRY_SET(std::string folder, state_folder(parsed, Missing::kRefuse));
  TRY_SET(const auto noted, noted_in(folder));
  TRY_SET(auto reader, HistoryReader::open(store_file(folder)));
  return listing ? list(*reader, noted, parsed) : show(*reader, noted, parsed, words[1]);
}

}  // namespace

int cmd_history(Args args) { return run_command(Command::kHistory, args, run); }

}  // namespace hotcell
