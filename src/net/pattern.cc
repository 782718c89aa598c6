#include "net/pattern.h"

#include <algorithm>

#include "base/strings.h"

namespace hotcell::net {
namespace {

Error bad(std::string_view text, std::string_view why) {
  return make_error(ErrorCode::kInvalid, cat("not a host pattern: ", printable(text), ": ", why));
}

bool label_matches(std::string_view pattern, std::string_view label) {
  // Linear: on a mismatch only the last star takes one more character.
  std::size_t p = 0, l = 0, star = std::string_view::npos, mark = 0;
  while (l < label.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = l;
    } else if (p < pattern.size() && pattern[p] == label[l]) {
      ++p, ++l;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      l = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

// "10.*", "192.168.*": the network that is meant.
std::optional<Cidr> starred_network(std::string_view text) {
  auto parts = split(text, '.');
  std::uint32_t number = 0;
  unsigned octets = 0;
  bool starred = false;
  for (auto part : parts) {
    if (part == "*") {
      starred = true;
      continue;
    }
    auto value = parse_u64(part);
    if (starred || !value || *value > 255 || ++octets > 3) return std::nullopt;
    number = number << 8 | static_cast<std::uint32_t>(*value);
  }
  if (!starred || octets == 0 || parts.size() > 4) return std::nullopt;
  return Cidr{Address::v4(number << (8 * (4 - octets))), 8 * octets};
}

bool below(std::string_view name, std::string_view domain) {
  return name.size() > domain.size() + 1 && name.ends_with(domain) && name[name.size() - domain.size() - 1] == '.';
}

}  // namespace

Result<void> HostPattern::read_host(std::string_view host) {
  if (host == "*") {
    kind_ = Kind::kAll;
    return {};
  }
  std::optional<Cidr> network = host.find('/') != std::string_view::npos ? parse_cidr(host) : starred_network(host);
  if (network) {
    kind_ = Kind::kNetwork;
    network_ = *network;
    return {};
  }
  if (host.find('/') != std::string_view::npos) return bad(text_, "neither a host nor a network");
  bool tree = host.starts_with("*."), under = host.starts_with(".");
  std::string_view rest = host.substr(tree ? 2 : under ? 1 : 0);
  if (rest.find('*') == std::string_view::npos) {
    TRY_SET(Host parsed, parse_host(rest).context(cat("pattern ", printable(text_))));
    if (parsed.address && (tree || under)) return bad(text_, "an address has no subdomains");
    if (parsed.address) {
      kind_ = Kind::kNetwork;
      network_ = Cidr{*parsed.address, parsed.address->v6 ? 128u : 32u};
      return {};
    }
    kind_ = tree ? Kind::kTree : under ? Kind::kBelow : Kind::kExact;
    name_ = parsed.name;
    return {};
  }
  if (under) return bad(text_, "a leading dot and a star do not go together");
  // Each label with a star is checked with a letter in its place.
  std::string probe(rest);
  std::replace(probe.begin(), probe.end(), '*', 'x');
  TRY_SET(Host parsed, parse_host(probe).context(cat("pattern ", printable(text_))));
  if (parsed.address) return bad(text_, "a star in an address: write a network such as 10.0.0.0/8");
  for (char c : rest)
    if (static_cast<unsigned char>(c) >= 0x80) return bad(text_, "write the labels of a pattern with a star in ASCII (xn--)");
  kind_ = Kind::kLabels;
  any_depth_ = tree;
  if (rest.back() == '.') rest.remove_suffix(1);
  for (auto label : split(rest, '.')) {
    std::string lower(label);
    for (char& c : lower)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
    labels_.push_back(std::move(lower));
  }
  return {};
}

Result<HostPattern> HostPattern::parse(std::string_view text) {
  HostPattern p;
  p.text_ = std::string(text);
  if (text.empty()) return bad(text, "it is empty");
  if (text.find("://") != std::string_view::npos) return bad(text, "write the host alone, without a scheme and a path");
  std::string_view host = text, port;
  bool has_port = false;
  if (text.front() == '[') {
    auto close = text.find(']');
    if (close == std::string_view::npos) return bad(text, "the bracket is not closed");
    if (!parse_v6(text.substr(1, close - 1))) return bad(text, "brackets are for IPv6 addresses");
    std::string_view rest = text.substr(close + 1);
    auto colon = rest.find(':');
    host = text.substr(0, colon == std::string_view::npos ? text.size() : close + 1 + colon);
    has_port = colon != std::string_view::npos;
    if (has_port) port = rest.substr(colon + 1);
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    auto colon = text.find(':');
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    has_port = true;
  }
  if (has_port && port != "*") {
    auto dash = port.find('-');
    auto first = parse_port(port.substr(0, dash));
    auto last = dash == std::string_view::npos ? first : parse_port(port.substr(dash + 1));
    if (!first || !last || *first > *last) return bad(text, "the port is not a number from 1 to 65535, or two with a dash");
    p.first_port_ = *first;
    p.last_port_ = *last;
  }
  TRY(p.read_host(host));
  return p;
}

bool HostPattern::matches_name(std::string_view name) const {
  switch (kind_) {
    case Kind::kAll: return true;
    case Kind::kExact: return name == name_;
    case Kind::kTree: return name == name_ || below(name, name_);
    case Kind::kBelow: return below(name, name_);
    case Kind::kNetwork: return false;
    case Kind::kLabels: break;
  }
  auto labels = split(name, '.');
  if (any_depth_ ? labels.size() < labels_.size() : labels.size() != labels_.size()) return false;
  std::size_t skip = labels.size() - labels_.size();
  for (std::size_t i = 0; i < labels_.size(); ++i)
    if (!label_matches(labels_[i], labels[i + skip])) return false;
  return true;
}

bool HostPattern::matches(const Host& host, std::uint16_t port) const {
  if (!matches_port(port)) return false;
  if (host.address) return kind_ == Kind::kAll || (kind_ == Kind::kNetwork && network_.contains(*host.address));
  return matches_name(host.name);
}

bool HostPattern::matches_address(const Address& address, std::uint16_t port) const {
  return kind_ == Kind::kNetwork && matches_port(port) && network_.contains(address);
}

}  // namespace hotcell::net
