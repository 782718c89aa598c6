#include "store/mapped_slots.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "sys/file.h"

namespace hotcell {
namespace {

struct Head {
  std::uint32_t taken;
  std::uint32_t bytes;
  std::uint64_t number;
};
static_assert(sizeof(Head) == MappedSlots::kHead);

void mark(char* slot, std::uint32_t taken) {
  std::atomic_ref(*reinterpret_cast<std::uint32_t*>(slot)).store(taken, std::memory_order_release);
}

// What is deleted elsewhere shall not be left here.
void wipe(char* slot, std::size_t size) {
  mark(slot, 0);
  std::memset(slot + sizeof(Head), 0, size - sizeof(Head));
}

// The slots of a file that are not free: each is told, and what is in it when that can be something of ours. Nothing is believed,
// and a slot that was given to another meanwhile is nothing.
void read_slots(int file, std::size_t count, std::size_t size, std::size_t whole, const std::function<void(std::uint32_t)>& taken, const MappedSlots::Left& found) {
  // Read, not looked at in place: a page that was never touched there is no page of ours.
  std::string slot(size, '\0');
  for (std::uint32_t i = 0; i < count && std::size_t{i} * size < whole; ++i) {
    Head head, after;
    const auto place = static_cast<off_t>(std::size_t{i} * size);
    if (::pread(file, &head, sizeof head, place) != sizeof head) break;
    if (head.taken == 0) continue;
    taken(i);
    if (head.taken != 1 || head.number == 0 || head.bytes > size - sizeof head) continue;
    if (::pread(file, slot.data(), head.bytes, place + static_cast<off_t>(sizeof head)) != static_cast<ssize_t>(head.bytes)) continue;
    if (::pread(file, &after, sizeof after, place) != sizeof after || after.taken != 1 || after.number != head.number) continue;
    found(head.number, std::string_view(slot).substr(0, head.bytes));
  }
}

}  // namespace

MappedSlots::MappedSlots(char* slots, std::size_t count, std::size_t size) : slots_(slots), count_(count), size_(size) {
  for (auto i = static_cast<std::uint32_t>(count); i-- > 0;) free_.push_back(i);
}
MappedSlots::MappedSlots(MappedSlots&& o) noexcept
    : slots_(std::exchange(o.slots_, nullptr)), count_(o.count_), size_(o.size_), free_(std::move(o.free_)), left_(std::move(o.left_)),
      taken_(std::move(o.taken_)) {}
MappedSlots::~MappedSlots() {
  if (slots_ != nullptr) ::munmap(slots_, count_ * size_);
}

Result<MappedSlots> MappedSlots::open(int folder, const char* name, std::size_t count, std::size_t size, const Left& left) {
  TRY_SET(sys::Fd file, sys::open_at(folder, name, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  TRY_SET(struct stat s, sys::stat_fd(file.get(), name));
  // A hole would be a signal when the disk is full: the room is taken now, once.
  const std::size_t whole = count * size;
  if (int failed = ::posix_fallocate(file.get(), 0, static_cast<off_t>(whole)); failed != 0) return errno_error(name, failed);
  void* mapped = ::mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) return errno_error(name, errno);
  MappedSlots slots(static_cast<char*>(mapped), count, size);
  read_slots(file.get(), count, size, static_cast<std::size_t>(s.st_size), [&](std::uint32_t i) { slots.left_.push_back(i); }, left);
  return slots;
}

Result<void> MappedSlots::look(int folder, const char* name, std::size_t count, std::size_t size, const Left& found) {
  auto file = sys::open_at(folder, name, O_RDONLY | O_NOFOLLOW);
  if (!file.ok()) return file.error().err == ENOENT ? Result<void>() : Result<void>(std::move(file).error());
  TRY_SET(struct stat s, sys::stat_fd(file.value().get(), name));
  read_slots(file.value().get(), count, size, static_cast<std::size_t>(s.st_size), [](std::uint32_t) {}, found);
  return {};
}

bool MappedSlots::put(std::uint64_t number, std::string_view bytes) {
  if (free_.empty() || bytes.size() > size_ - sizeof(Head)) return false;
  const std::uint32_t place = free_.back();
  char* slot = at(place);
  const Head head{0, static_cast<std::uint32_t>(bytes.size()), number};
  std::memcpy(slot, &head, sizeof head);
  std::memcpy(slot + sizeof head, bytes.data(), bytes.size());
  mark(slot, 1);   // last: who is killed before this has put nothing there
  free_.pop_back();
  taken_[number] = place;
  return true;
}

void MappedSlots::forget(std::uint64_t number) {
  auto it = taken_.find(number);
  if (it == taken_.end()) return;
  Head head;
  std::memcpy(&head, at(it->second), sizeof head);
  wipe(at(it->second), sizeof head + std::min<std::size_t>(head.bytes, size_ - sizeof head));
  free_.push_back(it->second);
  taken_.erase(it);
}

void MappedSlots::forget_left() {
  for (auto place : std::exchange(left_, {}))
    if (std::none_of(taken_.begin(), taken_.end(), [&](const auto& t) { return t.second == place; })) wipe(at(place), size_);
}

}  // namespace hotcell
