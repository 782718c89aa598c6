#include "manager/remote_proxy.h"

#include "base/strings.h"
#include "manager/secret_request.h"
#include "net/account.h"
#include "net/door/order.h"

namespace hotcell {

namespace {

constexpr Bytes kMemory = 1_GiB;
constexpr Nanoseconds kWithin = std::chrono::seconds(5);
// Who does not answer is ended, and the cell's network with it: on a busy machine that takes longer to tell.
constexpr Nanoseconds kWithinWhileServing = std::chrono::seconds(10);
constexpr auto kKeepEvery = std::chrono::seconds(1);

using How = sys::FramedChild::How;

}  // namespace

Result<void> RemoteProxy::start() {
  auto reader = link_.spawn_reader(remote::ReaderKind::kProxy, kMemory);
  if (!reader.ok()) return std::move(reader).error().context("network");
  child_.start(std::move(reader.value().socket), [this, number = reader.value().number](int grace_ms) {
    return link_.end_reader(number, grace_ms > 0).value_or(0);
  });
  return {};
}

Result<void> RemoteProxy::add_secrets(std::vector<net::Secret> secrets, const Policy& policy, Request& request) {
  auto reader = link_.spawn_reader(remote::ReaderKind::kTls, kMemory);
  if (!reader.ok()) return std::move(reader).error().context("secrets");
  tls_number_ = reader.value().number;
  TRY_SET(tls_, net::TlsInserter::begin(std::move(reader.value().socket), std::move(secrets)).context("secrets"));
  return place_secrets(*tls_, policy, request).context("secrets");
}

void RemoteProxy::end_tls() {
  tls_.reset();
  if (tls_number_ != 0) link_.end_reader(std::exchange(tls_number_, 0), true).ignore("the launcher ends it with this connection");
}

void RemoteProxy::serve(const Network& network, int door, int dns) {
  sys::Fd first(door), second(dns);
  net::DoorOrder rules{network.rules, network.allow, network.block};
  std::vector<int> fds = {first.get(), second.get()};
  if (tls_) {
    for (const auto& s : tls_->secrets()) rules.secret_hosts.push_back(s.where.text());
    // Allowed by being named, as far as the configuration allows it at all.
    rules.allow.insert(rules.allow.end(), rules.secret_hosts.begin(), rules.secret_hosts.end());
    fds.push_back(tls_->socket());
  }
  std::string order = pack(rules);
  if (order.size() > net::kLongestDoorOrder) {
    failed_ = "there are more rules than fit into an order";
    return;
  }
  auto answer = child_.ask(sys::frame(order), kWithin, net::kLongestDoorOrder, fds);
  serving_ = answer.how == How::kAnswered && answer.payload.empty();
  if (!serving_) failed_ = answer.how == How::kAnswered ? printable(answer.payload) : "hotcell-proxy does not answer";
}

std::string RemoteProxy::shown(const std::string& text) const { return printable(tls_ ? net::scrubbed(text, tls_->secrets()) : text); }

void RemoteProxy::clean(net::LogEntry& e) const {
  for (auto* text : {&e.method, &e.host, &e.rule, &e.reason, &e.how}) *text = shown(*text);
}

net::JournalWriter& RemoteProxy::journal(const std::string& folder, const std::string& run) {
  if (!journal_) journal_.emplace(folder, run);
  return *journal_;
}

void RemoteProxy::keep(const std::string& folder, const std::string& run) {
  const auto now = Clock::now();
  if (!serving_ || folder.empty() || now < keep_next_) return;
  keep_next_ = now + kKeepEvery;
  auto& kept = journal(folder, run);
  const auto moment = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
  auto answer = child_.ask(sys::frame(cat("d", moment, " ", kept.kept())), kWithinWhileServing, net::kLongestDoorAccount);
  auto told = answer.how == How::kAnswered ? net::unpack_door_account(answer.payload) : std::nullopt;
  if (!told) {
    // It is gone, and with it the door: nothing gets out any more, and the result will say why.
    serving_ = false;
    failed_ = "it ended before it gave its account";
    return;
  }
  for (auto& e : told->entries) clean(e);
  kept.keep(told->entries).ignore("it is tried again, and the result tells of the last time");
}

void RemoteProxy::conclude(Report& report, const std::string& folder, const std::function<void(const Event&)>& on_event) {
  net::DoorAccount account;
  if (serving_) {
    auto answer = child_.ask(sys::frame({}), kWithin, net::kLongestDoorAccount);
    auto told = answer.how == How::kAnswered ? net::unpack_door_account(answer.payload) : std::nullopt;
    if (told) account = *std::move(told);
    else failed_ = "it ended before it gave its account";
  }
  if (!failed_.empty()) report.denials.push_back({"proxy", cat("the cell's proxy: ", failed_), "", "", 1});
  for (auto& e : account.entries) clean(e);
  for (auto& r : account.refusals) clean(r.first);
  for (auto& notice : account.stats.notices) notice = shown(notice);
  net::tell_report(account.entries, account.refusals, account.stats, report, on_event);
  if (!folder.empty())
    if (auto kept = journal(folder, report.id).keep(account.entries); !kept.ok())
      report.notices.push_back(cat("the proxy's log is not kept: ", kept.error().message));
  child_.stop();
  end_tls();
}

}  // namespace hotcell
