#include "inspect/command_tools.h"

#include <algorithm>
#include <array>
#include <span>

#include "base/strings.h"
#include "inspect/hosts.h"
#include "inspect/links.h"

namespace hotcell::inspect {

namespace {

using Names = std::span<const std::string_view>;

bool one_of(std::string_view s, Names names) { return std::find(names.begin(), names.end(), s) != names.end(); }

struct Option {
  std::string name, value;
};

struct Taken {
  std::vector<Option> options;
  Words rest;
  const std::string* find(Names names) const {
    for (const auto& o : options)
      if (one_of(o.name, names)) return &o.value;
    return nullptr;
  }
};

// The words of a program as getopt reads them, flags in any order and glued together. `letters`: short options that take
// a value; `longs`: long ones (also after one dash).
Taken take(const Words& words, std::string_view letters, Names longs) {
  Taken t;
  bool only_words = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& w = words[i];
    if (only_words || w.size() < 2 || w[0] != '-') {
      t.rest.push_back(w);
    } else if (w == "--") {
      only_words = true;
    } else if (w[1] == '-' || one_of(w, longs)) {
      auto equals = w.find('=');
      std::string name = w.substr(0, equals);
      if (equals != w.npos) t.options.push_back({name, w.substr(equals + 1)});
      else if (one_of(name, longs) && i + 1 < words.size()) t.options.push_back({name, words[++i]});
      else t.options.push_back({name, ""});
    } else {
      for (std::size_t k = 1; k < w.size(); ++k) {
        std::string name = {'-', w[k]};
        if (letters.find(w[k]) == letters.npos) {
          t.options.push_back({name, ""});
          continue;
        }
        if (k + 1 < w.size()) t.options.push_back({name, w.substr(k + 1)});
        else if (i + 1 < words.size()) t.options.push_back({name, words[++i]});
        break;
      }
    }
  }
  return t;
}

Reach to_host(std::string_view word, bool sends, bool plain = false) { return {address_of(word).host, sends, false, false, plain}; }

// https://host/v$VERSION/x.tgz is a download, https://host/?d=$DATA is not.
Reach to_address(std::string_view word, bool sends) {
  std::string_view path = address_of(word).path, query = path.substr(std::min(path.find_first_of("?#"), path.size()));
  bool computed = path.find('\x01') != path.npos, filled = path.find('$') != path.npos;
  Reach reach = to_host(word, sends || computed || filled, !sends && !computed && query.find('$') == query.npos);
  std::string_view host = reach.host;
  reach.version = std::count(host.begin(), host.end(), '.') == 2 && host.find_first_not_of("0123456789.") == host.npos && word.find('/') == word.npos;
  return reach;
}

bool is_file_name(std::string_view word) {
  for (std::string_view end : {".html", ".htm", ".xhtml", ".txt", ".md", ".xml", ".pdf", ".json", ".csv", ".log", ".gz", ".tgz", ".zip", ".php", ".xsl", ".nse", ".gnmap", ".nmap"})
    if (word.ends_with(end)) return word.find("://") == word.npos && word.find('/') == word.npos;
  return false;
}

// host:port:address and host:port:other:port say where the connection really goes.
std::string_view third_part(std::string_view value) {
  for (int i = 0; i < 2; ++i) value = value.find(':') == value.npos ? std::string_view() : value.substr(value.find(':') + 1);
  return value;
}

std::vector<Reach> curl(const Words& words, bool piped) {
  static constexpr std::string_view kLongs[] = {
      "--data", "--data-raw", "--data-binary", "--data-urlencode", "--data-ascii", "--form", "--form-string", "--json",
      "--upload-file", "--header", "--user-agent", "--output", "--request", "--user", "--proxy", "--url", "--cookie",
      "--cookie-jar", "--max-time", "--connect-timeout", "--retry", "--retry-delay", "--retry-max-time", "--referer", "--cacert",
      "--cert", "--key", "--resolve", "--connect-to", "--write-out", "--interface", "--limit-rate", "--range", "--config",
      "--dump-header", "--proxy-user", "--ciphers", "--unix-socket", "--output-dir", "--dns-servers", "--preproxy", "--socks5",
      "--socks5-hostname", "--socks4", "--oauth2-bearer", "--aws-sigv4", "--url-query", "--capath", "--max-redirs", "--stderr", "--trace"};
  static constexpr std::string_view kSending[] = {"-d", "--data", "--data-raw", "--data-binary", "--data-urlencode", "--data-ascii",
                                                  "-F", "--form", "--form-string", "--json", "-T", "--upload-file", "--url-query"};
  static constexpr std::string_view kHosts[] = {"--url", "-x", "--proxy", "--preproxy", "--socks5", "--socks5-hostname", "--socks4"};
  Taken t = take(words, "AbcCdDeEFHKmoPQrtTuUwxXyYz", kLongs);
  bool sends = t.find(kSending) != nullptr || piped;
  static constexpr std::string_view kMethod[] = {"-X", "--request"};
  if (const auto* method = t.find(kMethod)) sends = sends || *method == "POST" || *method == "PUT" || *method == "PATCH";
  std::vector<Reach> out;
  for (const auto& o : t.options)
    if (o.name == "-K" || o.name == "--config") out.push_back({"", sends, false, false});  // the addresses are in there
    else if (one_of(o.name, kHosts) && !o.value.empty()) out.push_back(to_host(o.value, sends));
    else if ((o.name == "--resolve" || o.name == "--connect-to") && !third_part(o.value).empty()) out.push_back(to_host(third_part(o.value), sends));
  bool far = false;
  for (const auto& w : t.rest) {
    out.push_back(to_address(w, sends));
    far = far || !is_local(out.back().host);
  }
  // An allowed host that is asked for another one hands the request on.
  for (const auto& o : t.options)
    if (far && (o.name == "-H" || o.name == "--header") && (o.value.starts_with("Host:") || o.value.starts_with("host:")))
      out.push_back(to_host(trim(std::string_view(o.value).substr(5)), sends, !sends));
  return out;
}

std::vector<Reach> wget(const Words& words, bool) {
  static constexpr std::string_view kLongs[] = {"--post-data", "--post-file", "--body-data", "--body-file", "--method", "--header",
                                                "--output-document", "--user-agent", "--user", "--password", "--tries", "--timeout",
                                                "--directory-prefix", "--input-file", "--execute", "--referer", "--output-file", "--wait"};
  static constexpr std::string_view kSending[] = {"--post-data", "--post-file", "--body-data", "--body-file"};
  Taken t = take(words, "oaeBiOtTwQPUlARDIX", kLongs);
  std::vector<Reach> out;
  for (const auto& w : t.rest) out.push_back(to_address(w, t.find(kSending) != nullptr));
  static constexpr std::string_view kList[] = {"-i", "--input-file"};
  if (t.find(kList) != nullptr) out.push_back({"", t.find(kSending) != nullptr, false, false});  // the addresses are in there
  static constexpr std::string_view kExecute[] = {"-e", "--execute"};
  if (const auto* e = t.find(kExecute); e != nullptr && e->find("proxy=") != e->npos) out.push_back(to_host(e->substr(e->find('=') + 1), true));
  return out;
}

std::vector<Reach> netcat(const Words& words, bool) {
  static constexpr std::string_view kLongs[] = {"--exec", "--sh-exec", "--lua-exec", "--proxy", "--source", "--wait"};
  static constexpr std::string_view kShell[] = {"-e", "-c", "--exec", "--sh-exec", "--lua-exec"};
  static constexpr std::string_view kListen[] = {"-l", "--listen"};
  Taken t = take(words, "ecgGiIopPqsTVwxXO", kLongs);
  bool shell = t.find(kShell) != nullptr;
  if (t.find(kListen) != nullptr && !shell) return {};
  static constexpr std::string_view kScan[] = {"-z"};
  if (t.rest.empty()) return shell ? std::vector<Reach>{{"", true, false, true}} : std::vector<Reach>{};
  bool port = t.rest.size() > 1 && t.rest[1].find_first_not_of("0123456789-$") == std::string::npos;
  if (!port && !looks_like_host(t.rest[0]) && t.rest[0].find('$') == std::string::npos && !shell) return {};
  return {{address_of(t.rest[0]).host, t.find(kScan) == nullptr, false, shell}};
}

std::vector<Reach> socat(const Words& words, bool) {
  std::vector<Reach> out;
  bool shell = std::any_of(words.begin(), words.end(), [](const auto& w) { return w.starts_with("EXEC:") || w.starts_with("exec:") || w.starts_with("SYSTEM:"); });
  for (const auto& w : words) {
    auto colon = w.find(':');
    if (colon == w.npos) continue;
    std::string kind = w.substr(0, colon);
    for (char& c : kind) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
    static constexpr std::string_view kKinds[] = {"TCP", "TCP4", "TCP6", "UDP", "UDP4", "UDP6", "OPENSSL", "SSL", "TCP-CONNECT",
                                                  "TCP4-CONNECT", "OPENSSL-CONNECT", "UDP-CONNECT", "UDP-SENDTO", "SOCKS4", "SOCKS4A", "PROXY", "SCTP"};
    if (one_of(kind, kKinds)) out.push_back({address_of(w.substr(colon + 1)).host, true, false, shell});
  }
  return out;
}

std::vector<Reach> ssh(const Words& words, bool piped) {
  static constexpr std::array<std::string_view, 0> kNone{};
  Taken t = take(words, "BbcDEeFIiJLlmOopQRSWw", kNone);
  std::vector<Reach> out;
  static constexpr std::string_view kJump[] = {"-J", "-W"};
  if (const auto* j = t.find(kJump)) out.push_back(to_host(*j, true));
  static constexpr std::string_view kTunnel[] = {"-R", "-L", "-D", "-w", "-W"};
  if (!t.rest.empty()) out.push_back(to_host(t.rest[0], true, !piped && t.find(kTunnel) == nullptr));
  return out;
}

// scp, sftp and rsync: whatever has a colon before its first slash is on another machine.
std::vector<Reach> copying(const Words& words, bool) {
  static constexpr std::string_view kLongs[] = {"--rsh", "--exclude", "--include", "--files-from", "--port", "--password-file", "--bwlimit", "--timeout"};
  Taken t = take(words, words[0] == "rsync" ? "eBTfM" : "BbcDFiJloPSsXR", kLongs);
  std::vector<Reach> out;
  for (const auto& w : t.rest) {
    bool url = w.find("://") != w.npos, far = !url && w.find(':') != w.npos && w.find(':') < w.find('/') && w.find(':') > 1;
    bool login = words[0] == "sftp" && (w.find('@') != w.npos || looks_like_host(w));
    if (!url && !far && !login) continue;
    bool fetches = words[0] != "sftp" && t.rest.size() > 1 && &w != &t.rest.back();  // what comes last is written to
    out.push_back(to_host(url || login ? std::string_view(w) : std::string_view(w).substr(0, w.find(':')), true, fetches));
  }
  return out;
}

std::vector<Reach> git(const Words& words, bool) {
  static constexpr std::string_view kLongs[] = {"--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"};
  std::size_t at = 1;
  std::vector<Reach> out;
  // What sends everything another way: git -c http.proxy=…, git config url.….insteadOf.
  auto turns = [&](std::string_view w) {
    std::size_t url = w.find("://");
    bool setting = w.find("proxy") != w.npos || w.find("url.") != w.npos || w.find("insteadOf") != w.npos;
    if (setting && url != w.npos) out.push_back(to_host(w.substr(url + 3), true));
    // git -c core.sshCommand="ssh host": it runs that instead.
    std::string_view value = w.substr(std::min(w.find('='), w.size()));
    if (!w.starts_with("core.sshCommand=") && !w.starts_with("core.sshcommand=") && !w.starts_with("core.gitProxy=")) return;
    Words inner;
    for (auto piece : split(value.substr(1), ' '))
      if (!piece.empty()) inner.emplace_back(piece);
    for (const Reach& reach : reaches_of(inner, true)) out.push_back(reach);
  };
  for (; at < words.size() && words[at].starts_with('-'); ++at)
    if (words[at] == "-c" || words[at] == "-C" || one_of(words[at], kLongs)) {
      if (words[at] == "-c" && at + 1 < words.size()) turns(words[at + 1]);
      ++at;
    }
  if (at >= words.size()) return out;
  if (words[at] == "config")
    for (std::size_t i = at + 1; i < words.size(); ++i) {
      if ((words[i].ends_with(".url") || words[i].ends_with(".pushurl")) && i + 1 < words.size()) out.push_back(to_host(words[i + 1], true));
      turns(words[i]);
      if (words[i].find("proxy") != std::string::npos && i + 1 < words.size()) turns(cat("proxy=", words[i + 1]));
    }
  if (words[at] == "send-email" || words[at] == "imap-send")
    for (std::size_t i = at + 1; i < words.size(); ++i) {
      std::string_view w = words[i];
      static constexpr std::string_view kTo[] = {"--to", "--cc", "--bcc", "--smtp-server"};
      if (!one_of(w.substr(0, w.find('=')), kTo)) continue;
      std::string_view value = w.find('=') != w.npos ? w.substr(w.find('=') + 1) : i + 1 < words.size() ? std::string_view(words[i + 1]) : w.substr(w.size());
      if (!value.empty()) out.push_back(to_host(value.substr(0, value.find('>')), true, true));
    }
  static constexpr std::string_view kWords[] = {"push", "clone", "fetch", "pull", "ls-remote", "remote", "archive", "submodule", "send-pack", "bundle"};
  if (!one_of(words[at], kWords)) return out;
  bool notes = words[at] == "remote";  // sends nothing yet; every new repository's page says to do it
  bool sends = words[at] == "push" || words[at] == "send-pack" || notes;
  for (std::size_t i = at + 1; i < words.size(); ++i) {
    std::string_view w = words[i];
    if (w.starts_with("--") && w.find('=') != w.npos) w.remove_prefix(w.find('=') + 1);
    bool scp_like = w.find('@') != w.npos && w.find(':') != w.npos && w.find(':') < w.find('/') && w.find('@') < w.find(':');
    if (w.find("://") != w.npos && !w.starts_with("file:")) out.push_back(to_host(w, sends, notes));
    else if (scp_like) out.push_back(to_host(w.substr(0, w.find(':')), sends, notes));
  }
  return out;
}

// Whatever is an address among the words, for programs that send or fetch.
std::vector<Reach> any_url(const Words& words, bool sends) {
  std::vector<Reach> out;
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::string_view w = words[i];
    if (w.starts_with('-') && w.find('=') != w.npos) w.remove_prefix(w.find('=') + 1);
    if (w.find("://") != w.npos && !w.starts_with("file:")) out.push_back(to_host(w, sends));
  }
  return out;
}

