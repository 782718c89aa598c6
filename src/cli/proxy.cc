// `proxy`: the egress proxy by itself. It decides, serves, and says how programs are told of it.
#include <poll.h>

#include <algorithm>
#include <cerrno>

#include "base/json_write.h"
#include "base/strings.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/network.h"
#include "cli/say.h"
#include "cli/signals.h"
#include "cli/state.h"
#include "core/policy/proxy_env.h"
#include "net/journal.h"
#include "net/listen.h"
#include "sys/process.h"

namespace hotcell {
namespace {

constexpr std::string_view kUsage = "proxy: expected hotcell proxy check HOST[:PORT]..., start, env, log, or stats";

Network network_of(const Parsed& parsed) {
  Network network;
  network.mode = NetworkMode::kProxy;
  for (const auto& [option, value] : parsed.values()) {
    if (option == Opt::kAllowDomain) network.allow.emplace_back(value);
    if (option == Opt::kBlockDomain) network.block.emplace_back(value);
    if (option != Opt::kNetworkRules) continue;
    for (auto mode : {RuleMode::kAllowlist, RuleMode::kBlocklist, RuleMode::kOpen, RuleMode::kClosed})
      if (value == to_string(mode)) network.rules = mode;
  }
  return network;
}

Result<int> check(const Parsed& parsed) {
  if (parsed.words.size() < 2) return make_error(ErrorCode::kInvalid, std::string(kUsage));
  TRY_SET(net::ProxyOptions options, proxy_options(network_of(parsed), parsed));
  TRY_SET(auto names, mapped_names(parsed));
  bool all = true;
  std::string text;
  std::string json;
  for (std::size_t i = 1; i < parsed.words.size(); ++i) {
    auto d = net::check_text(*options.rules, parsed.words[i], names, net::leads_here);
    all = all && d.allowed;
    text += cat(d.allowed ? "allowed  " : "refused  ", printable(d.reason), d.how.empty() ? "" : cat(" (", printable(d.how), ")"), "\n");
    json += cat(json.empty() ? "[" : ",", net::decision_json(parsed.words[i], d));
  }
  if (int failed = print(parsed.has(Opt::kJson) ? json + "]\n" : text); failed != 0) return failed;
  return all ? 0 : 1;
}

struct Place {
  net::Host host;
  std::uint16_t port = 0;
};

// Where `start` listens, and what `env` tells programs of: the same place.
Result<Place> place_of(const Parsed& parsed) {
  const std::string usual = cat("127.0.0.1:", kProxyPort);
  std::string_view listen = parsed.last(Opt::kListen).value_or(usual);
  auto colon = listen.rfind(':');
  if (colon == listen.npos) return make_error(ErrorCode::kInvalid, "--listen: expected ADDRESS:PORT");
  Place place;
  TRY_SET(place.host, net::parse_host(listen.substr(0, colon)).context("--listen"));
  place.port = listen.substr(colon + 1) == "0" ? std::uint16_t{0} : net::parse_port(listen.substr(colon + 1)).value_or(0);
  if (!place.host.address || (place.port == 0 && listen.substr(colon + 1) != "0")) return make_error(ErrorCode::kInvalid, "--listen: expected ADDRESS:PORT");
  return place;
}

Result<int> show_env(const Parsed& parsed) {
  TRY_SET(Place place, place_of(parsed));
  if (place.port == 0) return make_error(ErrorCode::kInvalid, "--listen: env needs the port that start printed");
  std::string host = place.host.bracketed(), text;
  // Everywhere is no address to connect to.
  if (host == "0.0.0.0") host = "127.0.0.1";
  if (host == "[::]") host = "[::1]";
  for (const auto& [name, value] : proxy_environment(place.port, host)) text += cat("export ", name, "='", value, "'\n");
  return print(text);
}

Result<int> start(const Parsed& parsed) {
  TRY_SET(Place place, place_of(parsed));
  TRY_SET(net::ProxyOptions options, proxy_options(network_of(parsed), parsed));
  TRY_SET(options.listener, net::listen_tcp(*place.host.address, place.port));
  TRY_SET(const std::uint16_t port, net::port_of(options.listener.get()));
  sys::raise_open_files(RLIM_INFINITY);   // two for each tunnel
  TRY(catch_signals());
  TRY_SET(auto proxy, net::Proxy::start(std::move(options)));
  // Nothing holds a program to it: that takes a cell.
  if (int failed = print(cat("http://", place.host.bracketed(), ":", port, "\n")); failed != 0) return failed;
  auto folder = state_folder(parsed, Missing::kMake);
  net::JournalWriter journal(folder.ok() ? folder.value() : std::string(), cat("proxy-", port));
  std::uint64_t shown = 0;
  std::string failed = folder.ok() ? "" : folder.error().message;
  if (!failed.empty()) say(cat("the log is not kept: ", failed));
  // As it goes: what was asked is on disk when somebody looks, and when we are killed.
  auto pass_on = [&] {
    if (parsed.has(Opt::kJson)) {
      auto entries = proxy->journal().entries(shown);
      if (!entries.empty()) shown = entries.back().number;
      print(net::log_json(entries));
    }
    if (!folder.ok()) return;
    auto kept = journal.keep(proxy->journal().entries(journal.kept()));
    if (!kept.ok() && failed != kept.error().message) say(cat("the log is not kept: ", failed = kept.error().message));
  };
  while (caught_signal() == 0) {
    ::poll(nullptr, 0, 200);
    pass_on();
  }
  proxy->close();
  pass_on();
  auto stats = proxy->journal().stats();
  if (parsed.has(Opt::kJson)) return print(net::stats_json(stats) + "\n");
  say(cat(stats.allowed, " allowed, ", stats.blocked, " refused, ", stats.failed > 0 ? cat(stats.failed, " failed, ") : "", stats.bytes_up, " bytes up, ", stats.bytes_down, " bytes down"));
  return 0;
}

Result<int> show_log(const Parsed& parsed) {
  TRY_SET(std::string folder, state_folder(parsed, Missing::kMake));
  TRY_SET(auto entries, net::read_journal(folder));
  TRY_SET(std::size_t most, count_option(parsed, Opt::kLimit, 20, 1'000'000));
  std::string text;
  for (std::size_t i = entries.size() - std::min(most, entries.size()); i < entries.size(); ++i) {
    const auto& [run, e] = entries[i];
    if (parsed.has(Opt::kJson)) {
      text += "{\"run\":";
      append_json_string(text, run);
      text += cat(",", net::log_json(e).substr(1), "\n");
    } else if (e.notice) text += cat(utc_time(e.time), "  noticed  ", e.reason, "  ", run, "\n");
    else
      text += cat(utc_time(e.time), "  ", e.open ? "open   " : e.failed ? "failed " : e.allowed ? "allowed" : "refused", "  ", e.method, " ", e.host, ":", e.port, "  ", e.rule, "  ", e.up, " up, ", e.down,
                  " down", e.allowed || e.how.empty() ? "" : cat("  (", e.how, ")"), "  ", run, "\n");
  }
  return print(text);
}

Result<int> show_stats(const Parsed& parsed) {
  TRY_SET(std::string folder, state_folder(parsed, Missing::kMake));
  TRY_SET(auto entries, net::read_journal(folder));
  auto stats = net::sum_of(entries);
  if (parsed.has(Opt::kJson)) return print(net::stats_json(stats) + "\n");
  std::string text = cat(stats.allowed, " allowed, ", stats.blocked, " refused, ", stats.failed > 0 ? cat(stats.failed, " failed, ") : "", stats.bytes_up, " bytes up, ", stats.bytes_down, " bytes down",
                         stats.dropped_entries > 0 ? cat(", ", stats.dropped_entries, " more that are not in the log") : "", "\n");
  for (const auto& notice : stats.notices) text += cat("  noticed: ", printable(notice), "\n");
  for (const auto& [host, count] : stats.hosts) text += cat("  ", count, "  ", printable(host), "\n");
  return print(text);
}

}  // namespace

int cmd_proxy(Args args) {
  auto parsed = parse(Command::kProxy, args);
  if (!parsed.ok()) return refuse(parsed.error());
  const auto& p = parsed.value();
  if (p.has(Opt::kHelp)) return print(help_text(Command::kProxy, p.words));
  std::string_view word = p.words.empty() ? std::string_view() : p.words[0];
  Result<int> done = make_error(ErrorCode::kInvalid, std::string(kUsage));
  if (word == "check") done = check(p);
  else if (word == "start" && p.words.size() == 1) done = start(p);
  else if (word == "env" && p.words.size() == 1) done = show_env(p);
  else if (word == "log" && p.words.size() == 1) done = show_log(p);
  else if (word == "stats" && p.words.size() == 1) done = show_stats(p);
  return done.ok() ? done.value() : refuse(done.error());
}

}  // namespace hotcell
