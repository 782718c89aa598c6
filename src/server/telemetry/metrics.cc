#include "server/telemetry/metrics.h"

#include <algorithm>
#include <cmath>

#include "base/strings.h"

namespace hotcell::server {

namespace {

double seconds_of(Nanoseconds time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

std::string_view to_string(StartPath path) {
  constexpr std::string_view kNames[] = {"warm", "template", "cold"};
  return kNames[static_cast<std::size_t>(path)];
}

void Histogram::add(Nanoseconds time) {
  double s = seconds_of(time);
  auto at = std::lower_bound(kBounds.begin(), kBounds.end(), s) - kBounds.begin();
  ++counts_[static_cast<std::size_t>(at)];
  sum_ += s;
}

void Histogram::write(std::string& out, std::string_view name, std::string_view labels) const {
  std::uint64_t below = 0;
  const std::string_view comma = labels.empty() ? "" : ",";
  char number[32];
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    below += counts_[i];
    if (i < kBounds.size()) std::snprintf(number, sizeof number, "%g", kBounds[i]);
    else std::snprintf(number, sizeof number, "+Inf");
    out += cat(name, "_bucket{", labels, comma, "le=\"", std::string_view(number), "\"} ", below, "\n");
  }
  std::snprintf(number, sizeof number, "%.9g", sum_);
  const std::string braces = labels.empty() ? "" : cat("{", labels, "}");
  out += cat(name, "_sum", braces, " ", std::string_view(number), "\n", name, "_count", braces, " ", below, "\n");
}

void Recent::add(Nanoseconds time) {
  constexpr std::size_t kKept = 1000;
  auto us = static_cast<std::uint64_t>(std::max<std::int64_t>(0, time.count() / 1000));
  if (ring_.size() < kKept) ring_.push_back(us);
  else ring_[next_] = us;
  next_ = (next_ + 1) % kKept;
}

Recent::Quantiles Recent::quantiles() const {
  if (ring_.empty()) return {};
  auto sorted = ring_;
  std::sort(sorted.begin(), sorted.end());
  auto at = [&](double q) {
    auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(sorted.size())));
    return sorted[std::max<std::size_t>(rank, 1) - 1];
  };
  return {at(0.5), at(0.9), at(0.99)};
}

void Metrics::ran(const RunSample& sample) {
  std::lock_guard lock(mutex_);
  if (sample.started) {
    start_[static_cast<std::size_t>(sample.path)].add(sample.start);
    recent_start_.add(sample.start);
  }
  total_.add(sample.total);
  recent_total_.add(sample.total);
  ++verdicts_[sample.exit_reason];
  for (const auto& [layer, count] : sample.denials) denials_[layer] += count;
  out_bytes_ += sample.out_bytes;
  err_bytes_ += sample.err_bytes;
}

void Metrics::answered(std::string_view method, std::string_view route, int status, Nanoseconds time) {
  std::lock_guard lock(mutex_);
  auto& entry = routes_[{std::string(method), std::string(route)}];
  ++entry.by_status[status];
  entry.time.add(time);
}

void Metrics::launcher_restarted() {
  std::lock_guard lock(mutex_);
  ++launcher_restarts_;
}
void Metrics::audit_entry() {
  std::lock_guard lock(mutex_);
  ++audit_entries_;
}
void Metrics::store_committed(Nanoseconds time) {
  std::lock_guard lock(mutex_);
  commits_.add(time);
}
void Metrics::reader_dropped() {
  std::lock_guard lock(mutex_);
  ++readers_dropped_;
}

Recent::Quantiles Metrics::start_latency() const {
  std::lock_guard lock(mutex_);
  return recent_start_.quantiles();
}
Recent::Quantiles Metrics::total_latency() const {
  std::lock_guard lock(mutex_);
  return recent_total_.quantiles();
}

namespace {

// Passes everything on and notes when and how the answer began.
class CountedExchange : public Exchange {
 public:
  CountedExchange(ExchangePtr inner, Metrics& metrics, std::string method, std::string pattern)
      : inner_(std::move(inner)), metrics_(metrics), method_(std::move(method)), pattern_(std::move(pattern)) {}

  const HttpRequest& request() const override { return inner_->request(); }
  void respond(HttpResponse response) override {
    note(response.status);
    inner_->respond(std::move(response));
  }
  void receive(Take take) override { inner_->receive(std::move(take)); }
  void hold_body(bool still) override { inner_->hold_body(still); }
  void start(HttpResponse head) override {
    note(head.status);
    inner_->start(std::move(head));
  }
  bool write(std::string_view piece) override { return inner_->write(piece); }
  void finish() override { inner_->finish(); }
  void on_closed(std::function<void()> closed) override { inner_->on_closed(std::move(closed)); }
  std::size_t waiting() const override { return inner_->waiting(); }
  void on_drained(std::function<void()> drained) override { inner_->on_drained(std::move(drained)); }
  bool upgrade(HttpResponse head, std::function<void(std::string_view)> data) override {
    note(101);
    return inner_->upgrade(std::move(head), std::move(data));
  }

 private:
  void note(int status) { metrics_.answered(method_, pattern_, status, std::chrono::steady_clock::now() - began_); }

  ExchangePtr inner_;
  Metrics& metrics_;
  std::string method_, pattern_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace

Handler counted(Metrics& metrics, std::string method, std::string pattern, Handler handler) {
  return [&metrics, method = std::move(method), pattern = std::move(pattern), handler = std::move(handler)](ExchangePtr x) {
    handler(std::make_shared<CountedExchange>(std::move(x), metrics, method, pattern));
  };
}

}  // namespace hotcell::server
