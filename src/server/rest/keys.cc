#include <algorithm>
#include <array>

#include "base/json_write.h"
#include "base/strings.h"
#include "core/policy/units.h"
#include "server/rest/errors.h"
#include "server/rest/json_reader.h"
#include "server/rest/result_json.h"
#include "server/rest/routes.h"

namespace hotcell::server {

namespace {

constexpr std::array<std::string_view, 4> kFields = {"name", "scopes", "max_running", "requests_per_minute"};
constexpr std::array<std::string_view, 3> kScopes = {"run", "read", "admin"};

bool is_key_name(std::string_view name) {
  auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
  };
  // "local" is who comes without a key.
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), fits) && name != "local";
}

Result<std::uint32_t> limit_of(const JsonReader& reader, std::string_view name) {
  std::optional<std::uint64_t> number;
  TRY(reader.read(name, number));
  if (number.value_or(0) > 1'000'000'000) return make_error(ErrorCode::kInvalid, cat(name, " is too large"));
  return static_cast<std::uint32_t>(number.value_or(0));
}

Result<KeyRow> read_request(std::string_view text) {
  TRY_SET(auto body, parse_body(text));
  TRY_SET(auto reader, JsonReader::of(body, "", kFields));
  KeyRow key;
  TRY(reader.read_word("name", key.name));
  TRY(reader.read("scopes", key.scopes));
  if (key.name.empty()) return make_error(ErrorCode::kInvalid, "name is required");
  if (!is_key_name(key.name))
    return make_error(ErrorCode::kInvalid, cat("name must be up to 64 letters, digits, '.', '-' or '_', not ", quoted(key.name)));
  if (key.scopes.empty()) return make_error(ErrorCode::kInvalid, "scopes is required: run, read or admin");
  for (const auto& scope : key.scopes) {
    if (std::find(kScopes.begin(), kScopes.end(), scope) == kScopes.end())
      return make_error(ErrorCode::kInvalid, cat("scopes: there is no ", quoted(scope), ", only run, read and admin"));
  }
  TRY_SET(key.max_running, limit_of(reader, "max_running"));
  TRY_SET(key.requests_per_minute, limit_of(reader, "requests_per_minute"));
  return key;
}

void write_key(JsonWriter& w, const KeyRow& key, const std::string* secret) {
  w.begin_object();
  w.field("name", key.name);
  if (secret != nullptr) w.field("key", *secret);
  w.key("scopes");
  w.begin_array();
  for (const auto& scope : key.scopes) w.value(scope);
  w.end_array();
  w.field("max_running", key.max_running);
  w.field("requests_per_minute", key.requests_per_minute);
  if (secret == nullptr) {
    write_time(w, "created", key.created);
    write_time(w, "last_used", key.last_used);
    write_time(w, "revoked", key.revoked);
  }
  w.end_object();
}

void list(Services& services, ExchangePtr exchange) {
  auto keys = services.keys.list();
  if (!keys.ok()) return exchange->respond(error_answer(keys.error()));
  JsonWriter w;
  w.begin_object();
  w.key("keys");
  w.begin_array();
  for (const auto& key : keys.value()) write_key(w, key, nullptr);
  w.end_array();
  w.end_object();
  exchange->respond(json_answer(w.take()));
}

void create(Services& services, ExchangePtr exchange) {
  auto key = read_request(exchange->request().body);
  if (!key.ok()) return exchange->respond(error_answer(key.error()));
  auto secret = services.keys.create(key.value());
  if (!secret.ok()) return exchange->respond(error_answer(secret.error()));
  services.audit.append({"keys", "key.created", "medium", cat("the key ", key.value().name, " was made"),
                         {{"key", key.value().name}, {"scopes", join(key.value().scopes, ",")}}, "",
                         exchange->request().caller.name});
  JsonWriter w;
  write_key(w, key.value(), &secret.value());
  exchange->respond(json_answer(w.take(), 201));
}

void revoke(Services& services, ExchangePtr exchange) {
  const std::string& name = exchange->request().params.at(0);
  auto gone = is_key_name(name) ? services.keys.revoke(name) : Result<void>(make_error(ErrorCode::kNotFound, "no such key"));
  if (!gone.ok()) return exchange->respond(error_answer(gone.error()));
  services.audit.append({"keys", "key.revoked", "medium", cat("the key ", name, " was revoked"), {{"key", name}}, "",
                         exchange->request().caller.name});
  HttpResponse answer;
  answer.status = 204;
  answer.content_type.clear();
  exchange->respond(std::move(answer));
}

}  // namespace

void add_key_routes(RouteList& routes, Services& services) {
  auto add = [&](const char* method, const char* path, void (*handler)(Services&, ExchangePtr)) {
    routes.push_back({method, path, Scope::kAdmin, [&services, handler](ExchangePtr x) { handler(services, std::move(x)); }});
  };
  add("GET", "/api/v1/keys", list);
  add("POST", "/api/v1/keys", create);
  add("DELETE", "/api/v1/keys/:name", revoke);
}

}  // namespace hotcell::server
