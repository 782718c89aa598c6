// What the supervisor and its front say to each other, over a seqpacket socket: one letter, then text, then descriptors.
#pragma once
#include <string_view>

namespace hotcell::daemon {

inline constexpr char kLauncher = 'L';   // to the front, with the socket of a new launcher process
inline constexpr char kStop = 'T';       // to the front: end what runs, then yourself

// Nobody can connect before there are walls: the front binds, which takes the host's files and perhaps a capability, says when it is
// behind them, and only then the supervisor listens. Sockets that listen already, systemd's or an earlier front's, wait for the same word.
inline constexpr char kBound = 'B';      // to the supervisor, with a socket that is bound and does not listen
inline constexpr char kConfined = 'F';   // to the supervisor: behind the walls, and ready but for the sockets
inline constexpr char kListening = 'P';  // to the front, with one of them; without, and with their number: these were all
inline constexpr char kNotListening = 'p';   // to the front: it could not be, with the reason

inline constexpr char kReady = 'R';      // to the supervisor, with the addresses, one a line
inline constexpr char kAlive = 'W';      // to the supervisor, every few seconds: the loop goes round; or with the text below:
inline constexpr std::string_view kLauncherToo = "launcher";   // the launcher has answered

inline constexpr char kCells = 'C';      // to the supervisor: a connection to the keeper of cells is needed; to the front: here it is
inline constexpr char kNoCells = 'c';    // to the front: there is none, with the reason

// To the supervisor: a launcher of the strong tier is needed. To the front: here it is, with its socket; or, with "+" or "-" and
// the reason, whether there is one on this host.
inline constexpr char kStrong = 'S';
inline constexpr char kNoStrong = 's';   // to the front: it cannot be started, with the reason

inline constexpr int kControlFd = 3, kConfigFd = 4;

}  // namespace hotcell::daemon
