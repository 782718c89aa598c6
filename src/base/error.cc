#include <cerrno>
#include <cstring>

#include "hotcell/result.h"

namespace hotcell {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalid: return "invalid";
    case ErrorCode::kNotFound: return "not_found";
    case ErrorCode::kNotExecutable: return "not_executable";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kDenied: return "denied";
    case ErrorCode::kLimit: return "limit";
    case ErrorCode::kIo: return "io";
    case ErrorCode::kCancelled: return "cancelled";
    case ErrorCode::kInternal: return "internal";
  }
  return "internal";
}

int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotExecutable: return 126;
    case ErrorCode::kNotFound: return 127;
    default: return 125;
  }
}

Error make_error(ErrorCode code, std::string message) { return Error{code, 0, std::move(message)}; }

Error errno_error(std::string_view what, int err) {
  // ENOENT stays kIo: only the launcher knows whether the missing thing was the program (127) or one of ours (125).
  ErrorCode code = ErrorCode::kIo;
  if (err == EACCES || err == EPERM) code = ErrorCode::kDenied;
  if (err == ENOSYS || err == EOPNOTSUPP) code = ErrorCode::kUnsupported;
  return Error{code, err, std::string(what) + ": " + ::strerror(err)};
}

}  // namespace hotcell
