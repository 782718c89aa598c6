// Two readers of outside bytes: what a child that was taken over may say to its owner, and the engine over a source of
// any language. The first byte chooses.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "languages/engine.h"
#include "languages/verify_wire.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hotcell;
  static constexpr const char* kLanguages[] = {"python",     "bash",       "c",   "cpp", "rust", "go", "java",
                                               "javascript", "typescript", "lua"};
  constexpr std::size_t kCount = sizeof kLanguages / sizeof kLanguages[0];
  if (size == 0 || size > 8192) return 0;  // longer hostile texts take gigabytes, which the limited child is for
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] >= 0xf0) {
    if (auto reply = unpack_reply(bytes))
      for (const auto& f : reply->findings)
        if (f.severity != "error" && f.severity != "warning" && f.severity != "info") std::abort();
    if (auto request = unpack_request(bytes); request && !unpack_request(pack(*request))) std::abort();
    return 0;
  }
  WireRequest request;
  request.language = kLanguages[data[0] % kCount];
  request.file = "fuzz";
  request.source = bytes;
  request.options.level = (data[0] & 0x80) != 0 ? VerifyLevel::kStrict : VerifyLevel::kDefault;
  Verification v = verify_source(std::move(request));
  // Whatever it is, it is not safe beside an error, and what cannot be verified says why.
  for (const auto& f : v.findings)
    if (v.safe && f.severity == "error") std::abort();
  if (v.unverifiable && (v.safe || v.findings.empty())) std::abort();
  WireReply reply;
  reply.unverifiable = v.unverifiable;
  reply.findings = v.findings;
  if (!unpack_reply(pack(reply))) std::abort();  // the owner believes what an honest child says
  return 0;
}
