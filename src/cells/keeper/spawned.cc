#include "cells/keeper/spawned.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/strings.h"
#include "sys/file.h"
#include "sys/socket.h"

extern "C" const char hotcell_spawner_begin[], hotcell_spawner_end[];

namespace hotcell::cells {

std::string_view spawner_image() { return {hotcell_spawner_begin, static_cast<std::size_t>(hotcell_spawner_end - hotcell_spawner_begin)}; }

Result<void> Spawned::exec(std::uint64_t id, const ExecOrder& what) {
  std::string strings;
  auto add = [&](std::string_view s) { (strings += s) += '\0'; };
  for (const auto& a : what.argv) add(a);
  for (const auto& [k, v] : what.env) add(cat(k, "=", v));
  add(what.directory);
  Order order{};
  order.magic = kOrderMagic;
  order.kind = OrderKind::kExec;
  order.id = id;
  order.argc = static_cast<std::uint32_t>(what.argv.size());
  order.envc = static_cast<std::uint32_t>(what.env.size());
  order.bytes = static_cast<std::uint32_t>(strings.size());
  order.flags = what.terminal ? kOrderPty | (what.plain ? kOrderPlain : 0) : 0;
  order.cpu_seconds = what.cpu_seconds;
  order.rows = static_cast<std::uint16_t>(what.rows);
  order.columns = static_cast<std::uint16_t>(what.columns);
  std::vector<int> fds = what.fds;
  sys::Fd long_strings;
  bool inline_strings = strings.size() <= kOrderInline;
  if (!inline_strings) {
    TRY_SET(long_strings, sys::memfd("hotcell-order", strings, false, true));
    fds.push_back(long_strings.get());
    order.flags |= kOrderMemfd;
  }
  std::string message(reinterpret_cast<const char*>(&order), sizeof order);
  if (inline_strings) message += strings;
  return sys::send(socket_.get(), message, fds, MSG_DONTWAIT);
}

Result<void> Spawned::tell(OrderKind kind, std::uint64_t id, int signal, std::uint32_t flags) {
  Order order{};
  order.magic = kOrderMagic;
  order.kind = kind;
  order.id = id;
  order.signal = static_cast<std::uint32_t>(signal);
  order.flags = flags;
  return sys::send(socket_.get(), {reinterpret_cast<const char*>(&order), sizeof order}, {}, MSG_DONTWAIT);
}

std::optional<Spawned::Heard> Spawned::hear() {
  Heard heard;
  auto m = sys::receive(socket_.get(), {reinterpret_cast<char*>(&heard.news), sizeof heard.news}, MSG_DONTWAIT);
  if (m.ok() && m.value().again) return std::nullopt;
  if (!m.ok() || m.value().size == 0) {
    gone_ = true;
    return std::nullopt;
  }
  // What a hijacked spawner says is at worst a lie about its own cell; what is no news at all ends the talk.
  if (m.value().size != sizeof heard.news || heard.news.magic != kOrderMagic) {
    gone_ = true;
    return std::nullopt;
  }
  if (!m.value().fds.empty()) heard.fd = std::move(m.value().fds[0]);
  return heard;
}

}  // namespace hotcell::cells
