// Bytes to and from one peer, whatever is underneath: TCP, Unix socket, TLS, or memory in tests. One read and one write
// may be under way at once; the user is kept alive while one is.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace hotcell::server {

struct Peer {
  bool unix_socket = false;
  bool loopback = false;  // both ends
  bool tls = false;
  std::string address;               // "127.0.0.1:4711", "unix"
  std::optional<std::uint32_t> uid;  // of a Unix socket's other end
};

class StreamUser {
 public:
  virtual ~StreamUser() = default;
  virtual void on_open(bool ok) = 0;
  virtual void on_read(std::size_t size, bool failed) = 0;  // 0 and not failed: the peer will send no more
  virtual void on_written(std::size_t size, bool failed) = 0;
};

class Stream {
 public:
  enum class Write { kDone, kWait, kFailed };

  virtual ~Stream() = default;
  virtual void open(std::shared_ptr<StreamUser> user) = 0;  // the handshake, if there is one
  virtual void read(char* into, std::size_t size, std::shared_ptr<StreamUser> user) = 0;
  // kDone: `written` bytes went at once and nothing will be called. kWait: on_written comes; `bytes` stay till then.
  virtual Write write(std::string_view bytes, std::size_t& written, const std::shared_ptr<StreamUser>& user) = 0;
  virtual void shutdown_write(const std::shared_ptr<StreamUser>& user) = 0;
  virtual void close() = 0;
};

}  // namespace hotcell::server
