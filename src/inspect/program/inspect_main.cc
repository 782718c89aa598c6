// hotcell-inspect: reads files and says what is wrong with them. `hotcell inspect` checks the words and starts this.
// Everything is opened first; then it confines itself, and only then it reads.
// Usage: hotcell-inspect --serve BYTES (questions on descriptor 0, for the daemon), or
//   hotcell-inspect [--kind K]… [--as text|command|arguments] [--allow-domain D]… [--rules FILE] [--format text|json] [--tell FD] FILE…|-
// --tell: what was found in each file goes to that socket, too, as a frame with an InspectAnswer; its text is the file's name.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/json_write.h"
#include "base/strings.h"
#include "hotcell/inspect.h"
#include "inspect/program/confine_inspect.h"
#include "inspect/program/serve.h"
#include "inspect/unicode.h"
#include "sys/framed_child.h"

using namespace hotcell;

namespace {

constexpr int kFound = 1, kBadUsage = 125;
constexpr std::size_t kMostWhole = 64u << 20;  // JSON, commands and rules are read whole; text is not

// Not by stdio, which asks what kind of file it has.
bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

int refuse(std::string_view what) {
  write_all(STDERR_FILENO, cat("hotcell: inspect: ", what, "\n"));
  return kBadUsage;
}

// Open from the beginning to the end of the process: closing is no call that it may make.
struct Input {
  std::string name;
  int fd = -1, error = 0;

  explicit Input(std::string called) : name(std::move(called)) {
    fd = name == "-" ? STDIN_FILENO : ::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
    error = errno;
  }
  std::string shown() const { return name == "-" ? "standard input" : printable(name); }

