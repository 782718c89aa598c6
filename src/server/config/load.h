// Where the configuration comes from, in the order in which the later one wins: files, variables, options.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/result.h"
#include "server/config.h"

namespace hotcell {
class JsonWriter;
}

namespace hotcell::server {

struct ConfigSources {
  std::vector<std::string> files;               // those that do not exist are skipped
  std::optional<std::string> only_file;         // instead of them; must exist
  std::map<std::string, std::string> variables;  // the environment; an empty one counts as not set
  struct Option {
    std::string name;  // as typed: --listen
    std::string field;  // what it sets: listen
    std::vector<std::string> values;
  };
  std::vector<Option> options;
};

// /etc/hotcell/config.yaml, $XDG_CONFIG_HOME/hotcell/config.yaml (else ~/.config) and this process's environment.
ConfigSources standard_sources();
std::vector<std::string> standard_files(const std::map<std::string, std::string>& variables);

// The text of a file that belongs to root or to us and that nobody else may write.
Result<std::string> read_checked(const std::string& path);

// Unknown keys, wrong types, bad units, values out of range and files that others may write are errors that name the
// place: `file:line`, the variable or the option. state_dir is never empty afterwards.
Result<Config> load_config(const ConfigSources& sources);

// One file's text alone, over the defaults; for checking a file before it is installed.
Result<Config> parse_config(std::string_view yaml, std::string_view filename);

// Why no program can be held to the proxy behind this backend; empty: it can.
std::string no_proxy_behind(const Config& config);
// Why programs cannot be given a network behind this backend; empty: they can. Without a network namespace nothing holds a program to
// the proxy, and the launcher refuses every one that is to be held: what cannot be honoured is not switched on.
std::string no_network_behind(const Config& config);
// The same as an error, where network.enabled asks for it. load_config() has looked already, but not at what "auto" becomes.
Result<void> check_network(const Config& config);

// As a file would say it; `origins` adds to each line where its value comes from.
std::string config_yaml(const Config& config, bool origins);
// The same as JSON: {"listen": […], "limits": {…}, …}; `origins` adds "origins": {"limits.timeout": "default", …}.
std::string config_json(const Config& config, bool origins);
void write_config(JsonWriter& writer, const Config& config, bool origins);   // the same, as a part of something
// Every key with its default and what it means: packaging/config.yaml.
std::string config_example();

}  // namespace hotcell::server
