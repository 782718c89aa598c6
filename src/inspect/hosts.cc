#include "inspect/hosts.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "base/strings.h"
#include "inspect/secrets.h"

namespace hotcell::inspect {

namespace {

std::string lower(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool is_number(std::string_view s) {
  if (s.empty()) return false;
  int base = s.starts_with("0x") ? 16 : 10;
  if (base == 16) s.remove_prefix(2);
  unsigned long value = 0;
  auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value, base);
  return error == std::errc() && end == s.data() + s.size();
}

constexpr std::array<std::string_view, 44> kDrops = {
    "webhook.site", "requestbin.com", "requestbin.net", "pipedream.net", "ngrok.io", "ngrok.app", "ngrok-free.app",
    "ngrok.dev", "burpcollaborator.net", "oastify.com", "oast.pro", "oast.live", "oast.site", "oast.online", "oast.fun",
    "oast.me", "interact.sh", "interactsh.com", "transfer.sh", "pastebin.com", "file.io", "hookb.in", "beeceptor.com",
    "requestcatcher.com", "dnslog.cn", "ceye.io", "trycloudflare.com", "serveo.net", "localhost.run", "loca.lt", "0x0.st",
    "termbin.com", "ix.io", "paste.rs", "bashupload.com", "gofile.io", "temp.sh", "canarytokens.com", "hastebin.com",
    "dpaste.com", "paste.ee", "anonfiles.com", "postb.in", "typedwebhook.tools"};

bool under(std::string_view host, std::string_view domain) {
  return host == domain || (host.size() > domain.size() && host.ends_with(domain) && host[host.size() - domain.size() - 1] == '.');
}

}  // namespace

Address address_of(std::string_view text) {
  if (auto scheme = text.find("://"); scheme != text.npos && scheme < 12) text.remove_prefix(scheme + 3);
  else if (text.starts_with("//")) text.remove_prefix(2);
  // A backslash ends the host for what fetches, too.
  std::size_t end = std::min(text.find_first_of("/?#\\ \t\r\n\"'<>`)"), text.size());
  std::string_view authority = text.substr(0, end);
  Address a;
  a.path = text.substr(end);
  if (auto at = authority.rfind('@'); at != authority.npos) authority.remove_prefix(at + 1);
  if (authority.starts_with('[')) {
    authority = authority.substr(1, std::min(authority.find(']'), authority.size()) - 1);
  } else if (auto colon = authority.find(':'); colon != authority.npos) {
    authority = authority.substr(0, colon);
  }
  while (authority.ends_with('.')) authority.remove_suffix(1);
  a.host = lower(authority);
  if (auto percent = a.host.find('%'); percent != a.host.npos) {
    std::string decoded;
    for (std::size_t i = 0; i < a.host.size(); ++i) {
      unsigned value = 0;
      if (a.host[i] == '%' && i + 2 < a.host.size() &&
          std::from_chars(a.host.data() + i + 1, a.host.data() + i + 3, value, 16).ec == std::errc())
        decoded += static_cast<char>(value), i += 2;
      else decoded += a.host[i];
    }
    a.host = lower(decoded);
  }
  return a;
}

bool is_allowed(std::string_view host, const std::vector<std::string>& allowed) {
  if (host.empty()) return false;
  for (const auto& entry : allowed) {
    std::string rule = lower(trim(entry));
    while (rule.ends_with('.')) rule.pop_back();
    if (rule.empty()) continue;
    if (rule == "*") return true;
    if (rule.starts_with("*.")) {
      if (under(host, std::string_view(rule).substr(2))) return true;
    } else if (rule.starts_with('.')) {
      if (host != rule.substr(1) && under(host, std::string_view(rule).substr(1))) return true;
    } else if (host == rule) {
      return true;
    }
  }
  return false;
}

bool is_ip(std::string_view host) {
  if (host.find(':') != host.npos) return true;
  auto parts = split(host, '.');
  return parts.size() == 4 && std::all_of(parts.begin(), parts.end(), [](auto p) { return is_number(p); });
}

bool is_local(std::string_view host) {
  return host == "localhost" || host.ends_with(".localhost") || host == "::1" || host == "0.0.0.0" || host == "::" ||
         (is_ip(host) && (host.starts_with("127.") || host.starts_with("::ffff:127.")));
}

bool is_disguised_ip(std::string_view host) {
  auto parts = split(host, '.');
  if (parts.size() > 4 || host.empty()) return false;
  bool odd = parts.size() < 4;
  for (auto p : parts) {
    if (!is_number(p)) return false;
    odd = odd || p.starts_with("0x") || (p.size() > 1 && p[0] == '0');
  }
  return odd && (parts.size() > 1 || host.size() > 5 || host.starts_with("0x"));
}

bool is_drop(std::string_view host) {
  return std::any_of(kDrops.begin(), kDrops.end(), [&](auto d) { return under(host, d); });
}

bool carries_data(std::string_view host) {
  auto labels = split(host, '.');
  if (labels.size() < 3) return false;
  labels.resize(labels.size() - 2);
  std::size_t total = 0;
  for (auto label : labels) {
    total += label.size();
    if (label.find('$') != label.npos || label.find('`') != label.npos || label.find('\x01') != label.npos) return true;
    auto digits = std::count_if(label.begin(), label.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (label.starts_with("akia") && label.size() == 20) return true;
    if (label.size() >= 24 && (digits >= 3 || entropy_of(label) > 3.6) && label.find('-') == label.npos) return true;
  }
  return total > 80;
}

bool looks_like_host(std::string_view word) {
  // An IPv6 address without its brackets.
  if (std::count(word.begin(), word.end(), ':') >= 2 &&
      std::all_of(word.begin(), word.end(), [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0 || c == ':' || c == '.'; }))
    return true;
  Address a = address_of(word);
  if (word.find("://") != word.npos) return !a.host.empty();
  if (is_local(a.host) || is_disguised_ip(a.host) || is_ip(a.host)) return !a.host.empty();
  auto dot = a.host.rfind('.');
  if (dot == a.host.npos || dot == 0 || a.host.size() - dot < 3) return false;
  return std::all_of(a.host.begin(), a.host.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_' || c == '$' || c == '\x01' || (c & 0x80) != 0;
  }) && std::all_of(a.host.begin() + static_cast<std::ptrdiff_t>(dot) + 1, a.host.end(), [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0;
  });
}

}  // namespace hotcell::inspect
