#include "cells/keeper/protocol.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/archive.h"
#include "base/strings.h"
#include "sys/file.h"
#include "sys/socket.h"

namespace hotcell::cells {
namespace {

constexpr std::size_t kInline = 64u << 10, kLongest = 256u << 20;

template <typename A>
void fields(A& a, Ask& v) { a(v.number, v.verb, v.cell, v.words, v.fields, v.env); }
template <typename A>
void fields(A& a, Told& v) {
  Error error;
  bool failed = v.error.has_value();
  if (failed) error = *v.error;
  a(v.number, v.last, failed, error.code, error.err, error.message, v.fields, v.text);
  if constexpr (A::kReading)
    if (failed) v.error = std::move(error);
}

template <typename T>
std::string packed(const T& value) {
  archive::Packer p;
  fields(p, const_cast<T&>(value));
  return std::move(p.out);
}
template <typename T>
bool unpacked(std::string_view bytes, T& value) {
  archive::Unpacker u(bytes);
  fields(u, value);
  return u.finished();
}

Result<sockaddr_un> address(int folder, const char* name) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  std::string path = cat("/proc/self/fd/", folder, "/", std::string_view(name));
  if (path.size() >= sizeof at.sun_path) return make_error(ErrorCode::kInternal, "the name of a socket is too long");
  std::memcpy(at.sun_path, path.c_str(), path.size() + 1);
  return at;
}

}  // namespace

std::string pack(const Ask& ask) { return packed(ask); }
std::string pack(const Told& told) { return packed(told); }
bool unpack(std::string_view bytes, Ask& ask) { return unpacked(bytes, ask); }
bool unpack(std::string_view bytes, Told& told) {
  return unpacked(bytes, told) && (!told.error || told.error->code <= ErrorCode::kInternal);
}

Result<void> send_message(int socket, std::string_view bytes, std::span<const int> fds, int flags) {
  std::string packet;
  if (bytes.size() < kInline) {
    packet.reserve(bytes.size() + 1);
    packet += 'i';
    packet += bytes;
    return sys::send(socket, packet, fds, flags);
  }
  TRY_SET(sys::Fd body, sys::memfd("hotcell-message", bytes, false, true));
  std::vector<int> all(fds.begin(), fds.end());
  all.push_back(body.get());
  packet = "m";
  return sys::send(socket, packet, all, flags);
}

Result<Received> receive_message(int socket, int flags) {
  static thread_local char buffer[kInline + 16];
  TRY_SET(sys::Message m, sys::receive(socket, buffer, flags));
  Received r;
  r.again = m.again;
  r.closed = !m.again && m.size == 0;
  if (r.again || r.closed) return r;
  if (m.truncated) return make_error(ErrorCode::kInvalid, "a message is longer than any may be");
  r.fds = std::move(m.fds);
  if (buffer[0] == 'i') {
    r.bytes.assign(buffer + 1, m.size - 1);
    return r;
  }
  if (buffer[0] != 'm' || r.fds.empty()) return make_error(ErrorCode::kInvalid, "not a message");
  sys::Fd body = std::move(r.fds.back());
  r.fds.pop_back();
  // Sealed: it cannot shrink under the read.
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_WRITE;
  int seals = ::fcntl(body.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSeals) != kSeals) return make_error(ErrorCode::kInvalid, "a long message is not sealed");
  ::lseek(body.get(), 0, SEEK_SET);
  TRY_SET(r.bytes, sys::read_fd(body.get(), kLongest));
  return r;
}

Result<sys::Fd> listen_in(const std::string& folder, const char* name) {
  TRY_SET(sys::Fd at, sys::open(folder.c_str(), O_PATH | O_DIRECTORY));
  TRY_SET(sockaddr_un address_of, address(at.get(), name));
  sys::Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return errno_error("socket", errno);
  ::unlinkat(at.get(), name, 0);
  // The folder is 0700 already; the mode is for who moves it elsewhere.
  mode_t before = ::umask(0177);
  int bound = ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address_of), sizeof address_of);
  int err = errno;
  ::umask(before);
  if (bound < 0) return errno_error(cat("bind ", folder, "/", std::string_view(name)), err);
  if (::listen(socket.get(), 128) < 0) return errno_error("listen", errno);
  return socket;
}

Result<sys::Fd> connect_in(const std::string& folder, const char* name) {
  TRY_SET(sys::Fd at, sys::open(folder.c_str(), O_PATH | O_DIRECTORY));
  TRY_SET(sockaddr_un address_of, address(at.get(), name));
  sys::Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return errno_error("socket", errno);
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address_of), sizeof address_of) < 0) return errno_error("connect", errno);
  return socket;
}

}  // namespace hotcell::cells
