// One HTTP request and its answer between a cell and a server, with secrets put in on the way there and taken out on the
// way back. Works on streams that block; TLS is theirs.
#pragma once
#include <string_view>
#include <vector>

#include "net/host.h"
#include "net/secrets.h"

namespace hotcell::net {

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // 0: the end; below 0: broken, or too slow. kNothing: what came was the protocol's own, such as a ticket of TLS; whoever
  // waited for it here might wait for ever, while the other side has something to say.
  static constexpr long kNothing = -2;
  virtual long read(char* into, std::size_t most) = 0;
  virtual bool write(std::string_view bytes) = 0;       // all of it
  // Nothing more will be said; what still comes is read for a moment, since closing on it would take away what was said.
  virtual void finish() = 0;
  virtual bool buffered() const = 0;                    // there is more to read without waiting
  virtual int fd() const = 0;
};

// Until the answer is over or one side fails. `secrets`: those of this host alone. `usual_port`: what a Host without a
// port means here.
void exchange(ByteStream& client, ByteStream& server, const Target& target, std::uint16_t usual_port, const std::vector<Secret>& secrets);

// The request as it goes on, pure. An error: it is not one that could be passed on.
Result<std::string> request_with_secrets(std::string_view head, const Target& target, std::uint16_t usual_port, const std::vector<Secret>& secrets);

}  // namespace hotcell::net
