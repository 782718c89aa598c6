// Answers of a container engine as they come in, HTTP/1.1: a length, chunks, until the end, or a connection that is
// something else from here on (attach, exec). The engine is trusted with containers, not with our memory: everything is
// bounded, and what is not well-formed is an error.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/result.h"

namespace hotcell::backends {

class ResponseReader {
 public:
  // `body`: what may come at most, for readers that keep it all (take_body() in between starts counting anew).
  explicit ResponseReader(std::size_t body = 16u << 20) : most_(body) {}
  Result<void> add(std::string_view bytes);
  Result<void> end();                          // the engine has closed the connection
  bool head_done() const { return state_ != State::kHead; }
  bool done() const { return state_ == State::kDone; }
  bool upgraded() const { return state_ == State::kUpgraded; }
  int status() const { return status_; }
  std::string take_body() { return std::exchange(body_, {}); }  // after an upgrade: what came behind the head

 private:
  enum class State : std::uint8_t { kHead, kSized, kUntilEnd, kChunkSize, kChunk, kChunkEnd, kTrailer, kUpgraded, kDone };
  Result<void> read_head();
  Result<bool> read_line(std::string& line);   // false: not all of it is there yet
  Result<void> keep(std::size_t count);

  State state_ = State::kHead;
  std::size_t most_;
  std::uint64_t left_ = 0;
  int status_ = 0;
  std::string pending_, body_;
};

// The stream of a container without a terminal: frames of a byte for the stream, three zeros, a length, the bytes.
class FrameReader {
 public:
  struct Piece {
    int stream = 1;                            // 1: stdout, 2: stderr
    std::string bytes;
  };
  Result<std::vector<Piece>> add(std::string_view bytes);

 private:
  std::string head_;
  std::uint32_t left_ = 0;
  int stream_ = 1;
};

}  // namespace hotcell::backends
