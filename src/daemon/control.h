// What the supervisor and its front say to each other, over a seqpacket socket: one letter, then text, then descriptors.
#pragma once
#include <string_view>

namespace hotcell::daemon {

inline constexpr char kLauncher = 'L';   // to the front, with the socket of a new launcher process
inline constexpr char kStop = 'T';       // to the front: end what runs, then yourself
inline constexpr char kListening = 'B';  // to the supervisor, with a listening socket: kept for the next front
inline constexpr char kReady = 'R';      // to the supervisor, with the addresses, one a line
inline constexpr char kAlive = 'W';      // to the supervisor, every few seconds: the loop goes round; or with the text below:
inline constexpr std::string_view kLauncherToo = "launcher";   // the launcher has answered

inline constexpr char kCells = 'C';      // to the supervisor: a connection to the keeper of cells is needed; to the front: here it is
inline constexpr char kNoCells = 'c';    // to the front: there is none, with the reason

// To the supervisor: a launcher of the strong tier is needed. To the front: here it is, with its socket; or, with "+" or "-" and
// the reason, whether there is one on this host.
inline constexpr char kStrong = 'S';
inline constexpr char kNoStrong = 's';   // to the front: it cannot be started, with the reason

inline constexpr int kControlFd = 3, kConfigFd = 4, kFirstListenFd = 5;

}  // namespace hotcell::daemon
