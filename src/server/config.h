// What the daemon is told: /etc/hotcell/config.yaml, then the user's own, then variables, then options of `serve`.
// config/load.h reads it, config/fields.h names each field as files do.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "hotcell/result.h"
#include "hotcell/units.h"

namespace hotcell::server {

struct Config {
  std::vector<std::string> listen = {"127.0.0.1:7070"};  // host:port, [v6]:port, port 0: any
  std::string unix_socket;                 // empty: none
  std::string state_dir;                   // empty: $STATE_DIRECTORY, /var/lib/hotcell for root, $XDG_STATE_HOME/hotcell
  std::string tls_cert, tls_key;
  bool tls_elsewhere = false;              // plain HTTP beyond the loopback: something in front of us ends TLS
  bool require_key = false;                // also on the loopback; elsewhere always
  std::vector<std::string> allowed_hosts, allowed_origins;  // besides the loopback names

  std::string default_profile = "default";
  std::string code_sandbox_profile = "minimal";   // of POST /execute; SANDBOX_PROFILE
  std::string backend = "native";          // native, landlock or auto: see the field
  Nanoseconds default_timeout = std::chrono::minutes(5), max_timeout = std::chrono::minutes(5);
  Bytes max_memory = 2_GiB, max_disk = 1_GiB, max_output = 16_MiB;
  std::uint32_t max_processes = 256;
  bool network_enabled = false, host_network = false;
  std::vector<std::string> network_allow = {"@development"}, network_block, network_private;
  // Of each cell's door. Generous: what they stop is a program that takes all there is.
  Bytes network_bytes = 64_GiB, network_rate = 1_GiB;
  std::uint32_t network_connections = 1024;
  Nanoseconds network_time = std::chrono::hours(720), network_connection_time = std::chrono::hours(24);
  std::vector<std::string> allowed_read, allowed_write;     // host paths that profiles may show to cells

  std::string inspect_rules;                                // a file: what inspectors look for besides our own
  std::vector<std::string> cell_projects;                   // folders of which lasting cells may be made over the doors
  std::string cell_decisions;                               // what those must ask about: standard, or a file; empty: what each says
  std::uint32_t max_cells = 64;                             // lasting ones

  std::uint32_t max_running = 0, max_queued = 1024, max_queued_each = 256;
  Nanoseconds drain = std::chrono::seconds(60);             // how long what runs may take to end when we are told to stop
  std::uint32_t park_cells = 8;
  std::map<std::string, std::uint32_t> park_runtimes = {{"python", 1}};
  std::vector<std::string> park_profiles;                   // for which runtimes wait besides default_profile

  Bytes max_body = 16_MiB;
  Nanoseconds header_timeout = std::chrono::seconds(10), idle_timeout = std::chrono::seconds(60);
  std::uint32_t max_connections = 4096;

  std::uint32_t keep_days = 30, keep_rows = 100000;
  Bytes keep_bytes = 1_GiB;
  std::string log_level = "info", log_format = "text";      // text or json
  std::string otlp_endpoint;               // OTEL_EXPORTER_OTLP_ENDPOINT
  bool docs = true, dashboard = true, mcp = true;

  std::map<std::string, std::string> origins;               // field → "file:line", "HOTCELL_X", "--listen", "default"
  std::vector<std::string> notes;                           // sentences for the log: what was changed, what was ignored
};

}  // namespace hotcell::server
