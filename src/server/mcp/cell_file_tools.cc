// Files of lasting cells. All of it is done by the cell's own file agent, inside: a path that leads out leads nowhere.
#include "base/json_write.h"
#include "base/strings.h"
#include "server/json/base64_decode.h"
#include "server/mcp/cell_tool.h"
#include "server/mcp/outcome.h"

namespace hotcell::server::mcp {
namespace {

constexpr Bytes kMostTar{4u << 20};                             // of a folder in one answer, which is one message
constexpr auto kSettle = std::chrono::milliseconds(200);        // what belongs to a change comes soon after it
constexpr std::size_t kMostChanges = 1000;

constexpr std::string_view kReadInput = R"({"type":"object","properties":{)" HOTCELL_CELL R"(,
"path":{"type":"string","description":"Absolute inside the cell, or relative to /work."},
"offset":{"type":"integer","minimum":0},"max_bytes":{"type":"integer","minimum":1,"maximum":65536}
},"required":["cell","path"],"additionalProperties":false})";
constexpr std::string_view kReadOutput = R"({"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},
"encoding":{"type":"string","enum":["utf8","base64"]},"truncated":{"type":"boolean","description":"There is more behind it: ask again with a larger offset."}},
"required":["path","content","encoding","truncated"]})";
constexpr std::string_view kWriteInput = R"({"type":"object","properties":{)" HOTCELL_CELL R"(,
"path":{"type":"string","description":"Absolute inside the cell, or relative to /work. Its folder must be there."},
"content":{"type":"string"},"encoding":{"type":"string","enum":["utf8","base64"]},"executable":{"type":"boolean"}
},"required":["cell","path","content"],"additionalProperties":false})";
constexpr std::string_view kWriteOutput = R"({"type":"object","properties":{"path":{"type":"string"},"bytes":{"type":"integer"}},"required":["path","bytes"]})";
constexpr std::string_view kFilesInput = R"({"type":"object","properties":{)" HOTCELL_CELL R"(,
"path":{"type":"string","description":"A folder; /work by default."}},"required":["cell"],"additionalProperties":false})";
constexpr std::string_view kFilesOutput = R"({"type":"object","properties":{"path":{"type":"string"},"truncated":{"type":"boolean"},
"entries":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"type":{"type":"string"},"size":{"type":"integer"}},"required":["name","type","size"]}}},
"required":["path","entries","truncated"]})";
constexpr std::string_view kManageInput = R"({"type":"object","properties":{)" HOTCELL_CELL R"(,
"action":{"type":"string","enum":["move","remove","make_folder","unpack"]},
"path":{"type":"string","description":"Absolute inside the cell, or relative to /work: what is moved or removed, the new folder, or the folder to unpack into, which must be there."},
"to":{"type":"string","description":"move: what it is called then. A file that is there is replaced."},
"recursive":{"type":"boolean","description":"remove: a folder with all that is in it."},
"tar":{"type":"string","description":"unpack: a tar archive, in base64. Files that are there are replaced."}
},"required":["cell","action","path"],"additionalProperties":false})";
constexpr std::string_view kManageOutput = R"({"type":"object","properties":{"action":{"type":"string"},"path":{"type":"string"}},"required":["action","path"]})";
constexpr std::string_view kFolderInput = R"({"type":"object","properties":{)" HOTCELL_CELL R"(,
"path":{"type":"string","description":"A folder or a file; /work by default."}},"required":["cell"],"additionalProperties":false})";
constexpr std::string_view kFolderOutput = R"({"type":"object","properties":{"path":{"type":"string"},"bytes":{"type":"integer"},
"tar":{"type":"string","description":"A tar archive, in base64."}},"required":["path","bytes","tar"]})";
constexpr std::string_view kWatchInput = R"({"type":"object","properties":{)" HOTCELL_CELL R"(,
"path":{"type":"string","description":"A file, or a folder with all that is in it; /work by default."},
"timeout_ms":{"type":"integer","minimum":1,"maximum":3600000,"description":"How long to wait for the first change; 30 seconds by default."}
},"required":["cell"],"additionalProperties":false})";
constexpr std::string_view kWatchOutput = R"({"type":"object","properties":{"path":{"type":"string"},"truncated":{"type":"boolean"},
"changes":{"type":"array","description":"Empty: nothing has changed in that time.","items":{"type":"object","properties":{
"change":{"type":"string","enum":["created","written","removed","moved-from","moved-to","attributes","overflow"]},"path":{"type":"string"}},"required":["change","path"]}}},
"required":["path","changes","truncated"]})";

