// What may follow a sign. A literal stands in a text a thousand times as often as the rest of its rule; this tells so after
// a few bytes, at a twentieth of what a regular expression costs. It says yes too often and never no wrongly: long
// repetitions are taken as endless, word ends as nothing, and what does not fit the table as a yes.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hotcell::inspect {

inline constexpr std::uint8_t kFollowNo = 0, kFollowYes = 1;

// Made when this is built.
struct FollowTable {
  std::array<std::uint8_t, 256> classes{};
  std::uint32_t width = 0;               // classes of bytes
  std::vector<std::uint8_t> next;        // state * width + class → state
  std::vector<std::uint8_t> starts;      // of each literal: the state it leads to
};
FollowTable make_follow_table(std::string_view pattern, bool caseless, const std::vector<std::string>& literals);

// The same, where it lies in the program.
struct Follow {
  const std::uint8_t* classes = nullptr;
  const std::uint8_t* next = nullptr;
  std::uint32_t width = 0;

  bool may_match(std::string_view text, std::size_t at, std::uint8_t state) const {
    constexpr std::size_t kFar = 48;  // bytes: who goes on so long is worth a real look
    std::size_t stop = at + kFar < text.size() ? at + kFar : text.size();
    for (; at < stop && state > kFollowYes; ++at) state = next[state * width + classes[static_cast<unsigned char>(text[at])]];
    return state != kFollowNo;
  }
};

}  // namespace hotcell::inspect
