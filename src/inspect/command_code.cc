// One-liners of other languages: what they reach is told from the names they use and the addresses they hold.
#include <algorithm>
#include <array>
#include <cctype>
#include <span>

#include "inspect/command_tools.h"
#include "inspect/hosts.h"

namespace hotcell::inspect {

namespace {

constexpr std::array<std::string_view, 41> kNetwork = {
    "urllib", "requests.", "http.client", "httpx", "aiohttp", "socket", "ftplib", "smtplib", "telnetlib", "xmlrpc", "paramiko",
    "IO::Socket", "LWP", "HTTP::Tiny", "Net::", "TCPSocket", "UDPSocket", "open-uri", "URI.open", "fetch(", "XMLHttpRequest",
    "require('http", "require(\"http", "require('net", "require(\"net", "require('dns", "require(\"dns", "node:http", "node:net",
    "fsockopen", "curl_", "file_get_contents(", "stream_socket_client", "/inet/", "WebClient", "gethostby", "getaddrinfo",
    "iwr ", "irm ", "Invoke-WebRequest", "Invoke-RestMethod"};
constexpr std::array<std::string_view, 18> kSends = {"open(", "environ", "read(", "readFile", "File.read", "process.env", "ENV[", "%ENV", "getenv",
                                                     "post(", "POST", "send", "data=", "`", "gc ", "-Body", "-InFile", "|&"};

bool holds(std::string_view code, std::span<const std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [&](auto w) { return code.find(w) != code.npos; });
}

// The texts in quotes that are hosts.
void quoted_hosts(std::string_view code, std::vector<std::string>& to) {
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i] != '\'' && code[i] != '"') continue;
    std::size_t end = code.find(code[i], i + 1);
    if (end == code.npos) return;
    std::string_view s = code.substr(i + 1, end - i - 1);
    if (s.size() < 256 && s.find("://") == s.npos && s.find(' ') == s.npos && looks_like_host(s)) to.push_back(address_of(s).host);
    i = end;
  }
}

}  // namespace

bool is_interpreter(std::string_view program) {
  static constexpr std::array<std::string_view, 11> kNames = {"python", "perl", "ruby", "node", "nodejs", "php", "deno", "bun", "lua", "pwsh", "powershell"};
  while (!program.empty() && (std::isdigit(static_cast<unsigned char>(program.back())) != 0 || program.back() == '.')) program.remove_suffix(1);
  return std::find(kNames.begin(), kNames.end(), program) != kNames.end();
}

bool runs_text(std::string_view code) {
  static constexpr std::array<std::string_view, 6> kRuns = {"exec(", "eval(", "IEX", "iex ", "iex(", "Invoke-Expression"};
  return holds(code, kRuns);
}

std::vector<Reach> reaches_of_code(std::string_view code) {
  if (!holds(code, kNetwork) && code.find("://") == code.npos) return {};
  std::vector<std::string> hosts;
  for (std::size_t at = code.find("://"); at != code.npos && hosts.size() < 32; at = code.find("://", at + 3)) {
    std::string host = address_of(code.substr(at + 3, 300)).host;
    if (!host.empty()) hosts.push_back(std::move(host));
  }
  for (std::string_view prefix : {"/inet/tcp/0/", "/inet/udp/0/"})  // gawk
    if (auto at = code.find(prefix); at != code.npos) hosts.push_back(address_of(code.substr(at + prefix.size(), 300)).host);
  bool network = holds(code, kNetwork);
  if (!network) return {};  // an address that is only printed
  quoted_hosts(code.substr(0, 64u << 10), hosts);
  bool sends = holds(code, kSends);
  std::vector<Reach> out;
  for (auto& host : hosts) out.push_back({std::move(host), sends, false, false});
  // `import socket` for the name of this machine reaches nothing; what opens something must say where.
  static constexpr std::array<std::string_view, 8> kOpens = {"urlopen", "connect(", "requests.", "fetch(", "fsockopen", "IO::Socket", "TCPSocket", "curl_exec"};
  if (out.empty() && holds(code, kOpens)) out.push_back({"", sends, false, false});
  return out;
}

}  // namespace hotcell::inspect
