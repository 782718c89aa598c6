#include "server/auth.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "base/sha256.h"
#include "base/strings.h"
#include "server/http/target.h"

namespace hotcell::server {
namespace {

Refusal refuse(int status, std::string message, std::string reason, std::uint32_t retry_after = 0) {
  Refusal out;
  out.status = status;
  out.message = std::move(message);
  out.reason = std::move(reason);
  out.retry_after = retry_after;
  return out;
}

// A browser's WebSocket has no other header for it: "hotcell-key.hc_…" among the protocols it offers.
std::string_view key_of_protocols(std::string_view offered) {
  constexpr std::string_view kPrefix = "hotcell-key.";
  for (auto word : split(offered, ','))
    if (trim(word).starts_with(kPrefix)) return trim(word).substr(kPrefix.size());
  return {};
}

// From `Authorization: Bearer …` or `X-Api-Key: …`; empty: none given.
std::string_view key_of(const HttpRequest& request) {
  if (const auto given = request.header("authorization")) {
    if (given->size() > 7 && ascii_lower(given->substr(0, 7)) == "bearer ") return trim(given->substr(7));
    return "?";  // some other scheme: wrong, not absent
  }
  if (const auto given = request.header("x-api-key")) return *given;
  return request.header("upgrade") ? key_of_protocols(request.header("sec-websocket-protocol").value_or("")) : std::string_view();
}

bool allows(const Caller& caller, Scope scope) {
  switch (scope) {
    case Scope::kNone:
      return true;
    case Scope::kRead:
      return caller.read || caller.admin;
    case Scope::kRun:
      return caller.run || caller.admin;
    case Scope::kAdmin:
      return caller.admin;
    case Scope::kOwn:
      return caller.read || caller.run || caller.admin;
  }
  return false;
}

std::string_view name_of(Scope scope) {
  return scope == Scope::kRead ? "read" : scope == Scope::kRun ? "run" : scope == Scope::kOwn ? "read or run" : "admin";
}

// "http://host:port" → "host:port"; nothing for "null" and other schemes.
std::string_view host_of_origin(std::string_view origin) {
  for (std::string_view scheme : {"http://", "https://"})
    if (origin.starts_with(scheme)) return origin.substr(scheme.size());
  return {};
}

Error refused(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

Result<void> check_address(const ListenAddress& address, const Config& config, std::size_t keys) {
  if (address.loopback) return {};
  if ((config.tls_cert.empty() || config.tls_key.empty()) && !config.tls_elsewhere)
    return refused(cat("listen: ", address.text,
                       " is not the loopback, and there is no TLS: set tls.cert and tls.key, tls.elsewhere when "
                       "something in front of it ends TLS, or put a proxy with TLS before 127.0.0.1"));
  // Without a key nobody gets in from there: safe, but rarely meant. Whoever writes that keys are needed everywhere will
  // make the first one while it runs, which is the only way in a container that has just been started.
  if (keys == 0 && !config.require_key)
    return refused(cat("listen: ", address.text,
                       " is not the loopback, and there is no key that a caller could show: "
                       "make one with 'hotcell key create NAME', or say auth.require_key to make it later"));
  return {};
}

}  // namespace

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  volatile unsigned char difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    difference =
        static_cast<unsigned char>(difference | (static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i])));
  return difference == 0;
}

Authenticator::Authenticator(AuthOptions options)
    : options_(std::move(options)), uses_(std::make_shared<std::map<std::string, Use, std::less<>>>()) {
  for (std::string& host : options_.allowed_hosts) host = ascii_lower(host);
  for (std::string& origin : options_.allowed_origins) {
    origin = ascii_lower(origin);
    if (origin.ends_with('/')) origin.pop_back();
  }
}

// A page of a foreign site can make a browser connect to us under that site's name (DNS rebinding), but then the name
// stands in Host; or send us requests of its own (CSRF), but then its origin stands in Origin.
bool Authenticator::is_own_host(std::string_view text) const {
  auto host = parse_host(text);
  if (!host.ok()) return false;
  if (is_loopback_name(host.value())) return true;
  for (const ListenAddress& own : options_.listening)
    if (host.value().host == own.host && (host.value().port.empty() || host.value().port == cat(own.port))) return true;
  const std::string with_port = cat(host.value().host, ":", host.value().port);
  return std::any_of(options_.allowed_hosts.begin(), options_.allowed_hosts.end(),
                     [&](const std::string& allowed) { return allowed == host.value().host || allowed == with_port; });
}

bool Authenticator::is_allowed_origin(std::string_view origin) const {
  const std::string given = ascii_lower(origin);
  return std::find(options_.allowed_origins.begin(), options_.allowed_origins.end(), given) !=
         options_.allowed_origins.end();
}

