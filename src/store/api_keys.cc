#include "store/api_keys.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>

#include "base/sha256.h"
#include "base/strings.h"
#include "store/history_reader.h"
#include "store/schema.h"

namespace hotcell {

namespace {

constexpr std::string_view kPrefix = "hc_";
constexpr std::size_t kLetters = 40, kBucket = 8;
constexpr std::string_view kAlphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr auto kTouchEvery = std::chrono::minutes(1);  // "last used" need not be exact, and a write costs more than a look

constexpr std::string_view kColumns =
    "SELECT name,scopes,max_running,per_minute,created,last_used,revoked,hash FROM api_keys ";

ApiKey key_of(const Statement& s) {
  ApiKey key;
  key.name = s.text(0);
  auto scopes = s.integer(1);
  key.run = (scopes & 1) != 0;
  key.read = (scopes & 2) != 0;
  key.admin = (scopes & 4) != 0;
  key.max_running = static_cast<std::uint32_t>(s.integer(2));
  key.per_minute = static_cast<std::uint32_t>(s.integer(3));
  key.created = from_micros(s.integer(4));
  key.last_used = from_micros(s.integer(5));
  key.revoked = from_micros(s.integer(6));
  return key;
}

Result<std::string> make_secret() {
  std::string secret(kPrefix);
  while (secret.size() < kPrefix.size() + kLetters) {
    unsigned char bytes[64];
    ssize_t n = ::getrandom(bytes, sizeof bytes, 0);
    if (n < 0 && errno != EINTR) return errno_error("getrandom", errno);
    for (ssize_t i = 0; i < n && secret.size() < kPrefix.size() + kLetters; ++i) {
      if (bytes[i] < 4 * kAlphabet.size()) secret += kAlphabet[bytes[i] % kAlphabet.size()];  // else some were likelier
    }
  }
  return secret;
}

// Takes as long whatever differs.
bool same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

Result<void> check_name(std::string_view name) {
  bool good = !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), [](char c) {
    return kAlphabet.find(c) != std::string_view::npos || c == '.' || c == '-' || c == '_';
  });
  if (!good) {
    return make_error(ErrorCode::kInvalid, cat("the name of a key is 1 to 64 letters, digits, '.', '-' and '_', not '",
                                               printable(name.substr(0, 80)), "'"));
  }
  // Who needs no key goes by this name; another's runs must not be taken for theirs.
  if (name == "local") return make_error(ErrorCode::kInvalid, "the name local is for callers without a key");
  return {};
}

}  // namespace

Result<void> set_scopes(ApiKey& key, std::string_view words) {
  key.run = key.read = key.admin = false;
  for (auto word : split(words, ',')) {
    if (word == "run") key.run = true;
    else if (word == "read") key.read = true;
    else if (word == "admin") key.admin = true;
    else return make_error(ErrorCode::kInvalid, cat("unknown scope '", printable(word), "'; one of run, read, admin"));
  }
  return {};
}

std::string scope_words(const ApiKey& key) {
  std::vector<std::string> words;
  if (key.run) words.emplace_back("run");
  if (key.read) words.emplace_back("read");
  if (key.admin) words.emplace_back("admin");
  return join(words, ",");
}

Result<std::unique_ptr<ApiKeys>> ApiKeys::open(const std::string& file) {
  TRY_SET(Database database, open_store(file));
  std::unique_ptr<ApiKeys> keys(new ApiKeys(std::move(database)));
  TRY_SET(keys->find_, keys->database_.prepare(cat(kColumns, "WHERE bucket=? AND revoked=0")));
  TRY_SET(keys->touch_, keys->database_.prepare("UPDATE api_keys SET last_used=? WHERE name=?"));
  return keys;
}

Result<std::string> ApiKeys::create(const ApiKey& key) {
  TRY(check_name(key.name));
  if (!key.run && !key.read && !key.admin) return make_error(ErrorCode::kInvalid, "a key needs a scope: run, read or admin");
  TRY_SET(std::string secret, make_secret());
  std::string hash = sha256_hex(secret);
  std::lock_guard lock(mutex_);
  TRY_SET(Statement insert, database_.prepare("INSERT INTO api_keys(name,bucket,hash,scopes,max_running,per_minute,created,"
                                              "last_used,revoked) VALUES(?,?,?,?,?,?,?,0,0)"));
  std::int64_t scopes = (key.run ? 1 : 0) | (key.read ? 2 : 0) | (key.admin ? 4 : 0);
  auto done = insert.run(key.name, std::string_view(hash).substr(0, kBucket), hash, scopes, key.max_running, key.per_minute,
                         to_micros(std::chrono::system_clock::now()));
  if (!done.ok() && done.error().err == EEXIST) {
    // Also one that was revoked: what is in the history under this name stays that key's.
    return make_error(ErrorCode::kInvalid, cat("there is or was a key called ", key.name, " already"));
  }
  TRY(std::move(done));
  return secret;
}

Result<std::optional<ApiKey>> ApiKeys::check(std::string_view secret) {
  if (!secret.starts_with(kPrefix) || secret.size() != kPrefix.size() + kLetters) return std::optional<ApiKey>();
  return check_hash(sha256_hex(secret));
}

Result<std::optional<ApiKey>> ApiKeys::check_hash(std::string_view hash) {
  std::lock_guard lock(mutex_);
  // Found by a part of the hash: the time that takes says nothing about the secret, and the rest is compared in one go.
  std::optional<ApiKey> found;
  find_.start(hash.substr(0, kBucket));
  for (;;) {
    TRY_SET(bool row, find_.step());
    if (!row) break;
    if (same(find_.text(7), hash)) found = key_of(find_);
  }
  if (found) touch(*found);
  return found;
}

void ApiKeys::touch(ApiKey& key) {
  auto now = std::chrono::system_clock::now();
  if (now - key.last_used < kTouchEvery && now >= key.last_used) return;
  key.last_used = now;
  database_.set_patience(std::chrono::milliseconds(0));  // a request does not wait for this
  touch_.run(to_micros(now), key.name).ignore("the next request with this key tries again");
  database_.set_patience(std::chrono::seconds(5));
}

Result<std::vector<ApiKey>> ApiKeys::list() {
  std::lock_guard lock(mutex_);
  TRY_SET(Statement select, database_.prepare(cat(kColumns, "ORDER BY name")));
  std::vector<ApiKey> out;
  for (;;) {
    TRY_SET(bool row, select.step());
    if (!row) return out;
    out.push_back(key_of(select));
  }
}

Result<bool> ApiKeys::revoke(std::string_view name) {
  std::lock_guard lock(mutex_);
  TRY_SET(Statement update, database_.prepare("UPDATE api_keys SET revoked=? WHERE name=? AND revoked=0"));
  TRY(update.run(to_micros(std::chrono::system_clock::now()), name));
  return database_.changes() > 0;
}

}  // namespace hotcell