std::string path_argument(Arguments& a, bool required) {
  auto path = cell_path(a.string("path"));
  if (required && !a.has("path")) a.mistake("path is missing");
  if (!path.ok()) a.mistake(path.error().message);
  return path.ok() ? std::move(path).value() : std::string();
}

void run_agent(const CallPtr& call, CellDoor& door, const std::string& cell, std::vector<std::string> words, std::string in, std::function<void(Report)> then,
               Bytes most = Bytes{16u << 20}) {
  std::weak_ptr<Call> weak = call;
  hold(call, door.files(cell, std::move(words), std::move(in), {}, most, [weak, then = std::move(then)](Result<Report> report) {
    auto waiter = weak.lock();
    if (!waiter || waiter->finished()) return;
    if (!report.ok()) return waiter->finish_error(report.error().message);
    then(std::move(report).value());
  }));
}

void read_file(const CallPtr& call) {
  Arguments a(call->arguments());
  const std::string cell = named_cell(a), path = path_argument(a, true);
  const auto offset = a.integer("offset", 0, std::int64_t{1} << 50).value_or(0);
  const auto most = a.integer("max_bytes", 1, kMostText).value_or(kMostText);
  if (!ready(call, a, "cell_read_file")) return;
  with_cell(call, cell, [call, path, offset, most](CellDoor& door, CellView view) {
    // One byte more tells whether there is more.
    run_agent(call, door, view.id, {"read", path, cat(offset), cat(most + 1)}, {}, [call, path, most](Report report) {
      std::string bytes = std::move(report.out);
      const bool more = bytes.size() > static_cast<std::size_t>(most);
      if (more) bytes.resize(static_cast<std::size_t>(most));
      OutputWindow all;
      all.bytes = bytes.size();
      std::string text(window_of(bytes, all));   // without half a character at the end
      const bool readable = is_valid_utf8(text);
      ToolResult to;
      to.structured = cat("{\"path\":", json_string(path), ",\"content\":", json_string(readable ? text : base64(bytes)), ",\"encoding\":\"", readable ? "utf8" : "base64",
                          "\",\"truncated\":", more ? "true" : "false", "}");
      to.texts.push_back(readable ? text + (more ? "\n[cut; ask for more with offset]" : "") : cat(bytes.size(), " bytes that are no text, in base64: ", base64(bytes)));
      call->finish(std::move(to));
    });
  });
}

void write_file(const CallPtr& call) {
  Arguments a(call->arguments());
  const std::string cell = named_cell(a), path = path_argument(a, true);
  // The same reading as for files of a run: text, or base64.
  std::string content = a.string("content"), encoding = a.string("encoding");
  const bool executable = a.boolean("executable").value_or(false);
  if (!a.has("content")) a.mistake("content is missing");
  if (!encoding.empty() && encoding != "utf8" && encoding != "base64") a.mistake("encoding must be utf8 or base64");
  if (encoding == "base64") {
    auto bytes = base64_decode(content);
    if (bytes) content = std::move(*bytes);
    else a.mistake("content is not valid base64");
  }
  if (!ready(call, a, "cell_write_file")) return;
  with_cell(call, cell, [call, path, content, executable](CellDoor& door, CellView view) {
    const std::size_t size = content.size();
    run_agent(call, door, view.id, {"write", path, executable ? "755" : "644"}, content, [call, path, size](Report) {
      ToolResult to;
      to.structured = cat("{\"path\":", json_string(path), ",\"bytes\":", size, "}");
      to.texts.push_back(cat("wrote ", size, " bytes to ", printable(path)));
      call->finish(std::move(to));
    });
  });
}

