#include "store/ended.h"

#include <algorithm>
#include <utility>

#include "base/archive.h"

namespace hotcell {
namespace {

template <typename A>
void fields(A& a, ExecutionRecord& r) {
  a(r.id, r.status, r.exit_reason, r.exit_code, r.signal, r.door, r.client, r.language, r.profile, r.tier, r.command, r.error, r.created,
    r.started, r.ended, r.duration, r.cpu, r.memory_peak, r.findings_error, r.findings_warning, r.denials, r.idempotency_key);
}
template <typename A>
void fields(A& a, ExecutionDetails& d) {
  a(d.request, d.result, d.usage, d.events);
}

std::size_t bytes_of(const ExecutionDetails& d) { return d.request.size() + d.result.size() + d.usage.size() + d.events.size(); }

// What is there when the bytes make sense.
void take(std::uint64_t number, std::string_view bytes, std::vector<WholeExecution>& out) {
  WholeExecution one;
  archive::Unpacker unpack(bytes);
  fields(unpack, one.record);
  fields(unpack, one.details);
  one.record.number = number;
  const bool known = one.record.status <= RunStatus::kKilled && one.record.ended_already();
  if (unpack.finished() && known && !one.record.id.empty()) out.push_back(std::move(one));
}
bool by_number(const WholeExecution& a, const WholeExecution& b) { return a.record.number < b.record.number; }

}  // namespace

Result<Ended> Ended::open(int folder, std::vector<WholeExecution>& left) {
  TRY_SET(MappedSlots slots, MappedSlots::open(folder, "ended", kSlots, kSlot, [&](std::uint64_t number, std::string_view bytes) { take(number, bytes, left); }));
  std::sort(left.begin(), left.end(), by_number);
  return Ended(std::move(slots));
}

Result<std::vector<WholeExecution>> Ended::look(int folder) {
  std::vector<WholeExecution> out;
  TRY(MappedSlots::look(folder, "ended", kSlots, kSlot, [&](std::uint64_t number, std::string_view bytes) { take(number, bytes, out); }));
  std::sort(out.begin(), out.end(), by_number);
  return out;
}

bool Ended::note(const ExecutionRecord& record, const ExecutionDetails& details) {
  if (bytes_of(details) > kSlot) return false;
  archive::Packer pack;
  pack.out.reserve(bytes_of(details) + 1024);
  fields(pack, const_cast<ExecutionRecord&>(record));
  fields(pack, const_cast<ExecutionDetails&>(details));
  return slots_.put(record.number, pack.out);
}

}  // namespace hotcell
