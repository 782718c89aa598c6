#include "cli/run_by_daemon.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/json_write.h"
#include "base/strings.h"
#include "cli/cell_json.h"
#include "cli/inspected.h"
#include "cli/job.h"
#include "cli/network.h"
#include "cli/say.h"
#include "hotcell/language.h"
#include "manager/sources.h"
#include "server/config/load.h"
#include "sys/file.h"

namespace hotcell {
namespace {

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

// What is about this process or its files means nothing to another one.
constexpr std::array kOnlyHere = {Opt::kRead, Opt::kWrite, Opt::kDeny, Opt::kBackend, Opt::kLevel, Opt::kWaive, Opt::kRequire, Opt::kStatusFd,
                                  Opt::kNoCache, Opt::kNetworkRules, Opt::kAllowDomain, Opt::kBlockDomain, Opt::kAllowPrivate,
                                  Opt::kMapHost, Opt::kNetworkBytes, Opt::kNetworkRate, Opt::kNetworkConnections,
                                  Opt::kNetworkTime, Opt::kNetworkConnectionTime, Opt::kRules, Opt::kSuspendTo, Opt::kResume};

Result<void> check_options(const Parsed& parsed) {
  for (Opt option : kOnlyHere)
    if (parsed.has(option))
      for (const auto& o : options())
        if (o.id == option) return bad(cat(o.name, " does not go with --daemon: the daemon's configuration says what its cells may have"));
  if (parsed.has(Opt::kExplainDenials) && !parsed.has(Opt::kJson))
    return bad("--explain-denials with --daemon needs --json: what was refused is in the daemon's answer alone");
  return {};
}

Result<std::string> all_of(int fd, std::string_view name) {
  auto text = sys::read_fd(fd, kLargestSource.n);
  if (!text.ok()) return std::move(text).error().context(name);
  return text;
}

void write_bytes(JsonWriter& w, std::string_view name, const std::string& bytes) {
  w.begin_object();
  w.field("name", name);
  if (is_valid_utf8(bytes)) {
    w.field("content", bytes);
  } else {
    w.field("content", base64(bytes));
    w.field("encoding", "base64");
  }
  w.end_object();
}

Result<void> write_program(JsonWriter& w, const Parsed& parsed) {
  auto words = parsed.words;
  std::string_view args = "args";
  if (auto code = parsed.last(Opt::kCode)) {
    if (!parsed.has(Opt::kLanguage)) return bad("-c needs --language");
    w.field("language", *parsed.last(Opt::kLanguage));
    w.field("code", *code);
  } else if (words.empty()) {
    return bad("nothing to run: give a FILE, --language LANG -c CODE, or -- PROGRAM");
  } else if (parsed.dashes) {
    w.field("command", words[0]);
    words.erase(words.begin());
  } else {
    TRY_SET(OpenedFile file, open_for_copy(words[0], "run"));
    TRY_SET(std::string text, all_of(file.fd.get(), words[0]));
    const Language* language = nullptr;
    if (auto name = parsed.last(Opt::kLanguage)) language = find_language(*name);
    else language = language_by_extension(file.name);
    if (language == nullptr) language = language_by_shebang(std::string_view(text).substr(0, 256));
    if (language == nullptr) return bad(cat(words[0], ": its language is not known; name one with --language"));
    // JSON holds text; a module's bytes would arrive as others.
    if (!is_valid_utf8(text)) return bad(cat(words[0], ": is not text, and cannot be sent to the daemon as a source"));
    w.field("language", language->name);
    w.field("code", text);
    words.erase(words.begin());
  }
  w.key(args);
  w.begin_array();
  for (auto word : words) w.value(word);
  w.end_array();
  return {};
}

void write_limits(JsonWriter& w, const Parsed& parsed) {
  struct Limit {
    Opt option;
    std::string_view name;
    bool number;
  };
  constexpr std::array kLimits = {Limit{Opt::kMemory, "memory", false},       Limit{Opt::kDisk, "disk", false},
                                  Limit{Opt::kOutput, "output", false},       Limit{Opt::kCpuTime, "cpu_time", false},
                                  Limit{Opt::kTimeout, "wall", false},        Limit{Opt::kCpus, "cpus", true},
                                  Limit{Opt::kProcesses, "processes", true},  Limit{Opt::kOpenFiles, "open_files", true}};
  w.key("limits");
  w.begin_object();
  for (const auto& l : kLimits) {
    auto value = parsed.last(l.option);
    if (!value) continue;
    // A number that is none stays a text, and the daemon says so.
    char* end = nullptr;
    const std::string text(*value);
    const double number = std::strtod(text.c_str(), &end);
    if (auto whole = parse_u64(text); l.number && whole) w.field(l.name, *whole);
    else if (l.number && !text.empty() && *end == '\0') w.field(l.name, number);
    else w.field(l.name, text);
  }
  w.end_object();
}

Result<std::string> request_json(const Parsed& parsed) {
  JsonWriter w;
  w.begin_object();
  TRY(write_program(w, parsed));
  write_limits(w, parsed);
  if (auto profile = parsed.last(Opt::kProfile)) w.field("profile", *profile);
  if (auto tier = parsed.last(Opt::kTier)) w.field("tier", *tier);
  if (auto folder = parsed.last(Opt::kWorkdir)) w.field("work_dir", *folder);
  if (auto mode = parsed.last(Opt::kOnOutput)) w.field("on_output", *mode);
  else w.field("on_output", "kill");
  if (auto network = parsed.last(Opt::kNetwork)) w.field("network", *network);
  if (parsed.has(Opt::kRich)) w.field("rich", true);
  if (parsed.has(Opt::kNoVerify)) w.field("verify", false);
  if (auto mode = parsed.last(Opt::kInspectOutput)) w.field("inspect", *mode);
  if (parsed.has(Opt::kNoWarm)) w.field("warm", false);
  if (parsed.has(Opt::kExplainDenials)) w.field("explain_denials", true);
  std::string in;
  if (auto file = parsed.last(Opt::kStdin)) {
    TRY_SET(OpenedFile opened, open_for_copy(*file, "--stdin"));
    TRY_SET(in, all_of(opened.fd.get(), *file));
  } else if (::isatty(STDIN_FILENO) == 0) {
    TRY_SET(in, all_of(STDIN_FILENO, "stdin"));
  }
  if (!in.empty()) w.field("stdin", in);
  w.key("env");
  w.begin_object();
  for (const auto& [option, value] : parsed.values())
    if (option == Opt::kEnv && value.find('=') != std::string_view::npos)
      w.field(value.substr(0, value.find('=')), value.substr(value.find('=') + 1));
  w.end_object();
  TRY_SET(auto secrets, given_secrets(parsed));
  if (!secrets.empty()) {
    w.key("secrets");
    w.begin_object();
    for (const auto& [where, value] : secrets) w.field(where, std::string_view(value));
    w.end_object();
  }
  w.key("files");
  w.begin_array();
  for (const auto& [option, value] : parsed.values()) {
    if (option != Opt::kFile) continue;
    TRY_SET(OpenedFile file, open_for_copy(value, "--file"));
    TRY_SET(std::string bytes, all_of(file.fd.get(), value));
    write_bytes(w, file.name, bytes);
  }
  w.end_array();
  w.end_object();
  return w.take();
}

// --- the connection ---

Result<sys::Fd> connect_to(const server::Config& config) {
  if (!config.unix_socket.empty()) {
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    if (config.unix_socket.size() >= sizeof a.sun_path) return bad("unix_socket: the path is too long");
    std::memcpy(a.sun_path, config.unix_socket.data(), config.unix_socket.size());
    sys::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd.valid() && ::connect(fd.get(), reinterpret_cast<sockaddr*>(&a), sizeof a) == 0) return fd;
  }
  for (const auto& listen : config.listen) {
    sockaddr_in a{};
    a.sin_family = AF_INET;
    auto colon = listen.rfind(':');
    auto port = colon == std::string::npos ? std::nullopt : parse_u64(std::string_view(listen).substr(colon + 1));
    if (!port || ::inet_pton(AF_INET, listen.substr(0, colon).c_str(), &a.sin_addr) != 1) continue;
    a.sin_port = htons(static_cast<std::uint16_t>(*port));
    sys::Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd.valid() && ::connect(fd.get(), reinterpret_cast<sockaddr*>(&a), sizeof a) == 0) return fd;
  }
  return make_error(ErrorCode::kIo, "--daemon: no daemon answers; start one with hotcell serve");
}

