#include "languages/verify_program.h"

#include <unistd.h>

#include <memory>
#include <utility>

#include "base/strings.h"
#include "sys/file.h"
#include "sys/socket_child.h"

#ifndef HOTCELL_LIBEXEC_DIR
#define HOTCELL_LIBEXEC_DIR "/usr/local/libexec/hotcell"
#endif

namespace hotcell {

Result<std::string> find_verify_program() {
  TRY_SET(std::string self, sys::read_link("/proc/self/exe"));
  std::string folder = self.substr(0, self.rfind('/'));
  std::string tried;
  for (const std::string& place : {folder, cat(folder, "/../libexec/hotcell"), std::string(HOTCELL_LIBEXEC_DIR)}) {
    std::string path = cat(place, "/hotcell-verify");
    if (::access(path.c_str(), X_OK) == 0) return path;
    tried += cat(tried.empty() ? "" : ", ", path);
  }
  return make_error(ErrorCode::kNotFound, cat("hotcell-verify is not there; looked for ", tried));
}

VerifierSpawn spawn_here(std::string program) {
  return [program = std::move(program)](Bytes memory) -> Result<SpawnedVerifier> {
    TRY_SET(sys::SocketChild child, sys::start_socket_child(program, {"hotcell-verify", cat(memory.n)}));
    SpawnedVerifier out;
    out.socket = child.socket.release();
    auto held = std::make_shared<sys::SocketChild>(std::move(child));
    out.end = [held](int grace_ms) { return sys::end_socket_child(*held, grace_ms); };
    return out;
  };
}

}  // namespace hotcell