void list_files(const CallPtr& call) {
  constexpr std::size_t kMost = 1000;
  Arguments a(call->arguments());
  const std::string cell = named_cell(a), path = path_argument(a, false);
  if (!ready(call, a, "cell_list_files")) return;
  with_cell(call, cell, [call, path](CellDoor& door, CellView view) {
    run_agent(call, door, view.id, {"list", path}, {}, [call, path](Report report) {
      auto entries = read_entries(report.out);
      const bool cut = entries.size() > kMost;
      if (cut) entries.resize(kMost);
      ToolResult to;
      to.structured = cat("{\"path\":", json_string(path), ",\"entries\":", entries_json(entries), ",\"truncated\":", cut ? "true" : "false", "}");
      std::string text;
      for (const auto& e : entries) text += cat(printable(e.name), e.type == "folder" ? "/" : "", e.type == "file" ? cat("  ", e.size) : "", "\n");
      to.texts.push_back(text.empty() ? "empty" : std::move(text));
      call->finish(std::move(to));
    });
  });
}

void manage(const CallPtr& call) {
  Arguments a(call->arguments());
  const std::string cell = named_cell(a), action = a.string("action"), path = path_argument(a, true);
  std::vector<std::string> words;
  std::string in;
  if (a.string("path").empty()) a.mistake("path is empty");
  const std::string to = a.string("to"), tar = a.string("tar");
  const bool deep = a.boolean("recursive").value_or(false);
  // What an action does not take would be thought to have been heeded.
  for (auto [argument, of] : {std::pair("to", "move"), std::pair("recursive", "remove"), std::pair("tar", "unpack")}) {
    if (a.has(argument) && action != of) a.mistake(cat(std::string_view(argument), " is for ", std::string_view(of), " only"));
    if (!a.has(argument) && action == of && action != "remove") a.mistake(cat(std::string_view(argument), " is missing"));
  }
  if (action == "move") {
    auto target = cell_path(to);
    if (target.ok() && !to.empty()) words = {"move", path, std::move(target).value()};
    else a.mistake(cat("to: ", target.ok() ? "is empty" : target.error().message));
  } else if (action == "remove") {
    words = {"remove", path};
    if (deep) words.push_back("deep");
  } else if (action == "make_folder") {
    words = {"mkdir", path, "deep"};
  } else if (action == "unpack") {
    words = {"unpack", path};
    auto bytes = base64_decode(tar);
    if (bytes && !bytes->empty()) in = std::move(*bytes);
    else a.mistake("tar is not valid base64, or empty");
  } else {
    a.mistake("action must be move, remove, make_folder or unpack");
  }
  if (!ready(call, a, "cell_files")) return;
  with_cell(call, cell, [call, action, path, words, in = std::move(in)](CellDoor& door, CellView view) {
    run_agent(call, door, view.id, words, in, [call, action, path](Report) {
      ToolResult to_tell;
      to_tell.structured = cat("{\"action\":", json_string(action), ",\"path\":", json_string(path), "}");
      to_tell.texts.push_back(cat(action, " ", printable(path), ": done"));
      call->finish(std::move(to_tell));
    });
  });
}

void read_folder(const CallPtr& call) {
  Arguments a(call->arguments());
  const std::string cell = named_cell(a), path = path_argument(a, false);
  if (!ready(call, a, "cell_read_folder")) return;
  with_cell(call, cell, [call, path](CellDoor& door, CellView view) {
    run_agent(call, door, view.id, {"pack", path}, {}, [call, path](Report report) {
      ToolResult to;
      to.structured = cat("{\"path\":", json_string(path), ",\"bytes\":", report.out.size(), ",\"tar\":\"", base64(report.out), "\"}");
      to.texts.push_back(cat(printable(path), ": ", report.out.size(), " bytes of tar, in structuredContent.tar"));
      call->finish(std::move(to));
    }, kMostTar);
  });
}

// One wait for changes: until a moment after the first, since what belongs together comes together, or until the time is over.
struct Watch {
  std::weak_ptr<Call> call;
  Loop& loop;
  std::string path, rest;
  std::vector<std::pair<std::string, std::string>> changes;
  bool truncated = false;
  Loop::Handle timer;

