#include "store/schema.h"

#include <unistd.h>

#include <array>
#include <cstdlib>

#include "base/strings.h"

namespace hotcell {

namespace {

// Never changed once released: each entry is what some user's file was made with. Times are microseconds since 1970,
// 0 for "not yet"; durations nanoseconds. The large texts have tables of their own, so that lists read little, and one
// for each end of a run: a new row at the end of a table is cheaper than a row that grows. Each index costs every commit
// about 8 µs, so only what is looked for all the time and rarely there has one: running, failed. Lists walk down the
// numbers; a filter that matches nothing in 100 000 rows takes 12 ms.
constexpr std::array kMigrations = {
    Migration{R"sql(
CREATE TABLE executions(
  number INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  status TEXT NOT NULL,
  exit_reason TEXT NOT NULL,
  exit_code INTEGER,
  signal INTEGER,
  door TEXT NOT NULL,
  client TEXT NOT NULL,
  language TEXT NOT NULL,
  profile TEXT NOT NULL,
  tier TEXT NOT NULL,
  command TEXT NOT NULL,
  error TEXT NOT NULL,
  created INTEGER NOT NULL,
  started INTEGER NOT NULL,
  ended INTEGER NOT NULL,
  duration INTEGER NOT NULL,
  cpu INTEGER NOT NULL,
  memory_peak INTEGER NOT NULL,
  findings_error INTEGER NOT NULL,
  findings_warning INTEGER NOT NULL,
  denials INTEGER NOT NULL,
  idempotency_key TEXT NOT NULL,
  details_bytes INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX executions_key ON executions(client, idempotency_key) WHERE idempotency_key <> '';
CREATE TABLE execution_requests(
  number INTEGER PRIMARY KEY REFERENCES executions(number) ON DELETE CASCADE,
  request TEXT NOT NULL
) STRICT;
CREATE TABLE execution_outcomes(
  number INTEGER PRIMARY KEY REFERENCES executions(number) ON DELETE CASCADE,
  result TEXT NOT NULL,
  usage TEXT NOT NULL,
  events TEXT NOT NULL
) STRICT;
)sql"},
    Migration{R"sql(
CREATE INDEX executions_unusual ON executions(status) WHERE status <> 'completed';
CREATE TABLE settings(
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE api_keys(
  name TEXT PRIMARY KEY,
  bucket TEXT NOT NULL,
  hash TEXT NOT NULL,
  scopes INTEGER NOT NULL,
  max_running INTEGER NOT NULL,
  per_minute INTEGER NOT NULL,
  created INTEGER NOT NULL,
  last_used INTEGER NOT NULL,
  revoked INTEGER NOT NULL
) STRICT;
CREATE INDEX api_keys_bucket ON api_keys(bucket);
)sql"},
};

}  // namespace

std::string store_file(std::string_view state_folder) { return cat(state_folder, "/hotcell.db"); }

Result<Database> open_store(const std::string& file) {
  TRY_SET(Database database, Database::open(file));
  TRY(database.migrate(kMigrations).context(printable(file)));
  return database;
}

}  // namespace hotcell
