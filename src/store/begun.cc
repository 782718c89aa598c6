#include "store/begun.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "sys/file.h"

namespace hotcell {
namespace {

constexpr std::size_t kWhole = Begun::kSlots * Begun::kSlot;

// A slot: whether it is taken, then number, created, and seven texts with two bytes of length each.
struct Head {
  std::uint32_t taken;
  std::uint32_t bytes;       // of the texts
  std::uint64_t number;
  std::int64_t created_ns;
};

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

// The folder is ours, but what is read back was written by a process that is not there any more: nothing is believed.
bool read_slot(const char* slot, ExecutionRecord& r) {
  Head head;
  std::memcpy(&head, slot, sizeof head);
  if (head.taken != 1 || head.number == 0 || head.bytes > Begun::kSlot - sizeof head) return false;
  const char* at = slot + sizeof head;
  const char* end = at + head.bytes;
  for (auto* text : texts_of(r))
    if (!get_text(at, end, *text)) return false;
  r.number = head.number;
  r.created = std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(std::chrono::nanoseconds(head.created_ns)));
  return !r.id.empty();
}

}  // namespace

Begun::Begun(char* slots) : slots_(slots) {
  for (std::uint32_t i = kSlots; i-- > 0;) free_.push_back(i);
}
Begun::Begun(Begun&& o) noexcept
    : slots_(std::exchange(o.slots_, nullptr)), free_(std::move(o.free_)), taken_(std::move(o.taken_)) {}
Begun::~Begun() {
  if (slots_ != nullptr) ::munmap(slots_, kWhole);
}

Result<Begun> Begun::open(int folder, std::vector<ExecutionRecord>& left) {
  TRY_SET(sys::Fd file, sys::open_at(folder, "begun", O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  TRY_SET(struct stat s, sys::stat_fd(file.get(), "begun"));
  // A hole would be a signal when the disk is full: the room is taken now, once.
  if (int failed = ::posix_fallocate(file.get(), 0, kWhole); failed != 0) return errno_error("begun", failed);
  void* mapped = ::mmap(nullptr, kWhole, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) return errno_error("mmap begun", errno);
  Begun begun(static_cast<char*>(mapped));
  for (std::size_t i = 0; i < kSlots && s.st_size > 0; ++i) {
    ExecutionRecord record;
    if (read_slot(begun.slots_ + i * kSlot, record)) left.push_back(std::move(record));
  }
  std::sort(left.begin(), left.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  return begun;
}

bool Begun::note(const ExecutionRecord& record) {
  if (free_.empty()) return false;
  const std::uint32_t place = free_.back();
  char* slot = slots_ + std::size_t{place} * kSlot;
  char* at = slot + sizeof(Head);
  for (const auto* text : texts_of(record)) put_text(at, slot + kSlot, *text);
  const auto created = std::chrono::duration_cast<std::chrono::nanoseconds>(record.created.time_since_epoch()).count();
  Head head{0, static_cast<std::uint32_t>(at - slot - static_cast<std::ptrdiff_t>(sizeof(Head))), record.number, created};
  std::memcpy(slot, &head, sizeof head);
  // Last: whoever is killed before this has started nothing yet.
  std::atomic_ref(*reinterpret_cast<std::uint32_t*>(slot)).store(1, std::memory_order_release);
  free_.pop_back();
  taken_[record.number] = place;
  return true;
}

void Begun::forget_all() {
  for (std::size_t i = 0; i < kSlots; ++i)
    if (slots_[i * kSlot] != 0) std::memset(slots_ + i * kSlot, 0, sizeof(Head));   // a page that was never written stays so
  taken_.clear();
  free_.clear();
  for (std::uint32_t i = kSlots; i-- > 0;) free_.push_back(i);
}

void Begun::forget(std::uint64_t number) {
  auto it = taken_.find(number);
  if (it == taken_.end()) return;
  std::atomic_ref(*reinterpret_cast<std::uint32_t*>(slots_ + std::size_t{it->second} * kSlot)).store(0, std::memory_order_release);
  free_.push_back(it->second);
  taken_.erase(it);
}

}  // namespace hotcell
