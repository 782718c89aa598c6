// A container engine behind its Unix socket: the Docker Engine API, which dockerd and `podman system service` both speak.
// One connection for each call, so that a call that hangs hangs alone; every call has a deadline.
#pragma once
#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "hotcell/result.h"
#include "sys/fd.h"

namespace hotcell::backends {

struct EngineAnswer {
  int status = 0;
  std::string body;
  bool ok() const { return status >= 200 && status < 300; }
};

struct EngineStream {
  sys::Fd socket;        // non-blocking; what is written goes to stdin
  std::string first;     // what came with the answer
};

class EngineClient {
 public:
  using Milliseconds = std::chrono::milliseconds;
  EngineClient(std::string name, std::string socket) : name_(std::move(name)), socket_(std::move(socket)) {}
  const std::string& name() const { return name_; }
  const std::string& socket() const { return socket_; }

  // An Error: the engine could not be asked. What it refuses is an answer.
  Result<EngineAnswer> ask(std::string_view method, std::string_view path, std::string_view body = {}, std::string_view type = "application/json",
                           Milliseconds patience = std::chrono::seconds(30)) const;
  // The same, and what it refuses is an error with the engine's own words.
  Result<std::string> demand(std::string_view method, std::string_view path, std::string_view body = {}, std::string_view type = "application/json",
                             Milliseconds patience = std::chrono::seconds(30)) const;
  // The body as it comes (builds tell of their progress); `patience` is between two pieces of it.
  Result<int> follow(std::string_view method, std::string_view path, std::string_view body, std::string_view type,
                     const std::function<Result<void>(std::string_view)>& on_bytes, Milliseconds patience) const;
  // attach, exec: the connection becomes the program's streams.
  Result<EngineStream> upgrade(std::string_view path, std::string_view body = {}) const;
  // Is anybody there who speaks this? Otherwise the reason why not. For the probe: short.
  Result<void> ping(Milliseconds patience) const;

 private:
  Result<sys::Fd> connect(Milliseconds patience) const;
  Error cannot(std::string_view what) const;
  std::string name_, socket_;
};

// What stands in path segments and queries.
std::string url_escape(std::string_view text);

}  // namespace hotcell::backends
