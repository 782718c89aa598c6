// What front and launcher say to each other: messages of one packet each, values in a fixed order, every length checked.
// The launcher reads nothing else from the front, and no text that came from outside is ever parsed by it.
//
// A packet is a head and its body. A body that is too long for a packet comes in a sealed memfd beside it.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/remote/readers.h"
#include "hotcell/policy.h"
#include "hotcell/report.h"
#include "hotcell/request.h"
#include "hotcell/result.h"
#include "sys/fd.h"

namespace hotcell::remote {

enum class Kind : std::uint8_t {
  // front → launcher
  kStart,      // StartOrder
  kCancel,     // number: the run
  kCancelId,   // text: the request's id, whoever's run it is
  kFreeze,     // number: the run; flag
  kPark,       // ParkOrder; answered
  kParked,     // ParkOrder; answered with a number
  kConnect,    // a descriptor: one more connection like this one
  kSpawn,      // ReaderOrder; answered with a socket and its number
  kEnd,        // number: of the reader, flag: it may be ending by itself; answered with its wait status
  kTrim,
  // launcher → front
  kOutput,     // of a run: flag (stderr), text
  kEvent,
  kUsage,
  kDoor,       // two descriptors: where the cell asks for the network, and for names
  kTimeout,    // the wall clock of a run is over; it is about to be killed
  kDone,       // DoneNews
  kAnswer,     // to the order of the same number
  // both ways
  kStock,      // front: tell me from now on. launcher: StockNews, when it has changed
};
inline constexpr std::uint8_t kLastKind = static_cast<std::uint8_t>(Kind::kStock);

struct Head {
  Kind kind = Kind::kAnswer;
  std::uint64_t number = 0;  // of the run or of the question, chosen by the front, one connection's own
};

struct Packet {
  Head head;
  std::string body;
  std::vector<sys::Fd> fds;
};

inline constexpr std::size_t kInline = 64u << 10;   // longer bodies travel in a memfd
inline constexpr std::size_t kLongest = 256u << 20;

// Null when it would block; an error when the peer is gone.
Result<bool> send_packet(int socket, const Head& head, std::string_view body, std::span<const sys::Fd> fds = {});
struct Received {
  std::optional<Packet> packet;
  bool closed = false;
};
Result<Received> receive_packet(int socket);   // never blocks: no packet and not closed means none is there

struct StartOrder {
  Policy policy;
  Request request;     // without descriptors and callbacks
  bool wants_output = false, wants_usage = false, wants_events = false, wants_timeout = false,
       wants_network = false;
};
struct ParkOrder {
  Policy policy;
  std::shared_ptr<const Runtime> runtime;
  std::uint64_t count = 0;
};
// What was gathered of a run: output as it is, an event packed.
struct GatheredNews {
  Kind kind = Kind::kOutput;
  bool err = false;
  std::string bytes;
};
struct DoneNews {
  std::optional<Error> error;
  Report report;       // when there is no error
  bool from_stock = false;
  std::vector<GatheredNews> before;  // not told yet: a short run is one packet
};
struct StockNews {
  std::uint64_t cells = 0, runtimes = 0;  // waiting now, of all policies
  bool operator==(const StockNews&) const = default;
};
struct Answer {
  std::optional<Error> error;
  std::uint64_t number = 0;
};
struct ReaderOrder {
  ReaderKind kind = ReaderKind::kVerify;
  Bytes memory;
};
struct OutputNews {
  bool err = false;
  std::string bytes;
};

// One pack and one unpack for each; unpack gives nothing unless the bytes are exactly one value.
#define HOTCELL_REMOTE_VALUES(X) X(StartOrder) X(ParkOrder) X(DoneNews) X(StockNews) X(Answer) X(ReaderOrder) X(OutputNews) X(Event) X(LiveUsage)
#define X(Type)                      \
  std::string pack(const Type& value); \
  bool unpack(std::string_view bytes, Type& value);
HOTCELL_REMOTE_VALUES(X)
#undef X

}  // namespace hotcell::remote
