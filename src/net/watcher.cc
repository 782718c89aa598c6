#include "net/watcher.h"

#include <algorithm>

#include "base/strings.h"

namespace hotcell::net {
namespace {

constexpr std::size_t kMostDomains = 256, kManyNames = 50, kLongLabel = 40;
constexpr std::size_t kMostTargets = 1024;
constexpr unsigned kManyDrips = 30;
// Room for a TLS handshake and a small request behind it.
constexpr std::uint64_t kDrip = 2048;

}  // namespace

// Many different names below one domain, or labels that no human chose.
void Watcher::name(std::string_view host, bool allowed) {
  auto labels = split(host, '.');
  if (labels.size() < 3) return;
  auto domain = cat(labels[labels.size() - 2], ".", labels.back());
  bool is_long = std::any_of(labels.begin(), labels.end(), [](std::string_view l) { return l.size() >= kLongLabel; });
  Names& names = names_[allowed ? 1 : 0];
  if (names.size() >= kMostDomains && !names.contains(domain)) {
    log_.notice(cat("names below more than ", kMostDomains, " domains were asked for; those of the others are not watched"));
    return;
  }
  auto& seen = names[domain];
  if (is_long) log_.notice(cat("DNS tunnel? Names with long labels are asked for below ", domain));
  if (seen.size() < kManyNames && seen.insert(std::string(host)).second && seen.size() == kManyNames)
    log_.notice(cat("DNS tunnel? ", kManyNames, " different names were asked for below ", domain));
}

void Watcher::upload(const std::string& target, std::uint64_t bytes, Clock::time_point now) {
  if (bytes == 0) return;
  auto it = drips_.find(target);
  if (it == drips_.end() && drips_.size() >= kMostTargets) {
    log_.notice(cat("data went to more than ", kMostTargets, " hosts; the others are not watched for slow drips"));
    return;
  }
  Drips& d = it == drips_.end() ? drips_[target] : it->second;
  if (d.bytes > 0 && now - d.last >= pause_) {
    if (d.bytes <= kDrip && ++d.small == kManyDrips) log_.notice(cat("slow drip: ", kManyDrips, " small uploads, one by one, to ", target));
    d.bytes = 0;
  }
  d.bytes += bytes;
  d.last = now;
}

}  // namespace hotcell::net