  template <typename F>
  Result<void> read(F&& each) const {
    if (fd < 0) return errno_error("open", error);
    std::string buffer(256u << 10, '\0');
    for (;;) {
      ssize_t n = ::read(fd, buffer.data(), buffer.size());
      if (n == 0) return {};
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return errno_error("read", errno);
      TRY(each(std::string_view(buffer).substr(0, static_cast<std::size_t>(n))));
    }
  }
  Result<std::string> whole() const {
    std::string all;
    TRY(read([&](std::string_view piece) -> Result<void> {
      all += piece;
      if (all.size() > kMostWhole) return make_error(ErrorCode::kLimit, "too large");
      return {};
    }));
    return all;
  }
};

struct Asked {
  InspectOptions options;
  std::string as = "text", format = "text", rules;
  int tell = -1;
  std::vector<std::string> files;
};

Result<Asked> read_words(int argc, char** argv) {
  Asked asked;
  bool kinds_given = false, only_files = false;
  for (int i = 1; i < argc; ++i) {
    std::string_view word = argv[i];
    if (only_files || word == "-" || !word.starts_with("--")) {
      asked.files.emplace_back(word);
      continue;
    }
    if (word == "--") {
      only_files = true;
      continue;
    }
    if (i + 1 >= argc) return make_error(ErrorCode::kInvalid, cat(word, " wants a value"));
    std::string value = argv[++i];
    if (word == "--kind") {
      if (!std::exchange(kinds_given, true)) asked.options.kinds = {};
      auto kind = inspect_kind(value);
      if (kind) asked.options.kinds.add(*kind);
      else if (value == "all") asked.options.kinds = InspectKindSet::all();
      else return make_error(ErrorCode::kInvalid, cat("unknown kind ", printable(value)));
    } else if (word == "--allow-domain") {
      asked.options.allowed_domains.push_back(value);
    } else if (word == "--rules") {
      asked.rules = value;
    } else if (word == "--tell") {
      auto fd = parse_u64(value);
      if (!fd || *fd <= STDERR_FILENO || *fd > 1000) return make_error(ErrorCode::kInvalid, cat("--tell ", printable(value), " is no descriptor"));
      asked.tell = static_cast<int>(*fd);
    } else if (word == "--as" && (value == "text" || value == "command" || value == "arguments")) {
      asked.as = value;
    } else if (word == "--format" && (value == "text" || value == "json")) {
      asked.format = value;
    } else {
      return make_error(ErrorCode::kInvalid, cat("unknown option ", word, " ", printable(value)));
    }
  }
  // Arguments are where the other kinds mean something.
  if (!kinds_given && asked.as == "arguments") asked.options.kinds = InspectKindSet::all();
  if (asked.files.empty()) return make_error(ErrorCode::kInvalid, "expected FILE... or - for standard input");
  return asked;
}

Result<Inspection> inspect_input(const Asked& asked, const Input& input) {
  if (asked.as == "text") {
    TRY_SET(Inspector inspector, Inspector::create(asked.options));
    TRY(input.read([&](std::string_view piece) -> Result<void> { return inspector.feed(piece), Result<void>(); }));
    return inspector.finish();
  }
  TRY_SET(std::string all, input.whole());
  return asked.as == "command" ? inspect_command(all, asked.options) : inspect_arguments(all, asked.options);
}

int inspect_all(Asked& asked, const std::vector<Input>& inputs, const Input* rules) {
  if (rules != nullptr) {
    auto yaml = rules->whole();
    if (!yaml.ok()) return refuse(cat(rules->shown(), ": cannot be read: ", yaml.error().message));
    auto read = InspectRules::from_yaml(yaml.value(), asked.rules);
    if (!read.ok()) return refuse(read.error().message);
    asked.options.rules = std::move(read.value());
  }
  bool found = false;
  std::string all;
  for (const Input& input : inputs) {
    auto result = inspect_input(asked, input);
    if (!result.ok()) return refuse(cat(input.shown(), ": ", result.error().message));
    found = found || !result.value().safe();
    std::string shown = input.name == "-" ? "stdin" : input.name;
    if (asked.tell >= 0 && !result.value().findings.empty()) {
      InspectAnswer told = as_parts(result.value());
      told.text = shown;
      for (auto& part : told.parts) part.snippet.clear();
      // Whoever listens writes the audit. Without it the caller is told all the same.
      if (!sys::send_frame(asked.tell, pack(told))) asked.tell = -1;
    }
    if (asked.format == "text") {
      all += inspection_text(result.value(), shown);
      continue;
    }
    std::string json = inspection_json(result.value());
    if (inputs.size() > 1) {  // one line each
      std::string quoted;
      append_json_string(quoted, shown);
      json = cat("{\"file\":", quoted, ",", json.substr(1));
    }
    (all += json) += '\n';
  }
  if (!write_all(STDOUT_FILENO, all)) return refuse("standard output: cannot be written");
  return found ? kFound : 0;
}

int run(int argc, char** argv) {
  auto asked = read_words(argc, argv);
  if (!asked.ok()) return refuse(asked.error().message);
  std::vector<Input> inputs, rules;
  for (const auto& name : asked.value().files) inputs.emplace_back(name);
  if (!asked.value().rules.empty()) rules.emplace_back(asked.value().rules);
  int highest = std::max(STDERR_FILENO, asked.value().tell);
  for (const auto* all : {&inputs, &rules})
    for (const Input& input : *all) highest = std::max(highest, input.fd);
  // Tables and the data of ICU are made ready now: later no file can be opened.
  if (auto ready = Inspector::create(asked.value().options); !ready.ok()) return refuse(ready.error().message);
  inspect::look_alike("\xD0\xB0");
  if (auto done = inspect::confine_inspect(static_cast<std::uint64_t>(highest) + 1); !done.ok())
    return refuse(cat("cannot confine itself, and reads nothing: ", done.error().message));
  return inspect_all(asked.value(), inputs, rules.empty() ? nullptr : rules.data());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--serve") {
    auto memory = parse_u64(argv[2]);
    ::_exit(memory ? serve_inspections(STDIN_FILENO, *memory) : kBadUsage);
  }
  try {
    ::_exit(run(argc, argv));
  } catch (const std::bad_alloc&) {
    ::_exit(refuse("this takes more memory than it is given"));
  }
}