// npm WARN …, docker: … are what such a program says, not what it is told.
bool is_told(const Words& words) {
  static constexpr std::string_view kVerbs[] = {"install", "i", "add", "ci", "publish", "login", "adduser", "config", "set", "upload", "push", "pull",
                                                "deploy", "run", "create", "init", "update", "upgrade", "download", "wheel", "sync", "dlx", "exec", "x",
                                                "fetch", "build", "search", "index", "lock", "remove", "info", "view", "pip", "tool", "yank", "owner", "source",
                                                "import", "export", "send"};
  auto verb = std::find_if(words.begin() + 1, words.end(), [](const auto& w) { return !w.starts_with('-'); });
  return verb != words.end() && (one_of(*verb, kVerbs) || verb->starts_with("http"));
}

std::vector<Reach> publishing(const Words& words, bool) {
  if (!is_told(words)) return {};
  static constexpr std::string_view kVerbs[] = {"publish", "upload", "push", "deploy"};
  bool sends = std::any_of(words.begin() + 1, words.end(), [](const auto& w) { return one_of(w, kVerbs); });
  auto out = any_url(words, sends);
  if (words[0] == "docker" || words[0] == "podman") {
    if (!sends || words.size() < 3) return {};
    std::string host = address_of(words.back()).host;
    if (words.back().find('/') != std::string::npos && host.find('.') != host.npos) out.push_back({host, true, false, false});
  }
  return out;
}

