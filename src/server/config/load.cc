#include "server/config/load.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/strings.h"
#include "core/policy/suggest.h"
#include "core/policy/units.h"
#include "core/policy/yaml_tree.h"
#include "server/config/checks.h"
#include "server/config/fields.h"
#include "sys/file.h"

namespace hotcell::server {
namespace {

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

// The words at one level of the file: `limits`, then `timeout`; without repetitions.
std::vector<std::string_view> names_under(std::string_view prefix) {
  std::vector<std::string_view> out;
  for (const auto& field : fields()) {
    std::string_view rest = field.key;
    if (!prefix.empty()) {
      if (!rest.starts_with(prefix) || rest.size() <= prefix.size() || rest[prefix.size()] != '.') continue;
      rest.remove_prefix(prefix.size() + 1);
    }
    rest = rest.substr(0, rest.find('.'));
    if (out.empty() || out.back() != rest) out.push_back(rest);
  }
  return out;
}

// Everything may be commented out; to the YAML reader that is no document.
bool says_nothing(std::string_view text) {
  auto lines = split(text, '\n');
  return std::all_of(lines.begin(), lines.end(), [](auto line) { return trim(line).empty() || trim(line)[0] == '#'; });
}

class FileReader {
 public:
  FileReader(std::string_view filename, Config& config) : filename_(filename), config_(config) {}

  Result<void> read(std::string_view text) {
    if (says_nothing(text)) return {};
    TRY_SET(YamlNode root, parse_yaml(text, filename_));
    if (!root.is_map()) return fail(root.line, "", "wants keys and values, as in `listen: [127.0.0.1:7070]`");
    return each(root, "");
  }

 private:
  std::string place(int line) const { return cat(printable(filename_), ":", line); }
  Error fail(int line, std::string_view key, std::string_view message) const {
    return bad(cat(place(line), ": ", key, key.empty() ? "" : ": ", message));
  }

  Result<void> each(const YamlNode& map, const std::string& prefix) {
    auto known = names_under(prefix);
    for (const auto& node : map.items) {
      if (std::find(known.begin(), known.end(), node.key) == known.end()) {
        auto where = prefix.empty() ? std::string() : cat(" in ", prefix);
        return fail(node.key_line, "", cat("unknown key ", quoted(node.key), where, hint(node.key, prefix, known)));
      }
      std::string key = prefix.empty() ? node.key : cat(prefix, ".", node.key);
      if (const auto* field = find_field(key)) {
        TRY(value(*field, node));
      } else if (node.is_map()) {
        TRY(each(node, key));
      } else {
        return fail(node.line, key, cat("wants keys and values, as in `", names_under(key)[0], ": …`"));
      }
    }
    return {};
  }

  // The nearest at this level; else whoever wrote it may have meant a key of another: `timeout` is `limits.timeout`.
  static std::string hint(std::string_view word, std::string_view prefix, std::span<const std::string_view> known) {
    for (const auto& field : fields()) {
      auto dot = field.key.find('.');
      if (dot != field.key.npos && field.key.substr(dot + 1) == word && field.key.substr(0, dot) != prefix)
        return cat("; did you mean \"", field.key, "\"?");
    }
    return did_you_mean(word, known);
  }

  Result<void> value(const Field& field, const YamlNode& node) {
    std::vector<std::string> values;
    if (is_list(field)) {
      if (!node.is_sequence()) return fail(node.line, field.key, "wants a list, as in [a, b]");
      for (const auto& item : node.items) {
        if (!item.is_scalar()) return fail(item.line, field.key, "wants a list of texts");
        values.push_back(item.text);
      }
    } else {
      if (!node.is_scalar()) return fail(node.line, field.key, "wants a single value");
      // "true" in quotes is a word.
      if (is_truth(field) && node.quoted) return fail(node.line, field.key, "wants true or false, without quotes");
      values.push_back(node.text);
    }
    auto set = set_field(config_, field, values);
    if (!set.ok()) return fail(line_of_fault(field, node), field.key, set.error().message);
    config_.origins[std::string(field.key)] = place(node.key_line);
    return {};
  }

  // In a list, the line of the entry that is refused rather than that of the list.
  int line_of_fault(const Field& field, const YamlNode& node) const {
    Config scratch;
    std::vector<std::string> values;
    for (const auto& item : node.items) {
      values.push_back(item.text);
      if (!set_field(scratch, field, values).ok()) return item.line;
    }
    return node.line;
  }

