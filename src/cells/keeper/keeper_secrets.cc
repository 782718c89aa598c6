// Secrets of lasting cells, seen from the keeper: taken, put to use at each start, kept out of what it tells.
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/json_write.h"
#include "base/strings.h"
#include "cells/keeper/cell_secrets.h"
#include "cells/keeper/keeper.h"
#include "core/policy/proxy_env.h"
#include "core/remote/launcher_process.h"
#include "net/trust_store.h"
#include "sys/file.h"

namespace hotcell::cells {
namespace {

constexpr const char* kNoted = "secrets";  // in CellRecord::network: a line each, name, host and placeholder
constexpr std::string_view kField = "secret.";
constexpr std::size_t kPiece = 64 << 10;

struct Noted {
  std::string name, host, placeholder;
};

std::vector<Noted> noted(const CellRecord& record) {
  std::vector<Noted> out;
  auto it = record.network.find(kNoted);
  if (it == record.network.end()) return out;
  for (auto line : split(it->second, '\n')) {
    auto words = split(line, ' ');
    if (words.size() == 3) out.push_back({std::string(words[0]), std::string(words[1]), std::string(words[2])});
  }
  return out;
}

void note(const std::vector<net::Secret>& secrets, CellRecord& record) {
  std::string text;
  for (const auto& s : secrets) text += cat(s.name, " ", s.where.text(), " ", s.placeholder, "\n");
  record.network[kNoted] = std::move(text);
}

std::map<std::string, std::string> given(const Ask& ask) {
  std::map<std::string, std::string> out;
  for (const auto& [key, value] : ask.fields)
    if (key.starts_with(kField)) out[key.substr(kField.size())] = value;
  return out;
}

std::string in_json(const std::string& text) {
  std::string out;
  append_json_string(out, text);
  return out.substr(1, out.size() - 2);
}

}  // namespace

Result<std::shared_ptr<CellSecrets>> Keeper::plan_secrets(const Ask& ask, bool bound, const Policy& policy, CellRecord& record) {
  auto all = given(ask);
  if (all.empty()) return std::shared_ptr<CellSecrets>();
  if (policy.network.mode != NetworkMode::kProxy) return make_error(ErrorCode::kInvalid, "secrets are for cells with network proxy");
  TRY_SET(auto secrets, net::make_secrets(all));
  for (const auto& s : secrets)
    if (ask.env.contains(s.name)) return make_error(ErrorCode::kInvalid, cat("the secret ", s.name, " would be given to the programs as it is: it is among their variables"));
  TRY(remote::find_program_of_ours("hotcell-tls").context("secrets"));
  note(secrets, record);
  // Whoever is bound may use what it gave itself, never what the cells' owner did.
  record.network["secrets_from"] = bound ? "bound" : "owner";
  auto file = ask.fields.find("authorities");
  const char* own = ::getenv("SSL_CERT_FILE");
  record.network["authorities"] = !bound && file != ask.fields.end() ? file->second : own != nullptr ? own : "";
  auto out = std::make_shared<CellSecrets>();
  out->held = std::move(secrets);
  return out;
}

Result<void> Keeper::renew_secrets(Kept& cell, const Ask& ask) {
  auto all = given(ask);
  if (all.empty()) return {};
  if (cell.run) return not_now(cat(cell.record.name, " runs; secrets are given to a cell that is stopped"));
  auto known = noted(cell.record);
  TRY_SET(auto secrets, net::make_secrets(all));
  for (auto& s : secrets) {
    auto it = std::find_if(known.begin(), known.end(), [&](const Noted& n) { return n.name == s.name && n.host == s.where.text(); });
    if (it == known.end()) return make_error(ErrorCode::kInvalid, cat(s.name, "@", s.where.text(), " is no secret that ", cell.record.name, " was created with"));
    // What a program has written down of it still stands for it.
    if (it->placeholder.size() == s.placeholder.size()) s.placeholder = it->placeholder;
  }
  if (secrets.size() != known.size()) return make_error(ErrorCode::kInvalid, cat(cell.record.name, " was created with more secrets; give all of them"));
  note(secrets, cell.record);
  cell.secrets = std::make_shared<CellSecrets>();
  cell.secrets->held = std::move(secrets);
  return {};
}

Result<void> Keeper::arm_secrets(Kept& cell) {
  auto known = noted(cell.record);
  if (known.empty() || cell.record.network_phase == "agent") return {};
  if (!cell.secrets) {
    std::string words;
    for (const auto& n : known) words += cat(" --secret ", n.name, "@", n.host);
    return not_now(cat("the secrets of ", cell.record.name, " went with the keeper that held them; give them again: hotcell cell start ", cell.record.name, words));
  }
  TRY_SET(std::string program, remote::find_program_of_ours("hotcell-tls").context("secrets"));
  // Some tens of milliseconds: it is ours, and has read nothing of anybody's yet.
  TRY_SET(cell.secrets->tls, net::TlsInserter::start(program, cell.secrets->held, cell.record.network["authorities"]).context("secrets"));
  TRY_SET(cell.secrets->trusted, cell.secrets->tls->trusted().context("secrets"));
  TRY_SET(cell.secrets->java, net::java_trust_store(cell.secrets->trusted).context("secrets"));
  return {};
}

void Keeper::disarm_secrets(Kept& cell) {
  if (cell.secrets) cell.secrets->tls.reset();
}

void Keeper::secret_variables(const Kept& cell, std::map<std::string, std::string>& env) const {
  if (!cell.secrets || cell.record.network_phase == "agent") return;
  for (const auto& [name, value] : ca_environment("/run/hotcell/ca.pem", "/run/hotcell/ca.p12")) env[name] = value;
  for (const auto& s : cell.secrets->held) env[s.name] = s.placeholder;
}

void Keeper::secret_files(const Kept& cell, LastingWorkspace& workspace) const {
  if (!cell.secrets || cell.record.network_phase == "agent") return;
  workspace.files.emplace_back("ca.pem", cell.secrets->trusted);
  workspace.files.emplace_back("ca.p12", cell.secrets->java);
}

std::string Keeper::secrets_json(const Kept& cell) const {
  std::string out;
  for (const auto& n : noted(cell.record))
    out += cat(out.empty() ? "" : ",", "{\"name\":\"", in_json(n.name), "\",\"host\":\"", in_json(n.host), "\",\"held\":", cell.secrets ? "true" : "false", "}");
  return cat("[", out, "]");
}

Result<void> Keeper::may_use_secrets(const CellRecord& record) {
  auto it = record.network.find("secrets_from");
  if (it == record.network.end() || it->second == "bound") return {};
  return make_error(ErrorCode::kDenied, "the cell's secrets are its owner's, and not for this daemon's callers");
}

std::string Keeper::cleaned(const std::string& cell, std::string_view bytes) const {
  auto it = kept_.find(cell);
  if (it == kept_.end() || !it->second->secrets) return std::string(bytes);
  return net::scrubbed(bytes, it->second->secrets->held);
}

// Whatever is told to anybody, of whichever cell.
void Keeper::clean_told(Told& told) const {
  std::vector<net::Secret> all;
  for (const auto& [id, cell] : kept_)
    if (cell->secrets) all.insert(all.end(), cell->secrets->held.begin(), cell->secrets->held.end());
  if (all.empty()) return;
  net::Scrub scrub(all);
  auto clean = [&](std::string& text) {
    text = scrub.push(text);
    text += scrub.finish();
  };
  clean(told.text);
  for (auto& [name, field] : told.fields) clean(field);
  if (told.error) clean(told.error->message);
}

Result<std::shared_ptr<OutputRelay>> Keeper::relay_output(const Kept& cell, std::vector<sys::Fd>& client, ExecOrder& order, std::vector<sys::Fd>& program) {
  auto relay = std::make_shared<OutputRelay>();
  for (std::size_t i = 0; i < 2; ++i) {
    TRY_SET(sys::Pipe pipe, sys::make_pipe(0));
    TRY(sys::set_nonblocking(pipe.read.get()));
    TRY(sys::set_nonblocking(client[i + 1].get()));
    (void)!::fchmod(pipe.write.get(), 0622);  // as the client does with its own
    auto& side = relay->sides[i];
    side.from = std::move(pipe.read);
    side.to = std::move(client[i + 1]);
    side.scrub = net::Scrub(cell.secrets->held);
    order.fds[i + 1] = pipe.write.get();
    program.push_back(std::move(pipe.write));
  }
  // It lives for as long as something of it is watched.
  for (int i = 0; i < 2; ++i) listen_to(relay, i);
  return relay;
}

void Keeper::listen_to(const std::shared_ptr<OutputRelay>& relay, int i) {
  auto& side = relay->sides[i];
  if (side.ended || side.in != 0) return;
  side.in = watch(side.from.get(), EPOLLIN, [this, relay, i](std::uint32_t) { pass_on(relay, i); });
}

// False: the client's pipe is full.
bool Keeper::pass_waiting(const std::shared_ptr<OutputRelay>& relay, int i) {
  auto& side = relay->sides[i];
  while (!side.waiting.empty()) {
    ssize_t n = side.nobody ? -1 : ::write(side.to.get(), side.waiting.data(), side.waiting.size());
    if (n < 0 && !side.nobody && errno == EINTR) continue;
    if (n < 0 && !side.nobody && errno == EAGAIN) {
      if (side.out == 0) side.out = watch(side.to.get(), EPOLLOUT, [this, relay, i](std::uint32_t) { pass_on(relay, i); });
      return false;
    }
    if (n < 0) side.nobody = true, side.waiting.clear();  // who listened has gone; the program must not be stopped by that
    else side.waiting.erase(0, static_cast<std::size_t>(n));
  }
  if (side.out != 0) unwatch(std::exchange(side.out, 0), side.to.get());
  return true;
}

void Keeper::pass_on(const std::shared_ptr<OutputRelay>& relay, int i) {
  auto& side = relay->sides[i];
  for (int rounds = 0; rounds < 16; ++rounds) {
    if (!pass_waiting(relay, i)) {
      // Not listened to meanwhile: the program waits, as it would for the client itself.
      if (side.in != 0) unwatch(std::exchange(side.in, 0), side.from.get());
      return;
    }
    if (relay->flushed && relay->done()) std::exchange(relay->flushed, nullptr)();
    if (side.ended) {
      side.to.reset();
      return;
    }
    char bytes[kPiece];
    ssize_t n = ::read(side.from.get(), bytes, sizeof bytes);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (n > 0) {
      side.waiting += side.scrub.push({bytes, static_cast<std::size_t>(n)});
      continue;
    }
    side.waiting += side.scrub.finish();
    side.ended = true;
    if (side.in != 0) unwatch(std::exchange(side.in, 0), side.from.get());
    side.from.reset();
  }
  listen_to(relay, i);
}

// The program is over: what it has written goes to the client, then `then`. What others write later is not its output.
void Keeper::finish_relay(const std::shared_ptr<OutputRelay>& relay, std::function<void()> then) {
  for (auto& side : relay->sides) {
    int there = 0;
    if (side.from.valid() && ::ioctl(side.from.get(), FIONREAD, &there) == 0)
      while (there > 0) {
        char bytes[kPiece];
        ssize_t n = ::read(side.from.get(), bytes, std::min<std::size_t>(sizeof bytes, static_cast<std::size_t>(there)));
        if (n <= 0) break;
        there -= static_cast<int>(n);
        side.waiting += side.scrub.push({bytes, static_cast<std::size_t>(n)});
      }
    side.waiting += side.scrub.finish();
  }
  relay->flushed = std::move(then);
  for (int i = 0; i < 2; ++i) pass_on(relay, i);
}

}  // namespace hotcell::cells
