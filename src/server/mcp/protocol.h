// JSON-RPC as MCP uses it, in both of its eras. Legacy (2024-11-05 to 2025-11-25) begins with `initialize`; modern
// (2026-07-28) has no handshake: every request says in `_meta`, and over HTTP again in headers, what it speaks and
// wants. Everything in here is a pure function of one message.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/json/json_value.h"

namespace hotcell::server::mcp {

using Headers = std::vector<std::pair<std::string, std::string>>;  // names in lower case

enum class Era : std::uint8_t { kLegacy, kModern };

inline constexpr std::string_view kModernVersion = "2026-07-28", kNewestLegacyVersion = "2025-11-25";
std::span<const std::string_view> legacy_versions();  // newest first

inline constexpr std::string_view kMetaVersion = "io.modelcontextprotocol/protocolVersion";
inline constexpr std::string_view kMetaCapabilities = "io.modelcontextprotocol/clientCapabilities";

inline constexpr int kParseError = -32700, kInvalidRequest = -32600, kMethodNotFound = -32601, kInvalidParams = -32602,
                     kInternalError = -32603, kResourceNotFound = -32002, kHeaderMismatch = -32020,
                     kMissingCapability = -32021, kUnsupportedVersion = -32022;

struct RpcError {
  int code = kInternalError;
  std::string message;
  std::string data;  // JSON, empty when there is none
};

struct Message {
  enum class Kind : std::uint8_t { kRequest, kNotification, kResponse };
  Kind kind = Kind::kRequest;
  Era era = Era::kLegacy;
  std::string id = "null";  // as JSON
  std::string method;
  JsonValue params;              // an object or null

  const JsonValue* meta() const { return params.find("_meta"); }
};

// One object of the wire. What is known of it is in `out` even when it is refused, so that the error can echo its id.
std::optional<RpcError> read_message(JsonValue json, const Headers* headers, Message& out);

// The checks of the modern era in the order that decides which error is told. Headers are null where the transport has
// none. What a tool says of its own parameters is checked by check_param_header.
std::optional<RpcError> check_modern(const Message& message, const Headers* headers);

// The header Mcp-Param-NAME must say the same as the argument, or be absent when that is.
std::optional<RpcError> check_param_header(const Headers& headers, std::string_view name, const JsonValue* argument);

// The status of HTTP that goes with an error.
int http_status(const RpcError& error, Era era);

std::string error_text(std::string_view id, const RpcError& error);
// `members`: the members of the result without braces. The modern era adds who answered and that this is all of it.
enum class Caching : std::uint8_t { kNone, kPublic, kPrivate };
std::string result_text(const Message& to, std::string_view members, Caching caching, std::string_view version);

// The only value of a header; several are joined, so that they equal nothing that one of them equals.
std::optional<std::string> header_value(const Headers& headers, std::string_view lower_name);

}  // namespace hotcell::server::mcp
