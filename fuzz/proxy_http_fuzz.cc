// Whatever a client sends the proxy: what is taken has one meaning. What we would send on is read again the same way.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/strings.h"
#include "net/http_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hotcell::net;
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto length = head_size(bytes);
  if (!length || length.value() == 0) return 0;
  std::string_view head = bytes.substr(0, length.value()), rest = bytes.substr(length.value());
  auto request = parse_request(head);
  if (rewritten_response(head).ok() && request) std::abort();  // nothing is both
  if (!request) return 0;
  const auto& target = request.value().target;
  if (target.port == 0 || target.host.name.empty()) std::abort();
  auto again = parse_authority(target.text(), 0);
  if (!again || again.value() != target) std::abort();
  BodyReader reader(request.value());
  auto taken = reader.take(rest);
  if (taken && taken.value() > rest.size()) std::abort();
  if (request.value().connect) return 0;
  std::string forwarded = forwarded_head(request.value());
  if (forwarded.find("\r\n\r\n") != forwarded.size() - 4) std::abort();  // one request, not two
  // In absolute form again, it must be the same request.
  auto space = forwarded.find(' ');
  std::string absolute = hotcell::cat(forwarded.substr(0, space + 1), "http://", target.text(), forwarded.substr(space + 1));
  auto second = parse_request(absolute);
  if (!second || second.value().target != target || second.value().path != request.value().path) std::abort();
  return 0;
}