// PowerShell's, whose options are of any case.
std::vector<Reach> web_request(const Words& words, bool piped) {
  bool sends = piped;
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::string w = ascii_lower(words[i]);
    sends = sends || w == "-infile" || w == "-body" || w == "-form" || (words[i - 1].starts_with('-') && (w == "post" || w == "put" || w == "patch"));
  }
  return any_url(words, sends);
}

std::vector<Reach> installing(const Words& words, bool sends) { return is_told(words) ? any_url(words, sends) : std::vector<Reach>{}; }

std::vector<Reach> buckets(const Words& words, bool) {
  std::vector<Reach> out;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& w = words[i];
    bool bucket = w.starts_with("s3://") || w.starts_with("gs://");
    bool remote = words[0] == "rclone" && w.find(':') != w.npos && w.find(':') > 0 && w[0] != '-';
    if (!(bucket || remote || w.find("://") != w.npos) || i < 2) continue;
    // A bucket is a host of its provider; where a remote of rclone leads stands in its configuration.
    std::string host = remote ? std::string() : address_of(w).host;
    if (bucket) host += w.starts_with("s3") ? ".s3.amazonaws.com" : ".storage.googleapis.com";
    out.push_back({host, true, false, false});
  }
  return out;
}

std::vector<Reach> asking(const Words& words, bool) {
  static constexpr std::array<std::string_view, 0> kNone{};
  Taken t = take(words, words[0] == "dig" ? "bcfkpqtxy" : words[0] == "host" ? "ctWRmN" : "", kNone);
  std::vector<Reach> out;
  for (const auto& o : t.options)
    if (o.name == "-q") out.push_back({address_of(o.value).host, false, true, false});
  for (const auto& w : t.rest) {
    if (w.starts_with('+') || w == "hosts" || w == "ahosts") continue;
    std::string_view name = w.starts_with('@') ? std::string_view(w).substr(1) : std::string_view(w);
    if (name.find('.') == name.npos && !w.starts_with('@')) continue;  // a type such as TXT
    out.push_back({address_of(name).host, false, true, false});
  }
  return out;
}

