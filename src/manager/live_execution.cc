#include "manager/live_execution.h"

#include "base/json_write.h"
#include "base/strings.h"
#include "manager/report_json.h"

namespace hotcell {
namespace {

constexpr std::size_t kMostKept = 2u << 20;   // of updates; who comes later than that starts further on
constexpr std::size_t kMostPoints = 600, kMostEvents = 1000;

}  // namespace

void LiveExecution::update(std::string type, std::string data) {
  updates_.push_back({++last_seq_, std::move(type), std::move(data)});
  bytes_ += updates_.back().data.size();
  while (bytes_ > kMostKept && updates_.size() > 1) {
    bytes_ -= updates_.front().data.size();
    updates_.pop_front();
  }
  if (!watchers_.empty()) tell(Update(updates_.back()));
}

void LiveExecution::done() {
  ++last_seq_;
  if (!watchers_.empty()) tell({last_seq_, "done", result});
}

void LiveExecution::tell(const Update& u) {
  // Whoever is told may end its watching, or another's.
  std::vector<std::uint64_t> who;
  for (const auto& [id, on] : watchers_) who.push_back(id);
  for (auto id : who)
    if (auto it = watchers_.find(id); it != watchers_.end()) {
      auto on = it->second;
      on(u);
    }
}

void LiveExecution::output(Stream stream, std::string_view bytes) {
  JsonWriter w;
  w.begin_object();
  if (is_valid_utf8(bytes)) w.field("text", bytes);
  else w.field("base64", base64(bytes));
  w.end_object();
  update(stream == Stream::kStdout ? "stdout" : "stderr", w.take());
}

void LiveExecution::usage(const LiveUsage& now) {
  Point p{std::chrono::duration_cast<std::chrono::milliseconds>(now.elapsed).count(), now.cpu.count(), now.memory.n,
          now.disk.n, now.tasks};
  if (points_.empty() || p.ms - points_.back().ms >= std::chrono::duration_cast<std::chrono::milliseconds>(spacing_).count())
    points_.push_back(p);
  if (points_.size() > kMostPoints) {
    for (std::size_t i = 0; i < points_.size() / 2; ++i) points_[i] = points_[2 * i];
    points_.resize(points_.size() / 2);
    spacing_ = std::max<Nanoseconds>(spacing_ * 2, std::chrono::milliseconds(200));
  }
  JsonWriter w;
  w.begin_object();
  w.field("elapsed_ms", p.ms);
  w.field("cpu_ns", p.cpu);
  w.field("memory_bytes", p.memory);
  w.field("disk_bytes", p.disk);
  w.field("tasks", p.tasks);
  w.end_object();
  update("usage", w.take());
}

void LiveExecution::event(const Event& event) {
  Event ours = event;
  ours.id = record.id;
  if (auto how = ours.fields.find("how"); how != ours.fields.end() && words) how->second = words(how->second);
  std::string text = event_json(ours);
  if (events_.size() < kMostEvents) events_.push_back(text);
  update("event", std::move(text));
}

std::uint64_t LiveExecution::watch(std::uint64_t after, Executions::OnUpdate on) {
  was_watched_ = true;
  std::uint64_t id = ++last_watcher_;
  watchers_.emplace(id, on);
  // A copy: being told may end the watching.
  auto kept = updates_;
  for (const auto& u : kept)
    if (u.seq > after && watchers_.contains(id)) on(u);
  return id;
}

std::uint64_t LiveExecution::await(Executions::Ended ended_call) {
  waiters_.emplace(++last_watcher_, std::move(ended_call));
  return last_watcher_;
}

bool LiveExecution::tell_waiters() {
  auto all = std::exchange(waiters_, {});
  for (auto& [id, call] : all) call(record);
  return !all.empty();
}

std::string LiveExecution::usage_json() const {
  std::string out = "[";
  for (const auto& p : points_)
    out += cat(out.size() > 1 ? "," : "", "[", p.ms, ",", p.cpu, ",", p.memory, ",", p.disk, ",", p.tasks, "]");
  return out + "]";
}

std::string LiveExecution::events_json() const {
  std::string out = "[";
  for (const auto& e : events_) out += cat(out.size() > 1 ? "," : "", e);
  return out + "]";
}

}  // namespace hotcell
