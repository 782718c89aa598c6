// The rows of the development data through the real proxy: what each tries, and whether anything was reached.
#include <gtest/gtest.h>
#include <boost/json.hpp>

#include <cstdlib>
#include <fstream>

#include "net/dns.h"
#include "net/net_testing.h"

namespace hotcell::net {
namespace {

using namespace std::string_literals;
using testing::hear;
using testing::say;
using testing::Server;
using testing::World;
using boost::json::object;

std::string text(const object& row, const char* key) {
  auto* v = row.if_contains(key);
  return v != nullptr && v->is_string() ? std::string(v->as_string()) : std::string();
}

std::string from_base64(std::string_view in) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  unsigned bits = 0, have = 0;
  for (char c : in) {
    auto d = kDigits.find(c);
    if (d == kDigits.npos) break;
    bits = bits << 6 | static_cast<unsigned>(d);
    if ((have += 6) >= 8) out += static_cast<char>(bits >> (have -= 8) & 0xff);
  }
  return out;
}

std::vector<std::string> list(const object& row, const char* key) {
  std::vector<std::string> out;
  if (auto* v = row.if_contains(key); v != nullptr && v->is_array())
    for (const auto& item : v->as_array()) out.emplace_back(item.as_string());
  return out;
}

std::string connect_request(const std::string& target) { return cat("CONNECT ", target, " HTTP/1.1\r\nHost: ", target, "\r\n\r\n"); }

// With the Host that a careless reader would take from the address.
std::string get_request(const std::string& url) {
  auto from = url.find("://");
  std::string_view rest = from == url.npos ? std::string_view(url) : std::string_view(url).substr(from + 3);
  std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  if (auto at = authority.rfind('@'); at != authority.npos) authority = authority.substr(at + 1);
  return cat("GET ", url, " HTTP/1.1\r\nHost: ", authority, "\r\n\r\n");
}

bool ask_dns(const World& world, std::string target) {
  int type = kDnsA;
  if (auto space = target.find(' '); space != target.npos) {
    std::string word = target.substr(0, space);
    type = word == "AAAA" ? 28 : word == "A" ? 1 : word == "MX" ? 15 : word == "NULL" ? 10 : word == "CNAME" ? 5 : 16;
    target = target.substr(space + 1);
  }
  sys::Fd udp(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage to;
  socklen_t size = testing::kLoopback.fill(to, world.dns_port);
  timeval limit{2, 0};
  ::setsockopt(udp.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  std::string packet = "\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"s;
  for (auto label : split(target, '.')) packet += static_cast<char>(label.size()) + std::string(label);
  packet += "\0\0"s + static_cast<char>(type) + "\x00\x01"s;
  (void)!::sendto(udp.get(), packet.data(), packet.size(), 0, reinterpret_cast<sockaddr*>(&to), size);
  char answer[600];
  ssize_t n = ::recv(udp.get(), answer, sizeof answer, 0);
  return n >= 12 && (answer[3] & 15) == 0;
}

// True: the attempt got through.
bool try_row(const object& row, const std::string& via, const std::string& target) {
  std::string answer_with = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  if (via == "redirect") answer_with = cat("HTTP/1.1 302 Found\r\nLocation: ", target, "\r\nContent-Length: 0\r\n\r\n");
  std::atomic<bool> reached = false;
  Server server([&](const sys::Fd& fd) {
    char chunk[4096];
    if (::recv(fd.get(), chunk, sizeof chunk, 0) <= 0) return;
    reached = true;
    say(fd, answer_with);
  });
  RuleOptions options{.allow = list(row, "allow"), .block = list(row, "deny")};
  if (!RuleSet::create(options)) return false;  // rules that mean nothing are an error, and nothing runs
  World world(options, &server);
  testing::TableResolver::Table table;
  for (const auto& [name, addresses] : row.at("resolve").as_object())
    for (const auto& a : addresses.as_array()) table[std::string(name)].emplace_back(a.as_string());
  if (table.contains("x.pkg.test")) table["_x.pkg.test"] = {"203.0.113.11"};
  world.resolver->set(std::move(table));
  if (via == "dns") return ask_dns(world, target);
  if (via == "sni") {
    auto c = world.client();
    say(c, connect_request(text(row, "connect")));
    if (!hear(c, "\r\n\r\n").starts_with("HTTP/1.1 200")) return false;
    say(c, testing::client_hello(target));
    hear(c);
    return reached;
  }
  if (via == "redirect") {
    EXPECT_NE(world.ask(get_request(text(row, "start"))).find(" 302 "), std::string::npos);
    EXPECT_EQ(world.all_dialled().size(), 1u) << "the proxy must not follow it";
    return world.ask(get_request(target)).starts_with("HTTP/1.1 200");
  }
  if (via == "socks5") {
    if (target.size() > 255) return false;
    std::string answer = world.ask("\x05\x01\x00\x05\x01\x00\x03"s + static_cast<char>(target.size()) + target + "\x01\xbb"s);
    return answer.size() >= 4 && answer[3] == 0;
  }
  std::string request = via == "connect" ? connect_request(target) : via == "absolute" ? get_request(target) : target;
  return world.ask(request).starts_with("HTTP/1.1 200");
}

TEST(ProxyData, EveryRowIsDecidedAsItSays) {
  const char* folder = std::getenv("HOTCELL_DATA");
  std::ifstream in(cat(folder != nullptr ? folder : "", "/attacks/proxy.jsonl"));
  int all = 0, elsewhere = 0;
  for (std::string line; std::getline(in, line);) {
    if (trim(line).empty()) continue;
    object row = boost::json::parse(line).as_object();
    std::string via = text(row, "via"), target = row.contains("target_b64") ? from_base64(text(row, "target_b64")) : text(row, "target");
    ++all;
    if (via == "env") {
      ++elsewhere;  // without the variables there is still no other way: the suite of cells shows it
      continue;
    }
    EXPECT_EQ(try_row(row, via, target), text(row, "expect") == "allow") << text(row, "id") << ": " << text(row, "why");
  }
  if (all == 0) std::printf("[ data     ] proxy.jsonl is not there: nothing was checked\n");
  else std::printf("[ data     ] proxy.jsonl: %d rows, %d of them about cells\n", all, elsewhere);
}

}  // namespace
}  // namespace hotcell::net
