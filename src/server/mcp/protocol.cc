#include "server/mcp/protocol.h"

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "server/json/base64_decode.h"

namespace hotcell::server::mcp {

namespace {

constexpr std::array<std::string_view, 4> kLegacyVersions = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
constexpr std::size_t kLongestId = 1024, kLongestMethod = 256;

bool is_legacy(std::string_view version) {
  return std::find(kLegacyVersions.begin(), kLegacyVersions.end(), version) != kLegacyVersions.end();
}

RpcError invalid_request(std::string message) { return {kInvalidRequest, std::move(message), {}}; }
RpcError invalid_params(std::string message) { return {kInvalidParams, std::move(message), {}}; }
RpcError mismatch(std::string message) { return {kHeaderMismatch, std::move(message), {}}; }

std::string quoted(std::string_view text) { return cat("'", printable(text.substr(0, 100)), "'"); }

// Which era a message belongs to. The header Mcp-Method says nothing about it: legacy clients send it, too.
Era era_of(const Message& message, const Headers* headers) {
  const JsonValue* meta = message.meta();
  if (meta != nullptr && meta->find(kMetaVersion) != nullptr) return Era::kModern;
  if (headers == nullptr || message.method == "initialize") return Era::kLegacy;
  auto version = header_value(*headers, "mcp-protocol-version");
  return !version || is_legacy(*version) ? Era::kLegacy : Era::kModern;
}

// Values outside visible ASCII travel as =?base64?…?=. Nothing: what claims to be that is not.
std::optional<std::string> decoded_header(std::string_view value) {
  constexpr std::string_view kOpen = "=?base64?", kClose = "?=";
  if (!value.starts_with(kOpen) || !value.ends_with(kClose) || value.size() < kOpen.size() + kClose.size())
    return std::string(value);
  value.remove_prefix(kOpen.size());
  value.remove_suffix(kClose.size());
  auto bytes = base64_decode(value);
  if (!bytes || !is_valid_utf8(*bytes)) return std::nullopt;
  return bytes;
}

std::optional<RpcError> check_version(const Message& message, const Headers* headers) {
  std::optional<std::string> header;
  if (headers != nullptr) {
    header = header_value(*headers, "mcp-protocol-version");
    if (!header) return mismatch("the header MCP-Protocol-Version is missing");
  }
  const JsonValue* meta = message.meta();
  const JsonValue* said = meta == nullptr ? nullptr : meta->find(kMetaVersion);
  if (said == nullptr || said->string() == nullptr)
    return invalid_params(cat("params._meta[\"", kMetaVersion, "\"] is missing or no string"));
  const std::string& version = *said->string();
  if (header && *header != version)
    return mismatch(cat("the header MCP-Protocol-Version says ", quoted(*header), ", the message ", quoted(version)));
  if (version == kModernVersion) return std::nullopt;
  // Legacy versions are not named: nobody can speak them in this form.
  return RpcError{
      kUnsupportedVersion, cat("protocol version ", quoted(version), " is not supported here"),
      cat("{\"supported\":[\"", kModernVersion, "\"],\"requested\":", json_string(version.substr(0, 100)), "}")};
}

// Which member of params the header Mcp-Name repeats; empty: none.
std::string_view name_member(std::string_view method) {
  if (method == "tools/call" || method == "prompts/get") return "name";
  return method == "resources/read" ? "uri" : "";
}

std::optional<RpcError> check_routing_headers(const Message& message, const Headers& headers) {
  auto method = header_value(headers, "mcp-method");
  if (!method) return mismatch("the header Mcp-Method is missing");
  if (*method != message.method)
    return mismatch(cat("the header Mcp-Method says ", quoted(*method), ", the message ", quoted(message.method)));
  auto member = name_member(message.method);
  if (member.empty()) return std::nullopt;
  const JsonValue* body = message.params.find(member);
  if (body == nullptr || body->string() == nullptr)
    return invalid_params(cat("params.", member, " is missing or no string"));
  auto header = header_value(headers, "mcp-name");
  if (!header) return mismatch("the header Mcp-Name is missing");
  auto name = decoded_header(*header);
  if (!name) return mismatch("the header Mcp-Name is no valid base64");
  if (*name == *body->string()) return std::nullopt;
  return mismatch(cat("the header Mcp-Name says ", quoted(*name), ", params.", member, " ", quoted(*body->string())));
}

std::optional<RpcError> read_id(const JsonValue& id, Message& out) {
  const std::string* text = id.string();
  if (text == nullptr && !id.is_integer())
    return invalid_request(cat("id must be a string or a whole number", id.number() ? " without a fraction, of at most 64 bits" : cat(", not ", id.kind())));
  if (text != nullptr && text->size() > kLongestId) return invalid_request("id is longer than 1024 bytes");
  out.id = json_text(id);
  return std::nullopt;
}

}  // namespace

std::span<const std::string_view> legacy_versions() { return kLegacyVersions; }

std::optional<RpcError> read_message(JsonValue json, const Headers* headers, Message& out) {
  if (json.object() == nullptr) return invalid_request(cat("a message must be an object, not ", json.kind()));
  const JsonValue* id = json.find("id");
  if (id != nullptr)
    if (auto error = read_id(*id, out)) return error;
  if (json.text("jsonrpc") != "2.0") return invalid_request("jsonrpc must be \"2.0\"");
  const JsonValue* method = json.find("method");
  if (method == nullptr && id != nullptr && (json.find("result") != nullptr || json.find("error") != nullptr)) {
    out.kind = Message::Kind::kResponse;
    return std::nullopt;
  }
  if (method == nullptr || method->string() == nullptr) return invalid_request("method is missing or no string");
  if (method->string()->size() > kLongestMethod) return invalid_request("method is longer than 256 bytes");
  out.kind = id == nullptr ? Message::Kind::kNotification : Message::Kind::kRequest;
  out.method = *method->string();
  for (auto& m : std::get<JsonValue::Object>(json.v))
    if (m.name == "params") out.params = std::move(m.value);
  bool object = out.params.object() != nullptr, there = json.find("params") != nullptr;
  if (!object && there) {
    auto error = invalid_params(cat("params must be an object, not ", out.params.kind()));
    out.params = JsonValue();
    out.era = era_of(out, headers);
    return error;
  }
  out.era = era_of(out, headers);
  const JsonValue* meta = out.meta();
  if (meta != nullptr && meta->object() == nullptr) return invalid_params("params._meta must be an object");
  return std::nullopt;
}

std::optional<RpcError> check_modern(const Message& message, const Headers* headers) {
  if (auto error = check_version(message, headers)) return error;
  const JsonValue* capabilities = message.meta()->find(kMetaCapabilities);
  if (capabilities == nullptr || capabilities->object() == nullptr)
    return invalid_params(cat("params._meta[\"", kMetaCapabilities, "\"] is missing or no object"));
  return headers == nullptr ? std::nullopt : check_routing_headers(message, *headers);
}

std::optional<RpcError> check_param_header(const Headers& headers, std::string_view name, const JsonValue* argument) {
  std::string lower = cat("mcp-param-", name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  auto header = header_value(headers, lower);
  bool absent = argument == nullptr || argument->is_null();
  if (!header && absent) return std::nullopt;
  if (!header) return mismatch(cat("the header Mcp-Param-", name, " is missing"));
  if (absent) return mismatch(cat("the header Mcp-Param-", name, " is there, its argument is not"));
  auto value = decoded_header(*header);
  if (!value) return mismatch(cat("the header Mcp-Param-", name, " is no valid base64"));
  const std::string* text = argument->string();
  std::string body = text != nullptr ? *text : json_text(*argument);
  if (*value == body) return std::nullopt;
  // 42 and 42.0 are the same number.
  if (auto number = argument->number()) {
    auto said = parse_json(*value);
    if (said.ok() && said.value().number() == number) return std::nullopt;
  }
  return mismatch(cat("the header Mcp-Param-", name, " says ", quoted(*value), ", the argument ", quoted(body)));
}

int http_status(const RpcError& error, Era era) {
  switch (error.code) {
    case kParseError:
    case kInvalidRequest:
    case kHeaderMismatch:
    case kMissingCapability:
    case kUnsupportedVersion: return 400;
    case kMethodNotFound: return era == Era::kModern ? 404 : 200;
    case kInvalidParams: return era == Era::kModern ? 400 : 200;
    default: return 200;
  }
}

std::string error_text(std::string_view id, const RpcError& error) {
  std::string out = cat("{\"jsonrpc\":\"2.0\",\"id\":", id, ",\"error\":{\"code\":", error.code, ",\"message\":",
                        json_string(error.message));
  if (!error.data.empty()) out += cat(",\"data\":", error.data);
  return out += "}}";
}

std::string result_text(const Message& to, std::string_view members, Caching caching, std::string_view version) {
  std::string out = cat("{\"jsonrpc\":\"2.0\",\"id\":", to.id, ",\"result\":{", members);
  if (to.era == Era::kModern) {
    if (!members.empty()) out += ',';
    if (caching == Caching::kPublic) out += "\"ttlMs\":300000,\"cacheScope\":\"public\",";
    if (caching == Caching::kPrivate) out += "\"ttlMs\":0,\"cacheScope\":\"private\",";
    out += cat("\"resultType\":\"complete\",\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"hotcell\",",
               "\"version\":", json_string(version), "}}");
  }
  return out += "}}";
}

std::optional<std::string> header_value(const Headers& headers, std::string_view lower_name) {
  std::optional<std::string> found;
  for (const auto& [name, value] : headers) {
    if (name != lower_name) continue;
    if (found) *found += cat(", ", trim(value));
    else found = std::string(trim(value));
  }
  return found;
}

}  // namespace hotcell::server::mcp
