// What a client says to the keeper and what it hears: one packet each over a seqpacket socket, descriptors alongside. A
// packet too long for the socket comes in a memfd.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/result.h"
#include "sys/fd.h"

namespace hotcell::cells {

using Fields = std::map<std::string, std::string>;

struct Ask {
  std::uint64_t number = 0;          // chosen by the client; the answer has the same
  std::string verb;                  // create list inspect exec kill pause resume start stop rm …
  std::string cell;                  // name or id
  std::vector<std::string> words;
  Fields fields, env;
};

struct Told {
  std::uint64_t number = 0;
  bool last = true;                  // false: news of something that goes on
  std::optional<Error> error;
  Fields fields;
  std::string text;
};

// Errors that a door tells apart, by `err`: ENOENT there is no such cell, shell or file; EEXIST the name is taken; EBUSY it is
// not in a state for that now; EFBIG it is larger than may be.
inline Error not_there(std::string message) { return Error{ErrorCode::kInvalid, 2, std::move(message)}; }
inline Error taken(std::string message) { return Error{ErrorCode::kInvalid, 17, std::move(message)}; }
inline Error not_now(std::string message) { return Error{ErrorCode::kInvalid, 16, std::move(message)}; }
inline Error too_large(std::string message) { return Error{ErrorCode::kInvalid, 27, std::move(message)}; }

// What a keeper says first to whoever connects.
inline Told hello() { return Told{0, false, {}, {{"hello", "1"}}, {}}; }

std::string pack(const Ask& ask);
std::string pack(const Told& told);
bool unpack(std::string_view bytes, Ask& ask);
bool unpack(std::string_view bytes, Told& told);

struct Received {
  std::string bytes;
  std::vector<sys::Fd> fds;
  bool again = false, closed = false;
};
Result<void> send_message(int socket, std::string_view bytes, std::span<const int> fds = {}, int flags = 0);
Result<Received> receive_message(int socket, int flags);

// The keeper's socket; the state folder may be longer than a socket's name, so it goes through a descriptor.
Result<sys::Fd> listen_in(const std::string& folder, const char* name);
Result<sys::Fd> connect_in(const std::string& folder, const char* name);
inline constexpr char kSocketName[] = "keeper.sock", kLockName[] = "keeper.lock";

}  // namespace hotcell::cells
