// What the routes need from the rest of the front. Everything is called on the loop's thread and answers there; what may
// take long answers by a callback.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/policy.h"
#include "hotcell/verify.h"
#include "manager/executions.h"
#include "net/rules.h"
#include "server/config.h"
#include "server/telemetry/metrics.h"
#include "store/history.h"

namespace hotcell::server {

class CellDoor;

struct VerifyQuestion {
  std::string code, language, file;
  Policy policy;
};

struct AuditNote {
  std::string layer, action, severity, message;   // severity: info low medium high critical
  std::map<std::string, std::string> details;
  std::string execution, client;
};
struct AuditPage {
  std::vector<std::string> entries;               // JSON objects as they stand in the log, newest first
  std::optional<std::uint64_t> next;              // what to give as `before` for the page behind this one
};
struct AuditCheck {
  bool ok = false;
  std::uint64_t entries = 0, first_bad = 0;       // first_bad: from 1; 0 when all are good
  std::string why;
};
struct AuditDoor {
  std::function<void(AuditNote)> append;
  std::function<Result<AuditPage>(std::size_t limit, std::uint64_t before)> page;
  std::function<void(std::function<void(Result<AuditCheck>)>)> check;
};

struct KeyRow {
  std::string name;
  std::vector<std::string> scopes;                // run, read, admin
  std::uint32_t max_running = 0, requests_per_minute = 0;   // 0: no limit of its own
  std::chrono::system_clock::time_point created{}, last_used{}, revoked{};   // zero: never
};
struct KeysDoor {
  std::function<Result<std::vector<KeyRow>>()> list;
  std::function<Result<std::string>(const KeyRow&)> create;   // the key itself, shown this once
  std::function<Result<void>(std::string_view name)> revoke;
};

struct SettingsDoor {
  std::function<Result<std::optional<std::string>>(std::string_view section)> get;   // JSON text
  std::function<Result<void>(std::string_view section, std::string json)> put;       // durable when it returns
};

// What programs with a network may reach, and what they asked for.
struct NetworkDoor {
  std::shared_ptr<const net::RuleSet> rules;      // the configuration's; none: there is no proxy here
  std::string journal_folder;
};

struct Services {
  Executions& executions;
  History& history;
  Metrics& metrics;
  const Config& config;
  AuditDoor audit = {};
  KeysDoor keys = {};
  SettingsDoor settings = {};
  NetworkDoor network = {};
  CellDoor* cells = nullptr;                      // null: lasting cells cannot be had here
  std::function<void(VerifyQuestion, std::function<void(Verification)>)> verify = {};
  // The answer is the inspection as JSON; the audit has been told of its findings.
  std::function<void(InspectQuestion, std::string client, std::function<void(Result<std::string>)>)> inspect = {};
  std::string facts_folder = {};                       // backends.json, languages.json, doctor.json
  std::string code_sandbox_profile = "minimal";   // of POST /execute
  std::function<void(std::function<void()>)> post = {};   // runs it soon, on this thread
  std::function<Subscription(std::chrono::milliseconds, std::function<void()>)> every = {};   // until the subscription ends
  std::chrono::steady_clock::time_point started = std::chrono::steady_clock::now();
};

}  // namespace hotcell::server