std::vector<Reach> ping(const Words& words, bool) {
  static constexpr std::array<std::string_view, 0> kNone{};
  Taken t = take(words, "cIilMmpQSsTtWw", kNone);
  static constexpr std::string_view kPattern[] = {"-p"};
  if (t.rest.empty()) return {};
  std::string host = address_of(t.rest.back()).host;
  if (t.find(kPattern) != nullptr) return {{host, true, false, false}};
  return carries_data(host) ? std::vector<Reach>{{host, false, true, false}} : std::vector<Reach>{};
}

std::vector<Reach> openssl(const Words& words, bool piped) {
  static constexpr std::string_view kLongs[] = {"-connect", "-servername", "-proxy", "-host", "-port", "-CAfile", "-cert", "-key"};
  if (words.size() < 2 || words[1] != "s_client") return {};
  Taken t = take(words, "", kLongs);
  static constexpr std::string_view kHosts[] = {"-connect", "-host", "-proxy"};
  const auto* host = t.find(kHosts);
  if (host == nullptr && t.rest.size() < 2) return {};
  return {to_host(host != nullptr ? *host : t.rest[1], true, !piped)};
}

std::vector<Reach> logging_in(const Words& words, bool piped) {
  for (std::size_t i = 1; i < words.size(); ++i)
    if (words[i][0] != '-' && looks_like_host(words[i])) return {to_host(words[i], true, words[0] == "telnet" && !piped)};
  return {};
}

