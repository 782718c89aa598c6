// hotcell-verify: the child of a Verifier (hotcell/verify.h). Confines itself, then answers one request after the other
// on descriptor 0 until that is closed. Not for calling by hand.
#include <malloc.h>
#include <time.h>
#include <unistd.h>

#include <exception>
#include <new>

#include "base/strings.h"
#include "languages/engine.h"
#include "languages/verify_wire.h"
#include "sys/confine_reader.h"
#include "sys/framed_child.h"

namespace hotcell {
namespace {

constexpr int kSocket = 0;
// Well below RLIMIT_CPU, so that no source is cut short by what others used before it.
constexpr time_t kRetireAfterCpuSeconds = 60;

bool is_tired() {
  timespec used{};
  return ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0 && used.tv_sec >= kRetireAfterCpuSeconds;
}

WireReply refusal(std::string_view why) {
  WireReply reply;
  reply.unverifiable = reply.last = true;
  reply.findings.push_back(unverifiable_finding(why));
  return reply;
}

WireReply answer(std::string& in) {
  try {
    auto request = unpack_request(in);
    if (!request) return refusal("the request could not be read");
    std::string().swap(in);  // its bytes are in the request now; a large source is not held twice
    WireReply reply;
    Verification v = verify_source(std::move(*request));
    reply.unverifiable = v.unverifiable;
    reply.findings = std::move(v.findings);
    reply.last = is_tired();
    return reply;
  } catch (const std::bad_alloc&) {
    return refusal("reading it takes more memory than the verifier is given");
  } catch (const std::exception& e) {
    return refusal(cat("the verifier failed on it: ", e.what()));
  }
}

int serve() {
  std::string in;
  while (sys::receive_frame(kSocket, kMaxRequest, in)) {
    const bool large = in.size() > (1u << 20);
    WireReply reply = answer(in);
    if (!sys::send_frame(kSocket, pack(reply)) || reply.last) return 0;
    if (large) ::malloc_trim(0);  // a parked child need not hold what one large source took
  }
  return 0;
}

}  // namespace
}  // namespace hotcell

int main(int argc, char** argv) {
  using namespace hotcell;
  auto memory = argc == 2 ? parse_u64(argv[1]) : std::nullopt;
  if (!memory) return 2;
  // Memory goes back to the allocator rather than to the kernel: trees of one source after the other.
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 128 << 20);
  ::mallopt(M_ARENA_MAX, 1);
  auto confined = sys::confine_reader(*memory);
  if (!confined.ok()) {
    sys::send_frame(kSocket, pack(refusal(cat("the verifier could not be confined: ", confined.error().message))));
    return 1;
  }
  return serve();
}
