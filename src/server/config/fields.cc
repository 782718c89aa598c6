#include "server/config/fields.h"

#include <algorithm>
#include <array>
#include <limits>
#include <type_traits>

#include "base/strings.h"
#include "core/policy/suggest.h"
#include "core/policy/units.h"
#include "server/config/checks.h"

namespace hotcell::server {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000, kHour = 3600 * kSecond;
constexpr std::uint64_t kMebi = 1 << 20, kGibi = 1 << 30, kTebi = 1ULL << 40;
constexpr std::uint64_t kMaxCount = std::numeric_limits<std::uint32_t>::max();

// In the order of the example: fields of one group stand together.
const std::array kFields = {
    Field{"listen", &Config::listen,
          "Addresses to listen on. Port 0: any that is free. Beyond the loopback a key is always needed, and TLS.", 0,
          UINT64_MAX, check_address},
    Field{"unix_socket", &Config::unix_socket,
          "Also listen on this Unix socket; the same user and root may do everything there. Empty: none.", 0,
          UINT64_MAX, check_socket},
    Field{"state_dir", &Config::state_dir,
          "History, audit log and keys. Empty: $STATE_DIRECTORY, else /var/lib/hotcell for root, else "
          "$XDG_STATE_HOME/hotcell.",
          0, UINT64_MAX, check_path},
    Field{"default_profile", &Config::default_profile, "The profile of requests that name none.", 0, UINT64_MAX,
          check_profile},
    Field{"backend", &Config::backend,
          "What cells are made of. auto: native where a trial works, else landlock, which has no namespaces; what was taken is "
          "logged and in /api/v1/sandbox/info.",
          0, UINT64_MAX, nullptr, "native|landlock|auto"},
    Field{"hosts", &Config::allowed_hosts,
          "Further names by which clients may call us (Host header); the loopback's and those of listen are always "
          "accepted.",
          0, UINT64_MAX, check_host},
    Field{"origins", &Config::allowed_origins, "Further web pages that may call us (Origin header).", 0, UINT64_MAX,
          check_origin},
    Field{"docs", &Config::docs, "The page of the HTTP interface at /docs."},
    Field{"dashboard", &Config::dashboard, "The dashboard at /."},
    Field{"mcp", &Config::mcp, "The Model Context Protocol at /mcp."},
    Field{"otlp_endpoint", &Config::otlp_endpoint,
          "Send traces there by OTLP over HTTP. Empty: $OTEL_EXPORTER_OTLP_ENDPOINT, else none.", 0, UINT64_MAX,
          check_endpoint},

    Field{"tls.cert", &Config::tls_cert, "The certificate and its chain, PEM. Both or neither.", 0, UINT64_MAX,
          check_path},
    Field{"tls.key", &Config::tls_key, "Its private key, PEM.", 0, UINT64_MAX, check_path},
    Field{"tls.elsewhere", &Config::tls_elsewhere,
          "Something in front of us ends TLS (an ingress, a mesh): plain HTTP may leave the loopback. Keys travel "
          "readable up to there."},

    Field{"code_sandbox.profile", &Config::code_sandbox_profile,
          "The profile of POST /execute, by its name. Its founder's variable SANDBOX_PROFILE is understood, too.", 0, UINT64_MAX, check_profile_name},

    Field{"auth.require_key", &Config::require_key, "Ask for a key on the loopback, too."},

    Field{"limits.timeout", &Config::default_timeout, "Wall-clock time of a request that names none.", kSecond / 1000,
          24 * kHour},
    Field{"limits.max_timeout", &Config::max_timeout,
          "The longest that a request may ask for; raised to limits.timeout when it is shorter.", kSecond / 1000,
          24 * kHour},
    Field{"limits.memory", &Config::max_memory, "The most memory a request may ask for.", kMebi, 16 * kTebi},
    Field{"limits.disk", &Config::max_disk, "The most private disk.", kMebi, 16 * kTebi},
    Field{"limits.output", &Config::max_output, "The most bytes of each output stream.", 1, kGibi},
    Field{"limits.processes", &Config::max_processes, "The most processes and threads.", 1, 4'000'000},

    Field{"network.enabled", &Config::network_enabled, "Whether programs have a network when their request does not say."},
    Field{"network.allow", &Config::network_allow,
          "Hosts that programs may reach, by a proxy: a.org, *.a.org, .a.org, with :PORT; @registries, @development."},
    Field{"network.block", &Config::network_block, "Hosts that they may not, whatever is allowed."},
    Field{"network.private", &Config::network_private, "Hosts that may have an address inside this network."},
    Field{"network.bytes", &Config::network_bytes, "What may go through one cell's proxy in all, both ways together.", 1, 1024 * kTebi},
    Field{"network.rate", &Config::network_rate, "What may go through it in a second.", 1, 16 * kTebi},
    Field{"network.connections", &Config::network_connections, "How many connections it holds at once.", 1, 4096},
    Field{"network.time", &Config::network_time, "How long it serves, from the start of the cell.", kSecond / 1000, 8760 * kHour},
    Field{"network.connection_time", &Config::network_connection_time, "How long one connection may last.", kSecond / 1000, 8760 * kHour},
    Field{"network.host", &Config::host_network,
          "Whether that may be the host's own network: cells then reach whatever this machine reaches."},

    Field{"paths.read", &Config::allowed_read, "Paths of this machine that profiles may show to cells.", 0, UINT64_MAX,
          check_path},
    Field{"paths.write", &Config::allowed_write, "Paths of this machine that profiles may let cells change.", 0,
          UINT64_MAX, check_path},

    Field{"inspect.rules", &Config::inspect_rules, "A YAML file of rules: what the inspectors look for besides their own.", 0,
          UINT64_MAX, check_path},

    Field{"cells.projects", &Config::cell_projects,
          "Folders that lasting cells may be made over, and their changes applied to; none: cells have only files that are sent.", 0,
          UINT64_MAX, check_path},
    Field{"cells.decisions", &Config::cell_decisions,
          "What cells made over the doors must ask about: standard, or a file as `cell create --decisions` takes it. Empty: what each request says.",
          0, UINT64_MAX, check_decisions},
    Field{"cells.max", &Config::max_cells, "Lasting cells in the state folder, of all clients together; one more is refused.", 1, 4096},

    Field{"queue.running", &Config::max_running, "Cells at the same time; 0: by the number of processors.", 0, 100'000},
    Field{"queue.waiting", &Config::max_queued, "Requests that wait for their turn; more are told to come again.", 1,
          1'000'000},
    Field{"queue.waiting_each", &Config::max_queued_each, "The same for each client.", 1, 1'000'000},
    Field{"queue.drain", &Config::drain, "How long what runs may take to end after SIGTERM; then it is killed.", 0, kHour},

    Field{"park.cells", &Config::park_cells, "Cells made in advance.", 0, 10'000},
    Field{"park.python", Parked{"python"}, "Python interpreters started in advance.", 0, 1'000},
    Field{"park.javascript", Parked{"javascript"}, "The same of Node.js.", 0, 1'000},
    Field{"park.java", Parked{"java"}, "The same of Java.", 0, 1'000},
    Field{"park.profiles", &Config::park_profiles,
          "Further profiles that runtimes wait for, with what they import in advance: of their own language, else of those above.", 0,
          UINT64_MAX, check_profile},

    Field{"http.body", &Config::max_body, "The largest request body.", 1024, 4 * kGibi},
    Field{"http.header_timeout", &Config::header_timeout, "The time for a client to send its headers.", kSecond / 10,
          kHour},
    Field{"http.idle_timeout", &Config::idle_timeout, "A connection that says nothing for so long is closed.",
          kSecond / 10, 24 * kHour},
    Field{"http.connections", &Config::max_connections, "Connections at the same time.", 1, 1'000'000},

    Field{"keep.days", &Config::keep_days, "How long ended executions are remembered.", 1, 36'500},
    Field{"keep.rows", &Config::keep_rows, "How many of them.", 1, kMaxCount},
    Field{"keep.bytes", &Config::keep_bytes, "The size of the history on disk.", kMebi, 16 * kTebi},

    Field{"log.level", &Config::log_level, "The least that is logged.", 0, UINT64_MAX, nullptr,
          "debug|info|warning|error"},
    Field{"log.format", &Config::log_format, "Lines for people, or a JSON object on each line.", 0, UINT64_MAX, nullptr,
          "text|json"},
};

Error bad(std::string message) { return make_error(ErrorCode::kInvalid, std::move(message)); }

std::string duration_text(Nanoseconds value) {
  auto ns = static_cast<std::uint64_t>(value.count());
  if (ns != 0 && ns % kHour == 0) return cat(ns / kHour, "h");
  if (ns != 0 && ns % (60 * kSecond) == 0) return cat(ns / (60 * kSecond), "m");
  return exact_duration(value);
}

Result<std::uint32_t> read_number(const Field& field, std::string_view text) {
  auto number = parse_u64(text);
  auto most = std::min(field.most, kMaxCount);
  if (!number || text.size() > 10 || *number < field.least || *number > most)
    return bad(cat(quoted(text), " is not accepted: a whole number from ", field.least, " to ", most));
  return static_cast<std::uint32_t>(*number);
}

Result<void> check_text(const Field& field, const std::string& text) {
  auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (std::any_of(text.begin(), text.end(), control)) return bad(cat(quoted(text), " has a control character"));
  if (!is_valid_utf8(text)) return bad(cat(quoted(text), " is not valid UTF-8"));
  if (!field.choices.empty()) {
    auto choices = split(field.choices, '|');
    if (std::find(choices.begin(), choices.end(), text) != choices.end()) return {};
    std::string list;
    for (auto c : choices) list += cat(list.empty() ? "" : ", ", c);
    return bad(cat(quoted(text), " is none of ", list, did_you_mean(text, choices)));
  }
  return field.check == nullptr ? Result<void>() : field.check(text);
}

Result<void> set_list(Config& config, const Field& field, std::span<const std::string> values) {
  std::vector<std::string> list;
  for (const auto& text : values) {
    TRY(check_text(field, text));
    if (std::find(list.begin(), list.end(), text) != list.end()) return bad(cat(quoted(text), " is there twice"));
    list.push_back(text);
  }
  config.*std::get<std::vector<std::string> Config::*>(field.member) = std::move(list);
  return {};
}

struct Setter {
  Config& config;
  const Field& field;
  const std::string& text;

  Result<void> operator()(bool Config::*member) const {
    if (text != "true" && text != "false") return bad(cat(quoted(text), " is neither true nor false"));
    config.*member = text == "true";
    return {};
  }
  Result<void> operator()(std::string Config::*member) const {
    // What is empty by default may be said to be empty: "none".
    if (!text.empty() || !(Config{}.*member).empty()) TRY(check_text(field, text));
    config.*member = text;
    return {};
  }
  Result<void> operator()(std::uint32_t Config::*member) const {
    TRY_SET(config.*member, read_number(field, text));
    return {};
  }
  Result<void> operator()(Bytes Config::*member) const {
    TRY_SET(Bytes value, parse_bytes(text));
    if (value.n < field.least || value.n > field.most)
      return bad(cat(quoted(text), " is out of range; accepted: ", exact_bytes({field.least}), " to ",
                     exact_bytes({field.most})));
    config.*member = value;
    return {};
  }
  Result<void> operator()(Nanoseconds Config::*member) const {
    TRY_SET(Nanoseconds value, parse_duration(text));
    auto ns = static_cast<std::uint64_t>(value.count());
    auto shown = [](std::uint64_t n) { return duration_text(Nanoseconds(static_cast<std::int64_t>(n))); };
    if (ns < field.least || ns > field.most)
      return bad(cat(quoted(text), " is out of range; accepted: ", shown(field.least), " to ", shown(field.most)));
    config.*member = value;
    return {};
  }
  Result<void> operator()(std::vector<std::string> Config::*) const { return bad("wants a list"); }
  Result<void> operator()(Parked parked) const {
    TRY_SET(std::uint32_t count, read_number(field, text));
    if (count == 0) config.park_runtimes.erase(std::string(parked.language));
    else config.park_runtimes[std::string(parked.language)] = count;
    return {};
  }
};

struct Getter {
  const Config& config;

  std::vector<std::string> operator()(bool Config::*m) const { return {config.*m ? "true" : "false"}; }
  std::vector<std::string> operator()(std::string Config::*m) const { return {config.*m}; }
  std::vector<std::string> operator()(std::uint32_t Config::*m) const { return {cat(config.*m)}; }
  std::vector<std::string> operator()(Bytes Config::*m) const { return {exact_bytes(config.*m)}; }
  std::vector<std::string> operator()(Nanoseconds Config::*m) const { return {duration_text(config.*m)}; }
  std::vector<std::string> operator()(std::vector<std::string> Config::*m) const { return config.*m; }
  std::vector<std::string> operator()(Parked parked) const {
    auto found = config.park_runtimes.find(std::string(parked.language));
    return {cat(found == config.park_runtimes.end() ? 0U : found->second)};
  }
};

}  // namespace

std::span<const Field> fields() { return kFields; }

const Field* find_field(std::string_view key) {
  auto found = std::find_if(kFields.begin(), kFields.end(), [&](const Field& f) { return f.key == key; });
  return found == kFields.end() ? nullptr : &*found;
}

std::string variable_of(const Field& field) {
  std::string out = "HOTCELL_";
  for (char c : field.key) out += c == '.' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return out;
}

bool is_list(const Field& field) { return std::holds_alternative<std::vector<std::string> Config::*>(field.member); }
bool is_truth(const Field& field) { return std::holds_alternative<bool Config::*>(field.member); }

Result<void> set_field(Config& config, const Field& field, std::span<const std::string> values) {
  if (is_list(field)) return set_list(config, field, values);
  if (values.size() != 1) return bad("wants one value");
  return std::visit(Setter{config, field, values[0]}, field.member);
}

std::vector<std::string> field_values(const Config& config, const Field& field) {
  return std::visit(Getter{config}, field.member);
}

}  // namespace hotcell::server
