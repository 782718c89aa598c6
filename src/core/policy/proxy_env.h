// Where a cell finds its proxy, and how programs are told.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace hotcell {

inline constexpr std::uint16_t kProxyPort = 3128;  // in the cell's own network, where it is in nobody's way

// `host`: as in a URL, an address of IPv6 in brackets.
std::map<std::string, std::string> proxy_environment(std::uint16_t port, std::string_view host = "127.0.0.1");
// The same with what node before 22.21 and 24 needs to be told: a file that is in every cell with a proxy.
std::map<std::string, std::string> cell_proxy_environment();
inline constexpr const char kNodeProxyFile[] = "run/hotcell/node-proxy.cjs";
std::string_view node_proxy();

// Programs that look at certificates in a file of their own choice. `java`: the same for Java machines (net/trust_store.h),
// beside the options that tell them of the proxy.
std::map<std::string, std::string> ca_environment(const std::string& file, const std::string& java);

}  // namespace hotcell
