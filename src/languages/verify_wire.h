// What goes between the verifier and its child, in frames (sys/framed_child.h). Both sides check every length: the child
// reads what a caller passed on, and the parent reads what a child says that a hostile source may have taken over.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "hotcell/verify.h"
#include "verify/rules.h"

namespace hotcell {

inline constexpr std::size_t kMaxSource = 64u << 20;
inline constexpr std::size_t kMaxRequest = kMaxSource + (4u << 20);
inline constexpr std::size_t kMaxReply = 8u << 20;

struct WireRequest {
  std::string language, file, source;
  VerifyOptions options;
};

struct WireReply {
  bool unverifiable = false;
  bool last = false;  // the child ends after this one: it has used most of its processor time
  std::vector<Finding> findings;  // without `file`: the parent knows it
};

std::string pack(const WireRequest& request);
std::optional<WireRequest> unpack_request(std::string_view bytes);
std::string pack(const WireReply& reply);
// Nothing unless every field is what a child that is in order would say: known severities and types, ids that are
// ids, bounded numbers. Texts come out printable.
std::optional<WireReply> unpack_reply(std::string_view bytes);

}  // namespace hotcell
