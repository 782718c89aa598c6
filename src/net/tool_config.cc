#include "net/tool_config.h"

#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>

#include "base/strings.h"
#include "net/host.h"
#include "sys/file.h"

namespace hotcell::net {
namespace {

constexpr std::size_t kMostText = 4 << 20, kMostProgram = 128 << 20;

bool takes(std::string_view key, std::initializer_list<std::string_view> keys) { return std::find(keys.begin(), keys.end(), key) != keys.end(); }

std::string_view unquoted(std::string_view text) {
  text = trim(text);
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'') && text.back() == text.front()) text = text.substr(1, text.size() - 2);
  return text;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> out;
  for (std::size_t at = 0; at < text.size();) {
    auto begin = text.find_first_not_of(" \t\r\n", at);
    if (begin == text.npos) break;
    auto end = std::min(text.find_first_of(" \t\r\n", begin), text.size());
    out.push_back(text.substr(begin, end - begin));
    at = end;
  }
  return out;
}

// Addresses that no mirror has: what is written there is meant to lead nowhere, and would lead to this host's own services
// (0.0.0.0) or to whoever answers for its network. A mirror on the loopback or inside is the host's own choice.
bool is_nowhere(const Host& host) {
  if (!host.address) return false;
  auto why = inward(*host.address);
  return !why.empty() && why != "loopback" && why != "private network" && why != "carrier-grade NAT";
}

class Reader {
 public:
  explicit Reader(const ToolPlaces& places) : places_(places) {}

  std::vector<ToolHost> all() {
    pip();
    npm();
    apt();
    cargo();
    go();
    gem();
    maven();
    return std::move(found_);
  }

 private:
  std::string home(std::string_view path) const { return places_.home.empty() ? std::string() : cat(places_.home, path); }
  std::string root(std::string_view path) const { return cat(places_.root, path); }
  std::string variable(const char* name) const { return places_.variable ? places_.variable(name) : std::string(); }

