// Bytes → one request. Beast does the reading; on top of it stands what Beast lets through and a second reader in front
// of us might understand differently (request smuggling): folded lines, several or strange lengths, other codings.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/http/exchange.h"

namespace hotcell::server {

struct ParseLimits {
  std::size_t header_bytes = 32 << 10;
  std::size_t header_count = 100;
  std::uint64_t body_bytes = 16 << 20;
  std::uint64_t piecewise_bytes = std::uint64_t{16} << 30;   // of a body that is not kept
};

struct ParseFailure {
  int status = 400;
  std::string message;  // one sentence
  std::string reason = "bad_request";
};

class RequestParser {
 public:
  explicit RequestParser(ParseLimits limits);
  ~RequestParser();

  enum class State { kMore, kHead, kDone, kFailed };
  // kHead once, when the headers are complete and sound; then again with the rest until kDone. What was not consumed
  // must come again, with more behind it.
  State feed(std::string_view bytes, std::size_t& consumed);
  const ParseFailure& failure() const { return failure_; }

  HttpRequest take_head();                              // after kHead: method, target, path, query, headers
  void in_pieces() { in_pieces_ = true; }               // after kHead, for this request: the body may be a long one
  bool announced_too_much();                            // after kHead: failure() says so
  std::string take_body();                              // after kDone; in pieces: what has come since the last time
  std::string authority() const { return authority_; }  // of an absolute target
  bool http11() const { return http11_; }
  bool keep_alive() const { return keep_alive_; }
  bool expects_continue() const { return expects_continue_; }
  bool has_body() const { return has_body_; }

  void reset();  // for the next request of the connection

 private:
  struct Impl;
  State fail(int status, std::string message, std::string reason = "bad_request");
  State fail_by(int beast_error, std::string_view bytes);
  State check_head();
  std::uint64_t most() const { return in_pieces_ ? limits_.piecewise_bytes : limits_.body_bytes; }

  ParseLimits limits_;
  std::unique_ptr<Impl> impl_;
  HttpRequest head_;
  ParseFailure failure_;
  std::string authority_;
  bool http11_ = true, keep_alive_ = true, expects_continue_ = false, has_body_ = false, in_pieces_ = false;
  std::uint64_t taken_ = 0;  // of a body in pieces
};

}  // namespace hotcell::server