  std::string_view filename_;
  Config& config_;
};

}  // namespace

// Whoever may write this file decides what cells may see, so it must be root's or ours, and nobody else's.
Result<std::string> read_checked(const std::string& path) {
  TRY_SET(sys::Fd fd, sys::open(path.c_str(), O_RDONLY | O_NONBLOCK));  // a fifo must not hold us up
  TRY_SET(struct stat st, sys::stat_fd(fd.get(), path));
  if (!S_ISREG(st.st_mode)) return bad(cat(printable(path), ": is not a file"));
  if (st.st_uid != 0 && st.st_uid != ::geteuid())
    return make_error(ErrorCode::kDenied,
                      cat(printable(path), ": belongs to user ", st.st_uid, "; it must be root's or your own"));
  if ((st.st_mode & 022) != 0)
    return make_error(ErrorCode::kDenied, cat(printable(path), ": others may write it; chmod go-w ", printable(path)));
  return sys::read_fd(fd.get(), kMaxProfileBytes + 1).context(path);
}

namespace {

Result<void> read_file(const std::string& path, bool must_exist, Config& config) {
  auto text = read_checked(path);
  if (!text.ok()) {
    int err = text.error().err;
    if (!must_exist && (err == ENOENT || err == ENOTDIR)) return {};
    auto error = std::move(text).error();
    if (error.code == ErrorCode::kNotFound) error.code = ErrorCode::kInvalid;  // 127 is for programs
    return std::move(error).context("configuration");
  }
  return FileReader(path, config).read(text.value());
}

Result<void> set_from(Config& config, const Field& field, std::span<const std::string> values,
                      const std::string& origin) {
  TRY(set_field(config, field, values).context(origin));
  config.origins[std::string(field.key)] = origin;
  return {};
}

std::vector<std::string> pieces(const Field& field, const std::string& text) {
  if (!is_list(field)) return {text};
  std::vector<std::string> out;
  for (auto piece : split(text, ',')) out.emplace_back(trim(piece));
  return out;
}

Result<void> read_variables(const std::map<std::string, std::string>& variables, Config& config) {
  // Names that others have given them; ours win.
  auto foreign = [](std::string_view key) {
    return std::string(key == "otlp_endpoint" ? "OTEL_EXPORTER_OTLP_ENDPOINT" : key == "code_sandbox.profile" ? "SANDBOX_PROFILE" : "");
  };
  std::vector<std::string> names;
  for (const auto& field : fields()) {
    names.push_back(variable_of(field));
    for (const auto& name : {foreign(field.key), names.back()}) {
      auto found = variables.find(name);
      if (name.empty() || found == variables.end() || found->second.empty()) continue;
      TRY(set_from(config, field, pieces(field, found->second), name));
    }
  }
  // Others use the prefix, too (Kubernetes sets HOTCELL_PORT for a service of our name), so only what looks like a slip
  // of the pen is worth a word.
  std::vector<std::string_view> known(names.begin(), names.end());
  for (const auto& [name, text] : variables) {
    if (!name.starts_with("HOTCELL_") || std::find(names.begin(), names.end(), name) != names.end()) continue;
    auto near = did_you_mean(name, known);
    if (!near.empty()) config.notes.push_back(cat("the variable ", printable(name), " is ignored", near));
  }
  return {};
}

const std::string& origin_of(const Config& config, std::string_view key) {
  return config.origins.find(std::string(key))->second;
}

std::string value_of(const std::map<std::string, std::string>& variables, const char* name) {
  auto found = variables.find(name);
  return found == variables.end() ? std::string() : found->second;
}

Result<void> find_state(const std::map<std::string, std::string>& variables, Config& config) {
  if (!config.state_dir.empty()) return {};
  auto& origin = config.origins["state_dir"];
  auto given = value_of(variables, "STATE_DIRECTORY");  // systemd; several are separated by colons
  auto xdg = value_of(variables, "XDG_STATE_HOME"), home = value_of(variables, "HOME");
  if (given.starts_with('/')) {
    config.state_dir = given.substr(0, given.find(':'));
    origin = "STATE_DIRECTORY";
  } else if (::geteuid() == 0) {
    config.state_dir = "/var/lib/hotcell";
  } else if (xdg.starts_with('/')) {
    config.state_dir = cat(xdg, "/hotcell");
    origin = "XDG_STATE_HOME";
  } else if (home.starts_with('/')) {
    config.state_dir = cat(home, "/.local/state/hotcell");
    origin = "HOME";
  } else {
    return bad("state_dir: not set, and neither XDG_STATE_HOME nor HOME says where your state is kept");
  }
  return {};
}

// What no field can tell alone.
Result<void> check_whole(Config& config) {
  for (const auto& field : fields()) config.origins.try_emplace(std::string(field.key), "default");
  if (config.listen.empty() && config.unix_socket.empty())
    return bad(cat(origin_of(config, "listen"), ": listen: empty, and there is no unix_socket: nobody could call"));
  if (config.tls_cert.empty() != config.tls_key.empty()) {
    auto given = config.tls_cert.empty() ? "tls.key" : "tls.cert";
    return bad(cat(origin_of(config, given), ": ", given, ": tls.cert and tls.key go together; one is missing"));
  }
  for (const auto& address : config.listen) {
    if (is_loopback(address) || !config.tls_cert.empty() || config.tls_elsewhere) continue;
    return bad(cat(origin_of(config, "listen"), ": listen: ", address,
                   " is not the loopback, and keys and programs would cross the network readable; set tls.cert and "
                   "tls.key, or tls.elsewhere: true when something in front of it ends TLS"));
  }
  TRY(check_network(config));
  if (config.max_timeout < config.default_timeout) {
    config.notes.push_back(cat("limits.max_timeout of ", format_duration(config.max_timeout), " (",
                               origin_of(config, "limits.max_timeout"), ") is shorter than limits.timeout of ",
                               format_duration(config.default_timeout), " (", origin_of(config, "limits.timeout"),
                               ") and was raised to it"));
    config.max_timeout = config.default_timeout;
    config.origins["limits.max_timeout"] = cat("limits.timeout (", origin_of(config, "limits.timeout"), ")");
  }
  return {};
}

}  // namespace

std::string no_proxy_behind(const Config& config) {
  if (config.backend != "landlock") return {};
  return "the landlock backend has no network namespace, and nothing else would hold programs to the proxy";
}

std::string no_network_behind(const Config& config) { return config.host_network ? std::string() : no_proxy_behind(config); }

Result<void> check_network(const Config& config) {
  const std::string why = config.network_enabled ? no_network_behind(config) : std::string();
  if (why.empty()) return {};
  return bad(cat(origin_of(config, "network.enabled"), ": network.enabled is not supported on this platform: ", why));
}

std::vector<std::string> standard_files(const std::map<std::string, std::string>& variables) {
  std::vector<std::string> out = {"/etc/hotcell/config.yaml"};
  auto xdg = value_of(variables, "XDG_CONFIG_HOME"), home = value_of(variables, "HOME");
  // A relative one is to be ignored, says the XDG specification.
  if (xdg.starts_with('/')) out.push_back(cat(xdg, "/hotcell/config.yaml"));
  else if (home.starts_with('/')) out.push_back(cat(home, "/.config/hotcell/config.yaml"));
  return out;
}

ConfigSources standard_sources() {
  ConfigSources out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    std::string_view text = *entry;
    auto equals = text.find('=');
    if (equals == text.npos) continue;
    out.variables.try_emplace(std::string(text.substr(0, equals)), text.substr(equals + 1));
  }
  out.files = standard_files(out.variables);
  return out;
}

Result<Config> load_config(const ConfigSources& sources) {
  Config config;
  if (sources.only_file) {
    TRY(read_file(*sources.only_file, true, config));
  } else {
    for (const auto& file : sources.files) TRY(read_file(file, false, config));
  }
  TRY(read_variables(sources.variables, config));
  for (const auto& option : sources.options) {
    const auto* field = find_field(option.field);
    if (field == nullptr) return make_error(ErrorCode::kInternal, cat(option.name, ": no field ", option.field));
    TRY(set_from(config, *field, option.values, option.name));
  }
  TRY(check_whole(config));
  TRY(find_state(sources.variables, config));
  return config;
}

Result<Config> parse_config(std::string_view yaml, std::string_view filename) {
  Config config;
  TRY(FileReader(filename, config).read(yaml));
  TRY(check_whole(config));
  return config;
}

}  // namespace hotcell::server