// lynx HOST, nmap HOST: a word that can be a host and is no file.
std::vector<Reach> looking_at(const Words& words, bool piped) {
  static constexpr std::string_view kLongs[] = {"-oN", "-oX", "-oG", "-oA", "-iL", "-p", "--script", "--dns-servers", "-cfg", "-o", "-T"};
  std::vector<Reach> out;
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[0] == "nmap" && one_of(words[i], kLongs)) ++i;
    else if (!words[i].empty() && words[i][0] != '-' && words[i][0] != '/' && words[i][0] != '.' && looks_like_host(words[i]) && !is_file_name(words[i]) &&
             !words[i].starts_with("file:")) out.push_back(to_address(words[i], piped));
  }
  return out;
}

// go get host/module: a module is named by where it is.
std::vector<Reach> go(const Words& words, bool) {
  if (words.size() < 3 || !(words[1] == "get" || words[1] == "install" || words[1] == "run")) return {};
  std::vector<Reach> out;
  for (std::size_t i = 2; i < words.size(); ++i) {
    std::string_view w = words[i], module = w.substr(0, w.find('@'));
    if (w.empty()) continue;
    bool far = module.find('/') != w.npos && w[0] != '-' && w[0] != '.' && w[0] != '/' && !module.ends_with(".go") && looks_like_host(module);
    if (far && (words[1] != "run" || module.size() < w.size())) out.push_back(to_host(module, false));
    if (words[1] == "run" && w[0] != '-') break;  // the rest is the program's
  }
  return out;
}

// apt -o …::Proxy=http://host: everything comes from there.
std::vector<Reach> apt(const Words& words, bool) {
  std::vector<Reach> out;
  for (const auto& w : words)
    if (auto at = w.find("Proxy="); at != w.npos && w.find("://", at) != w.npos) out.push_back(to_host(std::string_view(w).substr(at + 6), false));
  return out;
}

