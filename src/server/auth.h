// Who may come in: by address, by key, by Unix user; and under which names the server lets itself be called.
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

#include "hotcell/result.h"
#include "server/config.h"
#include "server/http/gate.h"
#include "server/http/net.h"

namespace hotcell::server {

struct KeyInfo {
  std::string name;
  std::string sha256_hex;  // of the key; keys themselves are kept nowhere
  bool run = false, read = false, admin = false;
  std::uint32_t max_running = 0;          // requests of scope run at once; 0: no limit of its own
  std::uint32_t requests_per_minute = 0;  // 0: no limit of its own
};
// Nothing for an unknown or revoked key. Called for every request with a key, on the loop.
using KeyLookup = std::function<std::optional<KeyInfo>(std::string_view sha256_hex)>;

struct AuthOptions {
  bool require_key = false;                  // also on the loopback; elsewhere always
  std::vector<std::string> allowed_hosts;    // names, or name:port
  std::vector<std::string> allowed_origins;  // "https://tools.example", exactly
  std::vector<ListenAddress> listening;      // as bound, ports known: their addresses are names of ours
  std::uint32_t own_uid = 0;                 // may use the Unix socket, as may root
  std::uint32_t root_uid = 0;                // how root looks to us
  KeyLookup find_key;
};

class Authenticator final : public Gate {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Authenticator(AuthOptions options);

  std::optional<Refusal> admit(const Peer& peer, HttpRequest& request, Scope scope,
                               std::shared_ptr<void>& lease) override;
  std::optional<Refusal> check_names(const Peer& peer, const HttpRequest& request,
                                     const std::string& authority) override;
  bool is_allowed_origin(std::string_view origin) const override;

 private:
  struct Use {  // of one key
    double tokens = 0;
    Clock::time_point filled;
    std::uint32_t running = 0;
  };

  std::optional<Refusal> admit_key(std::string_view key, HttpRequest& request, Scope scope,
                                   std::shared_ptr<void>& lease);
  std::optional<Refusal> take_turn(const KeyInfo& key, Scope scope, std::shared_ptr<void>& lease);
  bool is_own_host(std::string_view text) const;
  static bool is_forwarded(const HttpRequest& request);

  AuthOptions options_;
  std::shared_ptr<std::map<std::string, Use, std::less<>>> uses_;
};

// Compares in a time that does not depend on where the difference is.
bool equal_in_constant_time(std::string_view a, std::string_view b);

// What `listen` may be: addresses, not names; away from the loopback only with TLS, ours or in front of us, and at least
// one key or the written word that keys are needed everywhere (auth.require_key).
Result<std::vector<ListenAddress>> check_listen(const Config& config, std::size_t keys);
// The same for a socket that somebody else has bound (socket activation).
Result<void> check_listener(int fd, const Config& config, std::size_t keys);

}  // namespace hotcell::server
