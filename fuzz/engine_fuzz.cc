// Whatever an engine answers, it is read or refused, and where the pieces end makes no difference; the same for its streams.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "backends/engine/http.h"
#include "backends/engine/json.h"

namespace {

using namespace hotcell::backends;

bool read(std::string_view bytes, std::size_t step, std::string& out) {
  ResponseReader reader(1 << 16);
  for (std::size_t at = 0; at < bytes.size(); at += step)
    if (!reader.add(bytes.substr(at, step)).ok()) return false;
  out = std::to_string(reader.status()) + (reader.done() ? "d" : reader.upgraded() ? "u" : "-") + reader.take_body();
  return true;
}

bool take(std::string_view bytes, std::size_t step, std::string& out) {
  FrameReader reader;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    auto pieces = reader.add(bytes.substr(at, step));
    if (!pieces.ok()) return false;
    for (const auto& p : pieces.value())
      for (char c : p.bytes) out += {static_cast<char>('0' + p.stream), c};
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::string whole, parts;
  if (read(bytes, size + 1, whole) && read(bytes, 3, parts) && whole != parts) std::abort();
  std::string all, each;
  if (take(bytes, size + 1, all) && take(bytes, 5, each) && all != each) std::abort();
  (void)json_labelled(bytes, "hotcell.owner");
  (void)json_images(bytes);
  return 0;
}