  void hear(std::string_view bytes, const std::weak_ptr<Watch>& self) {
    rest += bytes;
    for (auto end = rest.find('\0'); end != rest.npos; end = rest.find('\0')) {
      const std::string line = rest.substr(0, end);
      rest.erase(0, end + 1);
      const auto space = std::min(line.find(' '), line.size());
      const std::string what = line.substr(0, space);
      if (what == "ready") {
        if (auto waiter = call.lock()) waiter->progress(cat("watching ", path));
        continue;
      }
      if (changes.empty()) timer = loop.after(kSettle, [self] {
        if (auto s = self.lock()) s->tell();
      });
      truncated = truncated || changes.size() == kMostChanges;
      if (!truncated) changes.emplace_back(what, line.substr(std::min(space + 1, line.size())));
    }
  }
  void tell() {
    auto waiter = call.lock();
    if (!waiter || waiter->finished()) return;
    JsonWriter w;
    w.begin_object();
    w.field("path", std::string_view(path));
    w.key("changes");
    w.begin_array();
    std::string text;
    for (const auto& [what, name] : changes) {
      w.begin_object();
      w.field("change", std::string_view(what));
      w.field("path", std::string_view(name));
      w.end_object();
      text += cat(what, " ", printable(name), "\n");
    }
    w.end_array();
    w.field("truncated", truncated);
    w.end_object();
    ToolResult to;
    to.structured = w.take();
    to.texts.push_back(text.empty() ? "nothing has changed" : std::move(text));
    waiter->finish(std::move(to));
  }
};

void watch(const CallPtr& call) {
  Arguments a(call->arguments());
  const std::string cell = named_cell(a), path = path_argument(a, false);
  const auto ms = a.integer("timeout_ms", 1, 3'600'000).value_or(30'000);
  if (!ready(call, a, "cell_watch_files")) return;
  with_cell(call, cell, [call, path, ms](CellDoor& door, CellView view) {
    std::shared_ptr<Watch> state(new Watch{.call = call, .loop = door.link().loop(), .path = path, .rest = {}, .changes = {}, .truncated = false, .timer = {}});
    std::weak_ptr<Watch> weak = state;
    state->timer = state->loop.after(std::chrono::milliseconds(ms), [weak] {
      if (auto s = weak.lock()) s->tell();
    });
    hold(call, door.files(view.id, {"watch", path}, std::string(),
                          [weak](OutStream, std::string_view bytes) {
                            if (auto s = weak.lock()) s->hear(bytes, s);
                          },
                          Bytes{16u << 20},
                          // The agent's end: it could not, or what it watched is gone.
                          [state](Result<Report> report) {
                            auto waiter = state->call.lock();
                            if (report.ok() || !waiter || waiter->finished()) return state->tell();
                            waiter->finish_error(report.error().message);
                          }));
  });
}

}  // namespace

std::span<const Tool> cell_file_tools() {
  static const Tool kTools[] = {
      {"cell_read_file", "Read a file of a cell", "Read a file, or a part of it, inside a cell.", kReadInput, kReadOutput, kReadOnly, ToolNeeds::kRead, read_file, kHeader},
      {"cell_write_file", "Write a file in a cell", "Write a whole file inside a cell; what was there is replaced.", kWriteInput, kWriteOutput, kDestroys, ToolNeeds::kRun,
       write_file, kHeader},
      {"cell_list_files", "List a folder of a cell", "The entries of a folder inside a cell.", kFilesInput, kFilesOutput, kReadOnly, ToolNeeds::kRead, list_files, kHeader},
      {"cell_files", "Move, remove or unpack files in a cell", "Move or remove a file or folder inside a cell, make a folder, or unpack a tar archive into one.", kManageInput,
       kManageOutput, kDestroys, ToolNeeds::kRun, manage, kHeader},
      {"cell_read_folder", "Get a folder of a cell", "A folder inside a cell with all that is in it, as a tar archive of at most 4 MiB; ask for parts of a larger one.", kFolderInput,
       kFolderOutput, kReadOnly, ToolNeeds::kRead, read_folder, kHeader},
      {"cell_watch_files", "Wait for a change in a cell's files",
       "Wait until something changes in a folder or file of a cell, and say what. What changes between two calls is not told; cell_diff shows all of it.", kWatchInput,
       kWatchOutput, kReadOnly, ToolNeeds::kRead, watch, kHeader},
  };
  return kTools;
}

}  // namespace hotcell::server::mcp
