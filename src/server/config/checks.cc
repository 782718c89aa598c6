#include "server/config/checks.h"

#include <arpa/inet.h>
#include <sys/un.h>

#include <algorithm>

#include "base/strings.h"
#include "core/policy/units.h"

namespace hotcell::server {
namespace {

Error bad(std::string_view text, std::string_view what, std::string_view accepted) {
  return make_error(ErrorCode::kInvalid, cat(quoted(text), " ", what, "; accepted: ", accepted));
}

bool all_of(std::string_view text, std::string_view extra) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           extra.find(c) != std::string_view::npos;
  });
}

bool is_v4(std::string_view host) {
  in_addr address{};
  return ::inet_pton(AF_INET, std::string(host).c_str(), &address) == 1;
}
bool is_v6(std::string_view host) {
  in6_addr address{};
  return ::inet_pton(AF_INET6, std::string(host).c_str(), &address) == 1;
}

bool is_port(std::string_view text) {
  auto number = parse_u64(text);
  return number && *number <= 65535 && text.size() <= 5;
}

bool is_name(std::string_view host) {
  return !host.empty() && host.size() <= 253 && all_of(host, ".-_") && host.front() != '-' && host.front() != '.';
}

struct HostPort {
  std::string_view host, port;
  bool bracketed = false, has_port = false;
};

// `[v6]:port`, `host:port` or `host`; only splits.
HostPort parts_of(std::string_view text) {
  HostPort out;
  if (text.starts_with('[')) {
    auto close = text.find(']');
    if (close == text.npos) return {};
    out.host = text.substr(1, close - 1);
    out.bracketed = true;
    auto rest = text.substr(close + 1);
    if (!rest.empty() && rest[0] != ':') return {};
    out.has_port = !rest.empty();
    if (out.has_port) out.port = rest.substr(1);
    return out;
  }
  auto colon = text.rfind(':');
  out.host = text.substr(0, colon);
  out.has_port = colon != text.npos;
  if (out.has_port) out.port = text.substr(colon + 1);
  return out;
}

bool is_host_port(std::string_view text) {
  auto p = parts_of(text);
  if (p.has_port && !is_port(p.port)) return false;
  return p.bracketed ? is_v6(p.host) : is_v4(p.host) || is_name(p.host);
}

}  // namespace

Result<void> check_address(const std::string& text) {
  constexpr std::string_view kAccepted = "an address and a port from 0 to 65535, as in 127.0.0.1:7070 or [::1]:7070";
  auto p = parts_of(text);
  if (!p.has_port || !is_port(p.port)) return bad(text, "has no port", kAccepted);
  // A name would be looked up at start, and whoever answers would decide where we listen.
  bool known = p.bracketed ? is_v6(p.host) : is_v4(p.host) || p.host == "localhost";
  if (!known) return bad(text, "is no address", kAccepted);
  return {};
}

bool is_loopback(std::string_view address) {
  auto p = parts_of(address);
  if (p.host == "localhost") return true;
  if (!p.bracketed) return is_v4(p.host) && p.host.starts_with("127.");
  in6_addr v6{};
  return ::inet_pton(AF_INET6, std::string(p.host).c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

Result<void> check_path(const std::string& text) {
  constexpr std::string_view kAccepted = "an absolute path without `.`, `..` and empty parts";
  if (!text.starts_with('/')) return bad(text, "is not absolute", kAccepted);
  if (text == "/") return {};
  for (auto part : split(std::string_view(text).substr(1), '/')) {
    if (part.empty() || part == "." || part == "..") return bad(text, "is no plain path", kAccepted);
  }
  return {};
}

Result<void> check_decisions(const std::string& text) {
  return text == "standard" || check_path(text).ok() ? Result<void>() : bad(text, "is neither standard nor a file", "standard, or an absolute path without `.` and `..`");
}

Result<void> check_socket(const std::string& text) {
  TRY(check_path(text));
  if (text.size() < sizeof(sockaddr_un::sun_path)) return {};
  return bad(text, "is too long for a socket", cat("up to ", sizeof(sockaddr_un::sun_path) - 1, " bytes"));
}

Result<void> check_host(const std::string& text) {
  if (is_host_port(text)) return {};
  return bad(text, "is no host",
             "a name or an address as a Host header has it, as in cells.example.org or [2001:db8::1]:80");
}

Result<void> check_origin(const std::string& text) {
  std::string_view rest = text;
  bool scheme = rest.starts_with("https://") || rest.starts_with("http://");
  if (scheme && is_host_port(rest.substr(rest.find("//") + 2))) return {};
  return bad(text, "is no origin", "a scheme and a host without a path, as in https://cells.example.org");
}

Result<void> check_endpoint(const std::string& text) {
  constexpr std::string_view kAccepted = "an address such as http://127.0.0.1:4318, without a password";
  std::string_view rest = text;
  if (!rest.starts_with("https://") && !rest.starts_with("http://")) return bad(text, "is no endpoint", kAccepted);
  rest.remove_prefix(rest.find("//") + 2);
  auto slash = std::min(rest.find('/'), rest.size());
  if (!is_host_port(rest.substr(0, slash)) || !all_of(rest.substr(slash), "/._~-"))
    return make_error(ErrorCode::kInvalid, cat("is no endpoint; accepted: ", kAccepted));  // it may hold a password
  return {};
}

Result<void> check_profile(const std::string& text) {
  if (!text.empty()) return {};
  return bad(text, "is no profile", "a built-in name (see hotcell profile list) or the path of a file");
}

Result<void> check_profile_name(const std::string& text) {
  if (!text.empty() && text.find('/') == text.npos) return {};
  return bad(text, "is no name of a profile", "a name (see hotcell profile list)");
}

}  // namespace hotcell::server
