// What is asked of hotcell-inspect when it serves another program, and what it answers, in frames (sys/framed_child.h).
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hotcell {

struct InspectQuestion {
  std::string as = "text";               // text, command, arguments (a JSON text)
  std::vector<std::string> kinds;        // none: what the form usually means
  std::vector<std::string> allowed_domains;
  std::string text;
  std::vector<std::pair<std::string, std::string>> rules = {};  // of users, besides ours: what errors call it, YAML
  bool as_parts = false;                 // the findings as values, for a program that has no use for JSON
};

struct InspectPart {
  std::string kind, type, level, rule, message, snippet;
  std::uint64_t offset = 0;
  std::string path = {};  // of arguments
};

struct InspectAnswer {
  bool ok = false;
  std::string text;  // ok: the inspection as JSON; else one sentence: what is wrong with the question
  std::vector<InspectPart> parts = {};
  bool cut = false;  // there were more than these
};

inline constexpr std::size_t kMostInspected = 64u << 20;
inline constexpr std::size_t kLongestInspectAnswer = 8u << 20;
inline constexpr std::size_t kLongestInspectQuestion = kMostInspected + (4u << 20);

std::string pack(const InspectQuestion& question);
std::optional<InspectQuestion> unpack_inspect_question(std::string_view bytes);
std::string pack(const InspectAnswer& answer);
std::optional<InspectAnswer> unpack_inspect_answer(std::string_view bytes);

}  // namespace hotcell
