// API keys: `hc_` and 40 letters and digits (238 bits by chance). Only their SHA-256 is kept, which is enough for secrets
// that nobody chose: there is no list of likely ones to try.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "store/database.h"

namespace hotcell {

struct ApiKey {
  std::string name;                                     // letters, digits, '.', '-' and '_'; the client in the history
  bool run = false, read = false, admin = false;        // scopes
  std::uint32_t max_running = 0, per_minute = 0;        // 0: no limit of its own
  std::chrono::system_clock::time_point created{}, last_used{}, revoked{};  // zero: not
  bool is_revoked() const { return revoked.time_since_epoch().count() != 0; }
};

// "run,read" into the scopes of `key`; kInvalid names the word that is none.
Result<void> set_scopes(ApiKey& key, std::string_view words);
std::string scope_words(const ApiKey& key);

class ApiKeys {
 public:
  static Result<std::unique_ptr<ApiKeys>> open(const std::string& file);

  // From any thread, one after the other. What another process creates or revokes holds at once.
  Result<std::string> create(const ApiKey& key);               // the secret: shown once, kept nowhere
  Result<std::optional<ApiKey>> check(std::string_view secret);  // nothing: unknown or revoked
  Result<std::optional<ApiKey>> check_hash(std::string_view sha256_hex);  // the same by the secret's SHA-256
  Result<std::vector<ApiKey>> list();                          // the revoked too, by name
  Result<bool> revoke(std::string_view name);                  // false: no such key, or revoked already

 private:
  explicit ApiKeys(Database database) : database_(std::move(database)) {}
  void touch(ApiKey& key);

  std::mutex mutex_;
  Database database_;
  Statement find_, touch_;
};

}  // namespace hotcell
