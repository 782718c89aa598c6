#include "server/front/before_walls.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "base/strings.h"
#include "daemon/control.h"
#include "languages/plugins.h"
#include "net/door/order.h"
#include "server/auth.h"
#include "server/confine_front.h"
#include "sys/file.h"
#include "sys/socket.h"

namespace hotcell::server {
namespace {

class Preparation {
 public:
  Preparation(const FrontArguments& arguments, Loop& loop) : arguments_(arguments), loop_(loop) {}

  BeforeWalls made;

  Result<void> all() {
    TRY(read_config());
    hide_cells();
    TRY(bind_sockets());
    TRY(read_inspect_rules());
    TRY(open_telemetry());
    TRY(read_profiles());
    return confine();
  }

 private:
  Result<void> read_config() {
    ::lseek(daemon::kConfigFd, 0, SEEK_SET);  // the writer left it at the end
    TRY_SET(std::string text, sys::read_fd(daemon::kConfigFd));
    ::close(daemon::kConfigFd);
    ::fcntl(daemon::kControlFd, F_SETFD, FD_CLOEXEC);
    TRY(sys::set_nonblocking(daemon::kControlFd));
    TRY_SET(made.config, parse_config(text, "configuration"));
    made.log.emplace(made.config.log_level, made.config.log_format);
    return {};
  }

  // They are in the state folder, which is ours to write; what the keeper finds there it believes.
  void hide_cells() {
    auto hidden = hide_folder(cat(made.config.state_dir, "/cells"));
    made.cells_hidden = hidden.ok();
    made.in_user_namespace = hidden.ok() && hidden.value();
    if (!hidden.ok()) (*made.log)(LogLevel::kWarning, "lasting cells are not served: their folder cannot be hidden from the front", {{"why", hidden.error().message}});
  }

  Result<void> read_inspect_rules() {
    if (made.config.inspect_rules.empty()) return {};
    TRY_SET(std::string yaml, sys::read_file(made.config.inspect_rules.c_str()).context("inspect.rules"));
    made.inspect_rules.emplace_back(made.config.inspect_rules, std::move(yaml));
    return {};
  }

  Result<void> bind_sockets() {
    // Keys decide whether anybody but the loopback may be let in.
    TRY_SET(made.keys, ApiKeys::open(database_of(made.config)));
    if (arguments_.stdio) return {};
    TRY_SET(auto all, made.keys->list());
    made.good_keys = static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const ApiKey& k) { return !k.is_revoked(); }));
    if (!made.config.tls_cert.empty()) {
      TRY_SET(made.tls, TlsContext::create(made.config.tls_cert, made.config.tls_key));
    }
    if (arguments_.bound) return {};
    TRY_SET(auto wanted, check_listen(made.config, made.good_keys));
    for (const auto& address : wanted) {
      TRY_SET(sys::Fd fd, bind_tcp(address));
      TRY(give_away(fd));
    }
    if (!made.config.unix_socket.empty()) {
      TRY_SET(sys::Fd fd, bind_unix(made.config.unix_socket));
      TRY(give_away(fd));
    }
    return {};
  }
  static Result<void> give_away(const sys::Fd& fd) {
    int number = fd.get();
    return sys::send(daemon::kControlFd, std::string_view(&daemon::kBound, 1), std::span<const int>(&number, 1)).context("supervisor");
  }

  Result<void> open_telemetry() {
    if (made.config.otlp_endpoint.empty()) return {};
    TRY_SET(OtlpTarget target, parse_otlp_endpoint(made.config.otlp_endpoint));
    TRY_SET(made.otlp, OtlpClient::create(loop_.context(), target));
    if (auto port = parse_u64(target.port)) otlp_port_ = static_cast<std::uint16_t>(*port);
    return {};
  }

  // A file that `serve --profile` names is out of reach later; and whoever misspelt one should hear of it now.
  Result<void> read_profiles() {
    const auto search = rules_of(made.config, arguments_).profiles;
    if (made.config.default_profile.find('/') != std::string::npos) {
      TRY_SET(LoadedProfile loaded, load_profile_details(made.config.default_profile, search).context("default_profile"));
      made.usual = std::make_shared<const LoadedProfile>(std::move(loaded));
    } else if (made.config.default_profile != "default") {
      TRY(load_profile(made.config.default_profile, search).context("default_profile"));
    }
    TRY(load_profile(made.config.code_sandbox_profile, search).context("code_sandbox.profile"));
    return {};
  }

  Result<void> confine() {
    FrontPlaces places;
    places.state_dir = made.config.state_dir;
    auto profiles = rules_of(made.config, arguments_).profiles;
    for (const auto& folder : {profiles.user, profiles.system})
      if (!folder.empty()) places.read_only.push_back(folder);
    if (otlp_port_ != 0) places.connect_ports.push_back(otlp_port_);
    TRY_SET(made.held, confine_front(places));
    for (const auto& layer : made.held.layers)
      (*made.log)(LogLevel::kDebug, "confined", {{"layer", std::string(to_string(layer.layer))}, {"detail", layer.detail}});
    return {};
  }

  const FrontArguments& arguments_;
  Loop& loop_;
  std::uint16_t otlp_port_ = 0;
};

}  // namespace

Result<BeforeWalls> confine_and_prepare(const FrontArguments& arguments, Loop& loop) {
  Preparation preparation(arguments, loop);
  TRY(preparation.all());
  return std::move(preparation.made);
}

std::string database_of(const Config& config) { return cat(config.state_dir, "/hotcell.db"); }

JobRules rules_of(const Config& c, const FrontArguments& arguments) {
  JobRules r;
  r.profiles = standard_search("", arguments.home);
  r.profiles.project.clear();   // a daemon has no project
  r.profiles.built_in = language_profiles();
  r.default_profile = c.default_profile;
  r.most.memory = c.max_memory;
  r.most.disk = c.max_disk;
  r.most.output = c.max_output;
  r.most.cpu_time = c.max_timeout;
  r.most.processes = c.max_processes;
  r.most.wall = c.max_timeout;
  r.most.open_files = 4096;
  r.most.stack = 64_MiB;
  r.default_timeout = c.default_timeout;
  r.max_timeout = c.max_timeout;
  r.network_enabled = c.network_enabled;
  r.host_network = c.host_network;
  r.proxy = arguments.proxy;
  r.no_proxy_reason = no_proxy_behind(c);
  if (auto most = net::read_door_words(arguments.proxy_words); most.ok())
    r.check_domains = [rules = most.value().rules](const std::vector<std::string>& allow, const std::vector<std::string>& block) {
      return net::check_order(rules, allow, block);
    };
  r.strong_reason = "what works on this host is still being tried";
  return r;
}

}  // namespace hotcell::server
