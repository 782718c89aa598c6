// The head of what a client asks a proxy for. Strict: what two readers could frame differently is refused.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/host.h"

namespace hotcell::net {

inline constexpr std::size_t kMostHead = 64 << 10;

struct ProxyRequest {
  std::string method;
  bool connect = false;
  Target target;
  std::string path;                         // origin form, for plain requests
  bool http_1_0 = false;
  std::vector<std::pair<std::string, std::string>> headers;
  std::optional<std::uint64_t> content_length;
  bool chunked = false;
  bool expects_continue = false;
};

// Where the head ends in `bytes` (behind the empty line), 0 when there is more to come. An error: it never will.
Result<std::size_t> head_size(std::string_view bytes);
Result<ProxyRequest> parse_request(std::string_view head);
// What is sent on: origin form, our own Host, hop-by-hop fields removed, one request for each connection.
std::string forwarded_head(const ProxyRequest& request);
// A response's head with hop-by-hop fields removed and the connection closed behind it. An error: it is no HTTP.
struct ResponseHead {
  std::string text;
  int status = 0;
  std::string coding;  // how the body is carried, in small letters: chunked; empty: as it is
};
Result<ResponseHead> rewritten_response(std::string_view head);

// Follows a body by its framing.
class BodyReader {
 public:
  explicit BodyReader(const ProxyRequest& request);
  static BodyReader chunked() { return BodyReader(State::kSize); }
  // How many of these bytes belong to the body; an error when the chunks are not well-formed. What they carry is added to `data`.
  Result<std::size_t> take(std::string_view bytes, std::string* data = nullptr);
  bool done() const { return state_ == State::kDone; }

 private:
  enum class State : unsigned char { kSized, kSize, kExtension, kSizeLf, kData, kDataCr, kDataLf, kTrailer, kTrailerLf, kEndLf, kDone };
  explicit BodyReader(State state) : state_(state) {}
  State state_ = State::kDone;
  std::uint64_t left_ = 0;
  unsigned digits_ = 0, trailer_ = 0;
  bool line_empty_ = true;
};

}  // namespace hotcell::net
