// What the front does before its walls: everything that needs the host's files, and the walls themselves. What serves behind them
// is front.cc.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "hotcell/report.h"
#include "hotcell/result.h"
#include "manager/job.h"
#include "server/config/load.h"
#include "server/front/front.h"
#include "server/front/log.h"
#include "server/http/loop.h"
#include "server/http/server.h"
#include "server/telemetry/otlp_client.h"
#include "store/api_keys.h"

namespace hotcell::server {

struct BeforeWalls {
  Config config;
  std::optional<Log> log;
  std::vector<std::pair<std::string, std::string>> inspect_rules;
  std::shared_ptr<TlsContext> tls;
  std::unique_ptr<OtlpClient> otlp;
  std::shared_ptr<const LoadedProfile> usual;   // default_profile, where it is a file
  std::unique_ptr<ApiKeys> keys;
  std::size_t good_keys = 0;                    // when it started
  bool cells_hidden = false, in_user_namespace = false;
  Enforcement held;                             // the walls
};

// When this returns they stand, and the supervisor has what was bound.
Result<BeforeWalls> confine_and_prepare(const FrontArguments& arguments, Loop& loop);

JobRules rules_of(const Config& config, const FrontArguments& arguments);
std::string database_of(const Config& config);

}  // namespace hotcell::server
