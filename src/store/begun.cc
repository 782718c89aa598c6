#include "store/begun.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/strings.h"

namespace hotcell {
namespace {

// A slot has the time it was created, and seven texts with two bytes of length each.
auto texts_of(auto& r) { return std::array{&r.id, &r.door, &r.client, &r.language, &r.profile, &r.tier, &r.command}; }

void put_text(char*& at, const char* end, std::string_view text) {
  auto room = static_cast<std::size_t>(end - at);
  if (room < 2) return;
  auto size = static_cast<std::uint16_t>(std::min(text.size(), room - 2));
  while (size < text.size() && size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) --size;   // no half letters
  std::memcpy(at, &size, 2);
  std::memcpy(at + 2, text.data(), size);
  at += 2 + size;
}

bool get_text(const char*& at, const char* end, std::string& text) {
  std::uint16_t size = 0;
  if (end - at < 2) return false;
  std::memcpy(&size, at, 2);
  if (end - at - 2 < size) return false;
  text.assign(at + 2, size);
  at += 2 + size;
  return true;
}

bool read_slot(std::string_view slot, ExecutionRecord& r) {
  std::int64_t created_ns = 0;
  if (slot.size() < sizeof created_ns) return false;
  std::memcpy(&created_ns, slot.data(), sizeof created_ns);
  const char* at = slot.data() + sizeof created_ns;
  const char* end = slot.data() + slot.size();
  for (auto* text : texts_of(r))
    if (!get_text(at, end, *text)) return false;
  r.created = std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(std::chrono::nanoseconds(created_ns)));
  return !r.id.empty();
}

}  // namespace

Result<Begun> Begun::open(int folder, std::vector<ExecutionRecord>& left) {
  TRY_SET(MappedSlots slots, MappedSlots::open(folder, "begun", kSlots, kSlot, [&](std::uint64_t number, std::string_view bytes) {
    ExecutionRecord record;
    record.number = number;
    if (read_slot(bytes, record)) left.push_back(std::move(record));
  }));
  std::sort(left.begin(), left.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  return Begun(std::move(slots));
}

bool Begun::note(const ExecutionRecord& record) {
  char slot[kSlot - MappedSlots::kHead];
  const std::int64_t created = std::chrono::duration_cast<std::chrono::nanoseconds>(record.created.time_since_epoch()).count();
  std::memcpy(slot, &created, sizeof created);
  char* at = slot + sizeof created;
  for (const auto* text : texts_of(record)) put_text(at, slot + sizeof slot, *text);
  return slots_.put(record.number, {slot, static_cast<std::size_t>(at - slot)});
}

}  // namespace hotcell