std::optional<Refusal> Authenticator::check_names(const Peer& peer, const HttpRequest& request,
                                                  const std::string& authority) {
  const std::string_view host = request.header("host").value_or("");
  if (!authority.empty() && ascii_lower(authority) != ascii_lower(host))
    return refuse(400, "The target and the Host header name different hosts.", "bad_request");
  if (!host.empty() && !parse_host(host).ok())
    return refuse(400, "The Host is not a host name or address.", "bad_request");
  // HTTP/1.0 alone comes as far as this without one.
  if (!peer.unix_socket && host.empty())
    return refuse(403, "The request does not say in a Host header which server it is for; with HTTP/1.0 one is needed here, too.", "host");
  // No browser speaks to a Unix socket, and there clients write anything into Host.
  if (!peer.unix_socket && !is_own_host(host))
    return refuse(403, "This server does not go by the name in the Host header; the key hosts of the configuration lists further ones.", "host");
  if (const auto origin = request.header("origin")) {
    if (!is_allowed_origin(*origin) && !is_own_host(host_of_origin(ascii_lower(*origin))))
      return refuse(403, "Requests from this origin are not allowed; the key origins of the configuration lists those that are.", "origin");
  } else if (request.header("sec-fetch-site") == "cross-site" && request.header("sec-fetch-mode") != "navigate") {
    // Images, scripts and the like that a foreign page embeds come without an Origin.
    return refuse(403, "Other sites may link to this server, not embed it.", "origin");
  }
  return std::nullopt;
}

std::optional<Refusal> Authenticator::admit(const Peer& peer, HttpRequest& request, Scope scope,
                                            std::shared_ptr<void>& lease) {
  request.caller = {};
  const std::string_view key = key_of(request);
  if (!key.empty() && scope != Scope::kNone) return admit_key(key, request, scope, lease);
  if (peer.unix_socket) {
    request.caller.uid = peer.uid;
    if (peer.uid == options_.root_uid || (peer.uid && *peer.uid == options_.own_uid)) return std::nullopt;
    if (scope != Scope::kNone) return refuse(403, "This socket is for the server's own user and for root.", "user");
  } else if (peer.loopback && !options_.require_key && !is_forwarded(request)) {
    return std::nullopt;
  }
  request.caller.name = "anonymous";
  request.caller.run = request.caller.read = request.caller.admin = false;
  if (scope == Scope::kNone) return std::nullopt;
  return refuse(401, "A key is needed: Authorization: Bearer hc_….", "no_key");
}

// Somebody else stands behind a proxy on this machine.
bool Authenticator::is_forwarded(const HttpRequest& request) {
  for (const char* name : {"x-forwarded-for", "forwarded", "via", "x-real-ip"})
    if (request.header(name)) return true;
  return false;
}

std::optional<Refusal> Authenticator::admit_key(std::string_view key, HttpRequest& request, Scope scope,
                                                std::shared_ptr<void>& lease) {
  request.caller = {"anonymous", false, false, false, std::nullopt, 0};
  const std::string hash = sha256_hex(key);
  const auto found = options_.find_key ? options_.find_key(hash) : std::nullopt;
  // The lookup may have been by an index, whose time tells something; of the hash only, and never whether it is right.
  if (!found || !equal_in_constant_time(found->sha256_hex, hash))
    return refuse(401, "This key is not known, or was revoked.", "bad_key");
  request.caller = {found->name, found->run, found->read, found->admin, std::nullopt, found->max_running};
  if (!allows(request.caller, scope))
    return refuse(403, cat("This key does not have the scope '", name_of(scope), "'."), "scope");
  return take_turn(*found, scope, lease);
}

std::optional<Refusal> Authenticator::take_turn(const KeyInfo& key, Scope scope, std::shared_ptr<void>& lease) {
  Use& use = (*uses_)[key.name];
  if (key.requests_per_minute > 0) {
    // A bucket that holds one minute's worth, so that a burst after a pause is no offence.
    const auto now = Clock::now();
    const double capacity = key.requests_per_minute;
    const double per_second = capacity / 60;
    const std::chrono::duration<double> passed = now - use.filled;
    use.tokens =
        use.filled == Clock::time_point() ? capacity : std::min(capacity, use.tokens + passed.count() * per_second);
    use.filled = now;
    if (use.tokens < 1)
      return refuse(429, cat("This key may make ", key.requests_per_minute, " requests a minute."), "rate",
                    static_cast<std::uint32_t>((1 - use.tokens) / per_second) + 1);
    use.tokens -= 1;
  }
  if (key.max_running > 0 && scope == Scope::kRun) {
    if (use.running >= key.max_running)
      return refuse(429, cat("This key may have ", key.max_running, " requests running at once."), "running", 1);
    ++use.running;
    lease = std::shared_ptr<void>(nullptr, [uses = uses_, name = key.name](void*) {
      if (auto it = uses->find(name); it != uses->end() && it->second.running > 0) --it->second.running;
    });
  }
  return std::nullopt;
}

Result<std::vector<ListenAddress>> check_listen(const Config& config, std::size_t keys) {
  if (config.tls_cert.empty() != config.tls_key.empty())
    return refused("tls_cert and tls_key belong together: only one of them is set");
  std::vector<ListenAddress> out;
  for (const std::string& text : config.listen) {
    TRY_SET(ListenAddress address, parse_listen(text));
    TRY(check_address(address, config, keys));
    out.push_back(std::move(address));
  }
  return out;
}

Result<void> check_listener(int fd, const Config& config, std::size_t keys) {
  sockaddr own{};
  socklen_t size = sizeof own;
  if (::getsockname(fd, &own, &size) < 0) return errno_error("getsockname", errno);
  if (own.sa_family == AF_UNIX) return {};
  TRY_SET(ListenAddress address, bound_address(fd));
  return check_address(address, config, keys);
}

}  // namespace hotcell::server
