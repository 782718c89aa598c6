#include "net/dns_door.h"

#include <cerrno>

#include "base/strings.h"

namespace hotcell::net {
namespace {

constexpr unsigned kMostInFlight = 256;

}  // namespace

void DnsDoor::on_readable(const std::shared_ptr<const RuleSet>& rules, const Decision* shut) {
  for (int rounds = 0; rounds < 64; ++rounds) {
    char packet[4096];
    Client client;
    client.size = sizeof client.address;
    ssize_t n = ::recvfrom(fd_.get(), packet, sizeof packet, MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&client.address), &client.size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return;
    serve({packet, static_cast<std::size_t>(n)}, client, rules, shut);
  }
}

void DnsDoor::answer(const DnsQuery& query, const Client& client, DnsCode code, const std::vector<Address>& addresses) {
  std::string packet = dns_answer(query, code, addresses);
  (void)!::sendto(fd_.get(), packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&client.address), client.size);
}

void DnsDoor::serve(std::string_view packet, const Client& client, const std::shared_ptr<const RuleSet>& rules, const Decision* shut) {
  auto query = parse_dns_query(packet);
  if (!query) return;
  const DnsQuery& q = query.value();
  LogEntry entry{std::chrono::system_clock::now(), cat("DNS ", dns_type_name(q.type)), printable(q.name), 53, false, {}, {}, {}, packet.size(), 0, {}};
  auto refuse = [&](const Decision& d) {
    entry.rule = d.rule;
    entry.reason = d.reason;
    entry.how = d.how;
    log_.add(entry);
    answer(q, client, DnsCode::kRefused);
  };
  auto host = parse_host(q.name);
  if (!host) return refuse(malformed(host.error()));
  Decision decision = rules->check_name(host.value());
  watcher_.name(host.value().name, decision.allowed);
  if (!decision.allowed) return refuse(decision);
  if (shut != nullptr) return refuse(*shut);
  if ((q.type != kDnsA && q.type != kDnsAaaa) || q.klass != 1)
    return refuse({false, "dns", cat(host.value().name, ": only addresses are answered, not ", dns_type_name(q.type), " records"), {}});
  if (in_flight_ >= kMostInFlight) return answer(q, client, DnsCode::kServerFailure);
  ++in_flight_;
  entry.rule = decision.rule;
  entry.reason = decision.reason;
  look_up_(host.value().name, [this, q, client, rules, entry, host = host.value()](Result<std::vector<Address>> found) mutable {
    --in_flight_;
    // What is logged is what was answered.
    auto end = [&](DnsCode code, const std::vector<Address>& addresses = {}) {
      log_.add(std::move(entry));
      answer(q, client, code, addresses);
    };
    if (!found) {
      entry.failed = true;
      entry.rule = "dns";
      entry.reason = cat(host.name, " has no address: ", found.error().message);
      return end(found.error().code == ErrorCode::kNotFound ? DnsCode::kNoName : DnsCode::kServerFailure);
    }
    if (Decision d = rules->check_name(host, found.value(), own_); !d.allowed) {
      entry.rule = d.rule;
      entry.reason = d.reason;
      entry.how = d.how;
      return end(DnsCode::kRefused);
    }
    std::vector<Address> fit;
    for (const auto& a : found.value())
      if (a.v6 == (q.type == kDnsAaaa)) fit.push_back(a);
    entry.allowed = true;
    end(DnsCode::kOk, fit);
  });
}

}  // namespace hotcell::net
