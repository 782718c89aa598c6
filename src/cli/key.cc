// `key create`, `key list` and `key revoke`; a running daemon takes notice at once.
#include "base/json_write.h"
#include "base/strings.h"
#include "cli/say.h"
#include "cli/state.h"
#include "store/api_keys.h"
#include "store/schema.h"

namespace hotcell {

namespace {

constexpr std::size_t kMost = 1'000'000;

Result<int> create(ApiKeys& keys, const Parsed& parsed, std::string_view name) {
  ApiKey key;
  key.name = name;
  TRY(set_scopes(key, *parsed.last(Opt::kScope)).context("--scope"));
  TRY_SET(std::size_t running, count_option(parsed, Opt::kMaxRunning, 0, kMost));
  TRY_SET(std::size_t requests, count_option(parsed, Opt::kPerMinute, 0, kMost));
  key.max_running = static_cast<std::uint32_t>(running);
  key.per_minute = static_cast<std::uint32_t>(requests);
  TRY_SET(std::string secret, keys.create(key));
  if (!parsed.has(Opt::kJson)) {
    say("this is shown once; the daemon keeps only its hash");
    return print(secret + "\n");
  }
  JsonWriter w;
  w.begin_object();
  w.field("name", key.name);
  w.field("key", secret);
  w.end_object();
  return print(w.take() + "\n");
}

Result<int> list(ApiKeys& keys, bool json) {
  TRY_SET(auto all, keys.list());
  std::string out;
  JsonWriter w;
  w.begin_array();
  for (const auto& k : all) {
    auto used = utc_time(k.last_used), revoked = utc_time(k.revoked);
    out += cat(k.name, "  ", scope_words(k), "  created ", utc_time(k.created), used.empty() ? "" : "  used ", used,
               revoked.empty() ? "" : "  revoked ", revoked, "\n");
    w.begin_object();
    w.field("name", k.name);
    w.field("scopes", scope_words(k));
    w.field("max_running", k.max_running);
    w.field("per_minute", k.per_minute);
    w.field("created", utc_time(k.created));
    w.field("last_used", used);
    w.field("revoked", revoked);
    w.end_object();
  }
  w.end_array();
  return print(json ? w.take() + "\n" : out);
}

Result<int> run(const Parsed& parsed) {
  const auto& words = parsed.words;
  auto is = [&](std::string_view word, std::size_t count) { return words.size() == count && words[0] == word; };
  bool creating = is("create", 2);
  if (!creating && !is("list", 1) && !is("revoke", 2)) {
    return make_error(ErrorCode::kInvalid, "key: expected create NAME, list, or revoke NAME");
  }
  if (creating && !parsed.has(Opt::kScope)) return make_error(ErrorCode::kInvalid, "key create: --scope is missing (run,read)");
  TRY_SET(std::string folder, state_folder(parsed, creating ? Missing::kMake : Missing::kRefuse));
  TRY_SET(auto keys, ApiKeys::open(store_file(folder)));
  if (creating) return create(*keys, parsed, words[1]);
  if (words[0] == "list") return list(*keys, parsed.has(Opt::kJson));
  TRY_SET(bool revoked, keys->revoke(words[1]));
  if (!revoked) return make_error(ErrorCode::kInvalid, cat("no key ", printable(words[1]), ", or it is revoked already"));
  return print(parsed.has(Opt::kJson) ? cat("{\"revoked\":\"", words[1], "\"}\n") : cat("revoked ", words[1], "\n"));
}

}  // namespace

int cmd_key(Args args) { return run_command(Command::kKey, args, run); }

}  // namespace hotcell