struct Answer {
  int status = 0;
  std::string body;
};

Result<Answer> ask(const server::Config& config, std::string_view method, std::string_view target, std::string_view body) {
  TRY_SET(sys::Fd fd, connect_to(config));
  std::string key;
  if (const char* secret = ::getenv("HOTCELL_KEY"); secret != nullptr) key = cat("Authorization: Bearer ", secret, "\r\n");
  TRY(sys::write_all(fd.get(), cat(method, " ", target, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n", key,
                                   "Content-Type: application/json\r\nContent-Length: ", body.size(), "\r\n\r\n", body)));
  TRY_SET(std::string text, sys::read_fd(fd.get(), 256u << 20));
  auto end = text.find("\r\n\r\n");
  if (!text.starts_with("HTTP/1.1 ") || end == std::string::npos) return make_error(ErrorCode::kIo, "--daemon: what answers is no daemon of ours");
  return Answer{std::atoi(text.c_str() + 9), text.substr(end + 4)};
}

// Of the front of a result object, where nothing of the program's is yet; "null" is no value.
std::string field(std::string_view json, std::string_view name) {
  json = json.substr(0, json.find("\"stdout"));
  auto at = json.find(cat("\"", name, "\":"));
  if (at == std::string_view::npos) return {};
  auto value = json.substr(at + name.size() + 3);
  value = value.substr(0, value.find_first_of(",}"));
  if (value == "null") return {};
  return std::string(value.starts_with('"') ? value.substr(1, value.size() - 2) : value);
}