std::vector<Reach> http_client(const Words& words, bool) {
  static constexpr std::string_view kVerbs[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"};
  bool sends = words.size() > 1 && (words[1] == "POST" || words[1] == "PUT" || words[1] == "PATCH");
  for (std::size_t i = 1; i < words.size(); ++i)
    if (!words[i].empty() && words[i][0] != '-' && !one_of(words[i], kVerbs) && looks_like_host(words[i])) return {to_host(words[i], sends || words.size() > i + 1)};
  return {};
}

std::vector<Reach> mail(const Words& words, bool) {
  for (std::size_t i = 1; i < words.size(); ++i)
    if (words[i].find('@') != std::string::npos && words[i][0] != '-') return {to_host(words[i], true)};
  return {};
}

// mysql -h HOST, psql --host=HOST, redis-cli -h HOST, logger -n HOST, whois -h HOST
std::vector<Reach> by_option(const Words& words, bool piped) {
  static constexpr std::string_view kLongs[] = {"--host", "--server", "--username", "--password", "--port", "--command", "--execute", "--dbname"};
  Taken t = take(words, words[0] == "logger" ? "nPptf" : "hHpPUucedDn", kLongs);
  static constexpr std::string_view kHost[] = {"-h", "-H", "--host", "--server"}, kLogger[] = {"-n", "--server"};
  const auto* host = words[0] == "logger" ? t.find(kLogger) : t.find(kHost);
  if (host == nullptr || host->empty()) return any_url(words, true);
  static constexpr std::string_view kDoes[] = {"-e", "-c", "--command", "--execute"};
  return {to_host(*host, true, !piped && words[0] != "logger" && words[0] != "redis-cli" && t.find(kDoes) == nullptr)};
}

// smbclient //HOST/share, mount -t nfs HOST:/x
std::vector<Reach> shares(const Words& words, bool) {
  std::vector<Reach> out;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& w = words[i];
    if (w.starts_with("//") || (w.find(":/") != w.npos && w.find(":/") > 1 && w[0] != '/' && w[0] != '-')) out.push_back(to_host(w.starts_with("//") ? w : w.substr(0, w.find(":/")), true));
  }
  return out;
}

// Programs that open a way in or hand files to whoever knows a word; where to is settled elsewhere.
std::vector<Reach> tunnels(const Words& words, bool) {
  static constexpr std::string_view kVerbs[] = {"send", "client", "tunnel", "tcp", "http", "tls", "start", "up", "-f", "upload"};
  if (words.size() < 2 || std::none_of(words.begin() + 1, words.end(), [](const auto& w) { return one_of(w, kVerbs); })) return {};
  for (std::size_t i = 1; i < words.size(); ++i)
    if (!words[i].empty() && words[i][0] != '-' && looks_like_host(words[i]) && !is_local(address_of(words[i]).host)) return {to_host(words[i], true)};
  return {{"", true, false, false}};
}

// gh gist create FILE, gh issue create -b "$(…)": a host that is often allowed, as a place to leave things.
std::vector<Reach> gh(const Words& words, bool piped) {
  if (words.size() < 3) return {};
  if (words[1] == "gist" && (words[2] == "create" || words[2] == "edit")) return {{"gist.github.com", true, false, false}};
  bool carries = piped || std::any_of(words.begin() + 2, words.end(), [](const auto& w) { return w.find('\x01') != w.npos || w.find('$') != w.npos || w.find("=@") != w.npos; });
  static constexpr std::string_view kVerbs[] = {"create", "comment", "edit", "upload"};
  bool writes = words[1] == "api" || one_of(words[2], kVerbs);
  return carries && writes ? std::vector<Reach>{{"github.com", true, false, false}} : std::vector<Reach>{};
}

struct Program {
  std::string_view names;  // separated by spaces
  std::vector<Reach> (*reaches)(const Words&, bool);
};

