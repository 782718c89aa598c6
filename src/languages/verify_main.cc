// hotcell-verify: the child of a Verifier (hotcell/verify.h). Confines itself, then answers one request after the other
// on descriptor 0 until that is closed. Not for calling by hand.
#include <malloc.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <new>

#include "base/strings.h"
#include "languages/engine.h"
#include "languages/verify_confine.h"
#include "languages/verify_wire.h"

namespace hotcell {
namespace {

constexpr int kSocket = 0;
// Well below RLIMIT_CPU, so that no source is cut short by what others used before it.
constexpr time_t kRetireAfterCpuSeconds = 60;

bool send_all(std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t n = ::send(kSocket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

// One frame's payload in `in`; false when the owner is gone or says what no owner would.
bool receive_frame(std::string& in) {
  in.clear();
  std::size_t want = kFrameHead;
  bool head = true;
  while (in.size() < want) {
    std::size_t have = in.size();
    in.resize(have + std::max<std::size_t>(want - have, 64u << 10));
    ssize_t n = ::recv(kSocket, in.data() + have, in.size() - have, 0);
    if (n < 0 && errno == EINTR) n = 0;
    else if (n <= 0) return false;
    in.resize(have + static_cast<std::size_t>(n));
    if (!head || in.size() < kFrameHead) continue;
    auto length = frame_length(in, kMaxRequest);
    if (!length) return false;
    want = kFrameHead + *length;
    in.reserve(want + (64u << 10));
    head = false;
  }
  return in.size() == want;
}

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
    auto request = unpack_request(std::string_view(in).substr(kFrameHead));
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
  while (receive_frame(in)) {
    const bool large = in.size() > (1u << 20);
    WireReply reply = answer(in);
    if (!send_all(frame(pack(reply))) || reply.last) return 0;
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
  auto confined = confine_verifier(*memory);
  if (!confined.ok()) {
    send_all(frame(pack(refusal(cat("the verifier could not be confined: ", confined.error().message)))));
    return 1;
  }
  return serve();
}