std::optional<ExitReason> reason_of(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(ExitReason::kVerification); ++i)
    if (to_string(static_cast<ExitReason>(i)) == name) return static_cast<ExitReason>(i);
  return std::nullopt;
}

}  // namespace

Result<int> run_by_daemon(const Parsed& parsed) {
  TRY(check_options(parsed));
  TRY_SET(server::Config config, server::load_config(server::standard_sources()));
  TRY_SET(std::string request, request_json(parsed));
  TRY_SET(Answer answer, ask(config, "POST", "/api/v1/sandbox/execute", request));
  if (answer.status != 200) {
    auto at = answer.body.find("\"message\":\"");
    auto end = answer.body.find("\",\"", at == std::string::npos ? 0 : at);
    return bad(cat("the daemon says: ", at == std::string::npos ? answer.body : answer.body.substr(at + 11, end - at - 11)));
  }
  const std::string id = field(answer.body, "id");
  Verdict verdict;
  auto reason = reason_of(field(answer.body, "exit_reason"));
  if (id.empty() || !reason) return make_error(ErrorCode::kIo, "--daemon: its answer makes no sense");
  verdict.reason = *reason;
  if (auto code = field(answer.body, "exit_code"); !code.empty()) verdict.exit_code = std::atoi(code.c_str());
  if (auto signal = field(answer.body, "signal"); !signal.empty()) verdict.signal = std::atoi(signal.c_str());
  // The daemon's profile may want it without our asking.
  const auto inspection = read_inspection(answer.body);
  const int code = inspected_exit_code(inspection, verdict.cli_exit_code());
  if (parsed.has(Opt::kJson)) {
    if (int failed = print(answer.body + "\n"); failed != 0) return failed;
    return code;
  }
  for (int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    std::string_view stream = fd == STDOUT_FILENO ? "stdout" : "stderr";
    TRY_SET(Answer output, ask(config, "GET", cat("/api/v1/executions/", id, "/output?stream=", stream), {}));
    if (output.status == 200) TRY(sys::write_all(fd, output.body));
  }
  if (verdict.reason != ExitReason::kExited) say(cat(to_string(verdict.reason), " (hotcell history show ", id, ")"));
  if (inspection)
    for (const auto& sentence : inspection_words(*inspection)) say(sentence);
  return code;
}

}  // namespace hotcell