constexpr Program kPrograms[] = {
    {" curl ", curl}, {" wget wget2 ", wget}, {" nc ncat netcat nc.openbsd nc.traditional ", netcat}, {" socat ", socat},
    {" ssh autossh mosh sshpass ", ssh}, {" scp sftp rsync ", copying}, {" git ", git}, {" npm yarn pnpm twine cargo gem docker podman poetry uv ", publishing},
    {" aws gsutil s3cmd rclone gcloud azcopy ", buckets}, {" gh ", gh}, {" smbclient mount mount.nfs sshfs ", shares},
    {" mysql mysqldump mariadb psql pg_dump redis-cli mongo mongosh ldapsearch logger whois ", by_option},
    {" ngrok cloudflared chisel iodine croc wormhole magic-wormhole az ", tunnels}, {" dig nslookup host drill kdig delv getent resolvectl ", asking}, {" deno bun ", any_url}, {" ping ping6 hping3 ", ping},
    {" openssl ", openssl}, {" ftp tftp lftp telnet ncftpput ", logging_in}, {" http https xh httpie ", http_client},
    {" mail mailx mutt sendmail swaks msmtp finger ", mail}, {" aria2c axel fetch certutil svn hg npx pnpx bunx uvx pipx ", any_url},
    {" lynx links w3m elinks nmap ", looking_at}, {" go ", go}, {" apt apt-get ", apt}, {" pip pip3 ", installing},
    {" iwr irm invoke-webrequest invoke-restmethod Invoke-WebRequest Invoke-RestMethod ", web_request},
};

const Program* find_program(std::string_view name) {
  std::string key = cat(" ", name, " ");
  for (const Program& p : kPrograms)
    if (p.names.find(key) != p.names.npos) return &p;
  return nullptr;
}

}  // namespace

bool reaches_network(std::string_view program) { return !program.empty() && find_program(program) != nullptr; }

bool takes_addresses(std::string_view program) {
  static constexpr std::string_view kNames[] = {"curl", "wget", "wget2", "aria2c", "axel", "nc", "ncat", "netcat", "socat", "ssh", "scp", "sftp", "rsync", "dig",
                                                "nslookup", "host", "drill", "kdig", "telnet", "ftp", "lftp", "http", "https", "xh", "lynx", "w3m", "mail", "mailx"};
  return one_of(program, kNames);
}

std::vector<Reach> reaches_of(const Words& words, bool piped) {
  if (words.empty() || words[0].empty()) return {};
  const Program* p = find_program(words[0]);
  return p == nullptr ? std::vector<Reach>{} : p->reaches(words, piped);
}

bool has_secret_variable(std::string_view w) {
  for (std::size_t at = w.find('$'); at != w.npos; at = w.find('$', at + 1)) {
    std::size_t end = at + 1;
    while (end < w.size() && (std::isalnum(static_cast<unsigned char>(w[end])) != 0 || w[end] == '_')) ++end;
    std::string_view name = w.substr(at + 1, end - at - 1);
    for (std::string_view part : {"KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL"})
      if (name.find(part) != name.npos) return true;
  }
  return false;
}

std::vector<Reach> data_addresses(const Words& words) {
  // These print, keep or compare what they are given.
  static constexpr std::string_view kLocal[] = {
      "echo", "printf", "grep", "egrep", "fgrep", "rg", "sed",  "cat",   "test", "[",  "[[",    "export", "declare", "local",  "readonly", "typeset",
      "set",  "unset",  "read", ":",     "true",  "false", "basename", "dirname", "cut", "tr", "sort", "uniq", "tee", "jq", "yq", "expr",
      "let",  "alias",  "cp",   "mv",    "ln",    "rm",  "ls",  "mkdir", "touch", "chmod", "awk", "gawk", "cd", "return", "exit"};
  std::vector<Reach> out;
  if (words.empty() || reaches_network(words[0]) || one_of(words[0], kLocal)) return out;
  for (std::size_t i = 1; i < words.size(); ++i) {
    std::string_view w = words[i];
    std::size_t scheme = w.find("://");
    if (scheme == w.npos || w.find_first_of(" \n\t();") != w.npos) continue;  // code has spaces
    while (scheme > 0 && std::isalpha(static_cast<unsigned char>(w[scheme - 1])) != 0) --scheme;
    std::string_view address = w.substr(scheme);
    if (!address.starts_with("http") && !address.starts_with("ftp") && !address.starts_with("ws")) continue;
    Address a = address_of(address);
    Reach reach = to_address(address, false);
    // https://host/v$VERSION is no data, whoever asks for it.
    bool data = carries_data(a.host) || has_secret_variable(a.path) || a.path.find('\x01') != a.path.npos || (reach.sends && !reach.plain) || carries_something(a.path, false);
    reach.sends = reach.sends || data;
    if (data || is_drop(a.host)) out.push_back(std::move(reach));
  }
  return out;
}

}  // namespace hotcell::inspect