  // Regular files alone: a pipe in its place would keep us waiting.
  static std::optional<std::string> read(const std::string& path, std::size_t most = kMostText) {
    if (path.empty()) return std::nullopt;
    auto fd = sys::open(path.c_str(), O_RDONLY | O_NONBLOCK);
    if (!fd.ok()) return std::nullopt;
    auto s = sys::stat_fd(fd.value().get(), path);
    if (!s.ok() || !S_ISREG(s.value().st_mode) || static_cast<std::size_t>(s.value().st_size) > most) return std::nullopt;
    auto text = sys::read_fd(fd.value().get(), most);
    if (!text.ok()) return std::nullopt;
    return std::move(text).value();
  }
  static std::vector<std::string> matching(const std::string& pattern) {
    std::vector<std::string> out;
    glob_t found{};
    if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) out.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
    ::globfree(&found);
    return out;
  }

  // The host of an address, on the port its scheme has. What is no address of the network (file:, a path) is left out.
  bool add(std::string_view tool, std::string_view url, std::string_view from) {
    url = unquoted(url);
    for (std::string_view before : {"sparse+", "registry+", "git+"})
      if (url.starts_with(before)) url.remove_prefix(before.size());
    std::uint16_t port = url.starts_with("https://") ? 443 : url.starts_with("http://") ? 80 : 0;
    if (port == 0) return false;
    url.remove_prefix(url.find("://") + 3);
    url = url.substr(0, url.find_first_of("/?#"));
    if (auto at = url.rfind('@'); at != url.npos) url.remove_prefix(at + 1);
    auto target = parse_authority(url, port);
    if (!target.ok() || is_nowhere(target.value().host)) return false;
    return add_pattern(tool, target.value().text(), from);
  }
  bool add_pattern(std::string_view tool, std::string pattern, std::string_view from) {
    for (const auto& f : found_)
      if (f.tool == tool && f.pattern == pattern) return true;
    found_.push_back({std::string(tool), std::move(pattern), std::string(from)});
    return true;
  }

  // `key = value` or `key: value`, one to a line; indented lines go on with the value.
  template <typename Take>
  static void each_setting(std::string_view text, std::string_view separators, Take take) {
    std::string_view key;
    for (auto line : split(text, '\n')) {
      auto bare = trim(line);
      if (bare.empty() || bare[0] == '#' || bare[0] == ';') continue;
      bool goes_on = line[0] == ' ' || line[0] == '\t';
      auto at = bare.find_first_of(separators);
      if (goes_on && !key.empty()) {
        take(key, bare);
      } else if (at != bare.npos) {
        key = trim(bare.substr(0, at));
        take(key, trim(bare.substr(at + 1)));
      } else {
        key = {};
      }
    }
  }

  void pip() {
    bool own = false;
    auto take = [&](std::string_view urls, std::string_view from, bool index) {
      for (auto word : words_of(urls)) own = (add("pip", word, from) && index) || own;
    };
    for (const auto& path : {root("/etc/pip.conf"), root("/etc/xdg/pip/pip.conf"), home("/.pip/pip.conf"), home("/.config/pip/pip.conf"), variable("PIP_CONFIG_FILE")})
      if (auto text = read(path))
        each_setting(*text, "=:", [&](std::string_view key, std::string_view value) {
          if (takes(key, {"index-url", "extra-index-url", "find-links"})) take(value, path, key == "index-url");
        });
    for (const char* name : {"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"}) take(variable(name), name, name == std::string_view("PIP_INDEX_URL"));
    if (own) return;
    // What it does without being told: its own table, one line with the index and the host of the files.
    for (std::string_view folder : {"/usr/lib/python3/dist-packages", "/usr/lib/python3*/site-packages", "/usr/local/lib/python3*/dist-packages",
                                    "/usr/local/lib/python3*/site-packages"})
      for (const auto& path : matching(root(cat(folder, "/pip/_internal/models/index.py"))))
        if (auto text = read(path))
          for (auto line : split(*text, '\n')) {
            auto parts = split(line, '"');
            if (!line.starts_with("PyPI") || parts.size() < 2) continue;
            add("pip", parts[1], path);
            if (parts.size() >= 4) add("pip", cat("https://", parts[3]), path);
          }
  }

  void npm() {
    bool own = false;
    for (const auto& path : {root("/etc/npmrc"), root("/usr/etc/npmrc"), root("/usr/local/etc/npmrc"), home("/.npmrc"), variable("NPM_CONFIG_USERCONFIG"),
                             variable("npm_config_userconfig"), root("/usr/lib/node_modules/npm/npmrc")})
      if (auto text = read(path))
        each_setting(*text, "=", [&](std::string_view key, std::string_view value) {
          if (key == "registry" || (key.starts_with('@') && key.ends_with(":registry"))) own = (add("npm", value, path) && key == "registry") || own;
        });
    for (const char* name : {"npm_config_registry", "NPM_CONFIG_REGISTRY"}) own = add("npm", variable(name), name) || own;
    if (own) return;
    for (std::string_view folder : {"/usr/lib/node_modules/npm/node_modules/@npmcli/config/lib/definitions", "/usr/local/lib/node_modules/npm/node_modules/@npmcli/config/lib/definitions",
                                    "/usr/share/nodejs/@npmcli/config/lib/definitions", "/usr/share/nodejs/npm/lib/utils/config"})
      if (auto text = read(root(cat(folder, "/definitions.js")))) {
        std::string_view rest = *text;
        rest = rest.substr(std::min({rest.find("Definition('registry'"), rest.find("define('registry'"), rest.size()}));
        rest = rest.substr(std::min(rest.find("default:"), rest.size()));
        auto begin = rest.find("http");
        if (begin == rest.npos || begin > 40) continue;
        rest.remove_prefix(begin);
        if (add("npm", rest.substr(0, rest.find_first_of("'\"`\n")), root(cat(folder, "/definitions.js")))) return;
      }
  }

  void apt() {
    auto lists = matching(root("/etc/apt/sources.list.d/*.list"));
    lists.push_back(root("/etc/apt/sources.list"));
    for (const auto& path : lists)
      if (auto text = read(path))
        for (auto line : split(*text, '\n')) {
          auto words = words_of(line.substr(0, line.find('#')));
          if (words.empty() || (words[0] != "deb" && words[0] != "deb-src")) continue;
          for (auto word : words)
            if (add("apt", word, path)) break;
        }
    for (const auto& path : matching(root("/etc/apt/sources.list.d/*.sources")))
      if (auto text = read(path))
        each_setting(*text, ":", [&](std::string_view key, std::string_view value) {
          if (key == "URIs")
            for (auto word : words_of(value)) add("apt", word, path);
        });
  }

  void cargo() {
    std::string folder = variable("CARGO_HOME");
    if (folder.empty()) folder = home("/.cargo");
    auto before = found_.size();
    for (const auto& path : {cat(folder, "/config.toml"), cat(folder, "/config")})
      if (auto text = read(path))
        each_setting(*text, "=", [&](std::string_view key, std::string_view value) {
          if (takes(key, {"index", "registry"})) add("cargo", value, path);
        });
    for (const auto& path : matching(cat(folder, "/registry/index/*/config.json")))
      if (auto text = read(path))
        for (auto part : split(*text, '"')) add("cargo", part, path);
    if (found_.size() != before) return;
    // The program itself knows one index; its files lie elsewhere below the same domain, which only the index tells.
    for (std::string_view program : {"/usr/bin/cargo", "/usr/local/bin/cargo"}) {
      auto bytes = read(root(program), kMostProgram);
      auto at = bytes ? bytes->find("sparse+https://index.") : std::string::npos;
      if (at == std::string::npos) continue;
      std::string_view rest = std::string_view(*bytes).substr(at + 21, 80);
      auto host = parse_host(rest.substr(0, rest.find('/')));
      if (host.ok()) add_pattern("cargo", cat("*.", host.value().name, ":443"), root(program));
    }
  }

  void go_list(std::string_view key, std::string_view value, std::string_view from, std::vector<std::string>& seen) {
    if (!takes(key, {"GOPROXY", "GOSUMDB"}) || value.empty() || std::find(seen.begin(), seen.end(), key) != seen.end()) return;
    seen.emplace_back(key);
    if (key == "GOSUMDB") {  // NAME[+KEY] [URL]
      auto words = words_of(value);
      if (words.empty() || words[0] == "off") return;
      if (words.size() > 1) add("go", words[1], from);
      else add("go", cat("https://", words[0].substr(0, words[0].find('+'))), from);
      return;
    }
    for (auto part : split(value, ','))
      for (auto url : split(part, '|')) add("go", url, from);
  }

  // The first that says it holds: the environment, the user's file, the installation's, the program's own source.
  void go() {
    std::vector<std::string> seen;
    for (const char* name : {"GOPROXY", "GOSUMDB"}) go_list(name, variable(name), name, seen);
    std::string own = variable("GOENV");
    if (own.empty()) own = home("/.config/go/env");
    for (const auto& path : {own, root("/usr/local/go/go.env"), root("/usr/lib/go/go.env")})
      if (auto text = read(path))
        each_setting(*text, "=", [&](std::string_view key, std::string_view value) { go_list(key, value, path, seen); });
    for (std::string_view folder : {"/usr/local/go", "/usr/lib/go", "/usr/share/go-*"})
      for (const auto& path : matching(root(cat(folder, "/src/cmd/go/internal/cfg/cfg.go"))))
        if (auto text = read(path))
          for (auto line : split(*text, '\n'))
            if (line.find("envOr(\"") != line.npos)
              if (auto parts = split(line, '"'); parts.size() >= 4) go_list(parts[1], parts[3], path, seen);
  }

  void gem() {
    bool own = false;
    for (const auto& path : {root("/etc/gemrc"), home("/.gemrc"), home("/.config/gem/gemrc")})
      if (auto text = read(path))
        for (auto line : split(*text, '\n'))
          if (auto bare = trim(line); bare.starts_with("- ")) own = add("gem", bare.substr(2), path) || own;
    if (own) return;
    for (std::string_view folder : {"/usr/lib/ruby/*/rubygems", "/usr/local/lib/ruby/*/rubygems"})
      for (const auto& path : matching(root(cat(folder, "/defaults.rb"))))
        if (auto text = read(path))
          if (auto at = text->find("%w[http"); at != std::string::npos) {
            auto list = std::string_view(*text).substr(at + 3);
            for (auto word : words_of(list.substr(0, list.find(']')))) add("gem", word, path);
          }
  }

  void maven() {
    for (const auto& path : {root("/etc/maven/settings.xml"), home("/.m2/settings.xml")})
      if (auto text = read(path)) {
        for (std::size_t at; (at = text->find("<!--")) != std::string::npos;) {
          auto end = text->find("-->", at);
          text->erase(at, end == std::string::npos ? std::string::npos : end + 3 - at);
        }
        // Mirrors that are there to block what would otherwise be asked.
        for (std::size_t at = 0; (at = text->find("<mirror>", at)) != std::string::npos;) {
          auto end = text->find("</mirror>", at);
          auto mirror = std::string_view(*text).substr(at, end == std::string::npos ? end : end - at);
          auto blocked = mirror.find("<blocked>");
          bool blocks = blocked != mirror.npos && trim(mirror.substr(blocked + 9)).starts_with("true");
          if (blocks) text->erase(at, mirror.size());
          else at += 8;
        }
        for (std::size_t at = 0; (at = text->find("<url>", at)) != std::string::npos; at += 5) {
          auto url = std::string_view(*text).substr(at + 5);
          add("maven", trim(url.substr(0, url.find('<'))), path);
        }
      }
  }

  const ToolPlaces& places_;
  std::vector<ToolHost> found_;
};

}  // namespace

ToolPlaces tools_of_this_host() {
  auto variable = [](const char* name) {
    const char* value = ::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  return {"", variable("HOME"), variable};
}

std::vector<ToolHost> registry_hosts(const ToolPlaces& places) { return Reader(places).all(); }

// A list as wide as registry.*.io would let in whoever buys such a name.
std::vector<std::string> development_hosts() { return {"*.github.com", "*.githubusercontent.com", "*.googleapis.com"}; }

Result<void> allow_hosts(const std::vector<std::string>& list, std::string_view where, RuleOptions& out) {
  for (const auto& entry : list) {
    if (!entry.starts_with('@')) {
      out.allow.push_back(entry);
      continue;
    }
    if (entry != "@registries" && entry != "@development")
      return make_error(ErrorCode::kInvalid, cat(where, " ", entry, ": there are @registries and @development"));
    if (entry == "@development")
      for (auto& host : development_hosts()) out.allow.push_back(std::move(host));
    for (const auto& host : registry_hosts(tools_of_this_host())) {
      out.allow.push_back(host.pattern);
      // A mirror is often inside. Its name comes from this host's own settings, not from the cell.
      out.allow_private.push_back(host.pattern);
    }
  }
  return {};
}

}  // namespace hotcell::net
