// The sockets of a door, made in the network namespace of the calling thread.
#pragma once
#include "hotcell/result.h"
#include "net/address.h"
#include "sys/fd.h"

namespace hotcell::net {

Result<sys::Fd> listen_tcp(const Address& address, std::uint16_t port);  // port 0: any
Result<sys::Fd> bind_udp(const Address& address, std::uint16_t port);
Result<std::uint16_t> port_of(int fd);
// Whether what is sent there stays on this machine. Nothing is sent to find out.
bool leads_here(const Address& address);

}  // namespace hotcell::net
