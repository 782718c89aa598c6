#include "server/front/front.h"

#include <malloc.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <system_error>
#include <thread>

#include "base/sha256.h"
#include "base/strings.h"
#include "core/remote/remote_launcher.h"
#include "daemon/control.h"
#include "net/door/order.h"
#include "manager/executions.h"
#include "server/auth.h"
#include "server/cells/cell_door.h"
#include "server/dashboard.h"
#include "server/front/before_walls.h"
#include "server/front/inspections.h"
#include "server/front/recorder.h"
#include "server/http/door_words.h"
#include "server/http/server.h"
#include "server/mcp/http.h"
#include "server/mcp/stdio.h"
#include "server/rest/routes.h"
#include "store/audit_log.h"
#include "store/settings.h"
#include "sys/file.h"
#include "sys/socket.h"

namespace hotcell::server {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds kAuditPatience{200};  // another process may hold the log
constexpr std::uint32_t kOverflowUid = 65534;   // whoever has no name in our user namespace

// The manager's idea of a loop, on the front's.
class ManagerLoop final : public hotcell::Loop {
 public:
  explicit ManagerLoop(server::Loop& loop) : loop_(loop) {}
  void post(std::function<void()> work) override { loop_.post(std::move(work)); }
  Subscription watch(int fd, std::function<void()> readable) override {
    return hold(loop_.when_readable(fd, std::move(readable)));
  }
  Subscription after(std::chrono::milliseconds delay, std::function<void()> work) override {
    return hold(loop_.after(delay, std::move(work)));
  }
  Subscription every(std::chrono::milliseconds period, std::function<void()> work) {
    return hold(loop_.every(period, std::move(work)));
  }

 private:
  static Subscription hold(server::Loop::Handle handle) {
    auto held = std::make_shared<server::Loop::Handle>(std::move(handle));
    return Subscription([held] { held->reset(); });
  }
  server::Loop& loop_;
};

Result<std::shared_ptr<const net::RuleSet>> network_rules(const FrontArguments& arguments) {
  TRY_SET(net::DoorCeiling most, net::read_door_words(arguments.proxy_words));
  TRY_SET(net::RuleSet rules, net::RuleSet::create(most.rules));
  return std::make_shared<const net::RuleSet>(std::move(rules));
}

class Front {
 public:
  explicit Front(const FrontArguments& arguments) : arguments_(arguments), manager_loop_(loop_) {}

  Result<int> run() {
    TRY_SET(made_, confine_and_prepare(arguments_, loop_));
    TRY(open_store());
    TRY(open_doors());
    control_ = loop_.when_readable(daemon::kControlFd, [this] { hear(); });
    alive_ = loop_.every(5s, [this] {
      tell(daemon::kAlive, {});
      executions_->check_launcher([this] { tell(daemon::kAlive, daemon::kLauncherToo); });
      say_what_cannot_be_kept();
      rest();
    });
    if (arguments_.stdio) tell(daemon::kReady, {});
    else tell(daemon::kConfined, {});  // the sockets come, and then it is ready
    loop_.run();
    if (checker_.joinable()) checker_.join();
    http_.reset();
    executions_.reset();
    if (history_) history_->flush();
    if (failed_) return std::move(*failed_);
    return 0;
  }

 private:
  // --- behind the walls ---

  Result<void> open_store() {
    Retention keep;
    keep.age = std::chrono::hours(24 * made_.config.keep_days);
    keep.rows = made_.config.keep_rows;
    keep.bytes = made_.config.keep_bytes;
    // A front that was killed a moment ago may not have let go of it yet.
    auto opened = History::open(database_of(made_.config), keep);
    for (int i = 0; i < 40 && !opened.ok() && opened.error().err == EBUSY; ++i) {
      std::this_thread::sleep_for(50ms);
      opened = History::open(database_of(made_.config), keep);
    }
    TRY_SET(history_, std::move(opened));
    TRY_SET(Settings settings, Settings::open(database_of(made_.config)));
    settings_.emplace(std::move(settings));
    TRY_SET(audit_, AuditLog::open(made_.config.state_dir));
    audit_walls();
    if (history_->abandoned() > 0)
      (*made_.log)(LogLevel::kWarning, "executions of a daemon that stopped are marked as failed", {{"count", cat(history_->abandoned())}});
    if (made_.otlp) traces_.emplace([this](std::string body) { made_.otlp->post(std::move(body)); });
    recorder_.emplace(*audit_, metrics_, traces_ ? &*traces_ : nullptr, *made_.log);
    ExecutionsOptions options;
    options.max_running = made_.config.max_running;
    options.max_queued = made_.config.max_queued;
    options.max_queued_each = made_.config.max_queued_each;
    options.park_cells = made_.config.park_cells;
    options.park_runtimes.clear();
    for (const auto& [language, n] : made_.config.park_runtimes) options.park_runtimes[language] = n;
    options.park_profiles = made_.config.park_profiles;
    for (const auto& name : made_.config.park_profiles)
      if (auto loaded = load_profile(name, rules_of(made_.config, arguments_).profiles); !loaded.ok())
        (*made_.log)(LogLevel::kWarning, "no runtimes wait for a profile", {{"profile", name}, {"error", loaded.error().message}});
    options.cache_folder = cat(made_.config.state_dir, "/cache");
    options.journal_folder = made_.config.state_dir;
    auto hooks = recorder_->hooks();
    hooks.words = [](std::string_view sentence) { return door_words(sentence); };
    hooks.want_strong = [this] { tell(daemon::kStrong, {}); };
    JobRules rules = rules_of(made_.config, arguments_);
    rules.inspect_rules = made_.inspect_rules;
    rules.usual = made_.usual;
    executions_ = Executions::create(std::move(options), std::move(rules), *history_, manager_loop_, std::move(hooks));
    return {};
  }

  // Whoever reads the audit knows behind what its writer stood.
  void audit_walls() {
    AuditEvent e;
    e.layer = "landlock";
    e.effect = AuditEffect::kObserved;   // nothing was refused
    e.message = "the front has no landlock rules";
    for (const auto& layer : made_.held.layers) {
      e.details[std::string(to_string(layer.layer))] = cat(to_string(layer.status), layer.detail.empty() ? "" : ": ", layer.detail);
      if (layer.layer != Layer::kLandlock) continue;
      e.message = cat("the front's own walls: landlock ", to_string(layer.status));
      if (layer.status == LayerStatus::kFull) e.action = "applied";
    }
    if (e.action.empty()) e.action = "degraded", e.severity = AuditSeverity::kLow;
    audit_->append(std::move(e));
    metrics_.audit_entry();
  }

  Result<void> open_doors() {
    services_ = std::make_unique<Services>(Services{*executions_, *history_, metrics_, made_.config});
    keeper_ = std::make_unique<KeeperLink>(loop_, [this] { tell(daemon::kCells, {}); });
    cells_ = std::make_unique<CellDoor>(*keeper_, [this]() -> const JobRules& { return executions_->rules(); });
    cells_->inspect = [this](Report report, OutputOrder order, std::string client, std::string cell, Executions::Inspected done) {
      executions_->inspect_output(std::move(report), std::move(order), [this, client = std::move(client), cell = std::move(cell), done = std::move(done)](Report seen, const std::optional<OutputInspection>& found) {
        if (found) recorder_->inspected(*found, seen.id, client, cell);
        done(std::move(seen), found);
      });
    };
    if (made_.cells_hidden) services_->cells = cells_.get();
    fill_services();
    TRY(restore_config(*services_));
    // What was changed while it ran lasts, also where the file says something else: whoever wrote that reads it here.
    if (const bool enabled = executions_->rules().network_enabled; enabled != made_.config.network_enabled)
      (*made_.log)(LogLevel::kInfo, cat("network.enabled is ", enabled ? "true" : "false", ", as PATCH /api/v1/sandbox/config has left it; the configuration says ",
                                        enabled ? "false" : "true"), {});
    mcp::McpServices needs{.executions = *executions_, .history = *history_, .post = [this](std::function<void()> w) { loop_.post(std::move(w)); },
                           .verify = {}, .languages = {}, .version = {}};
    needs.verify = [this](mcp::VerifyJob job, mcp::McpServices::Verified done) { verify_for_mcp(std::move(job), std::move(done)); };
    needs.inspect = services_->inspect;
    needs.check_host = [this](const std::string& host) -> Result<std::string> {
      if (!services_->network.rules) return make_error(ErrorCode::kUnsupported, "programs have no network here");
      net::Decision decision = net::check_text(*services_->network.rules, host);
      decision.how = door_words(decision.how, Hosts::kOfConfiguration);
      return net::decision_json(host, decision);
    };
    needs.languages = [this]() -> std::optional<std::string> {
      auto text = sys::read_file(cat(made_.config.state_dir, "/facts/languages.json").c_str());
      return text.ok() ? std::optional(std::move(text).value()) : std::nullopt;
    };
    needs.cells = services_->cells;
    needs.version = std::string(version());
    needs.conformance_fixtures = arguments_.fixtures;
    mcp_ = std::make_shared<mcp::McpServer>(std::move(needs));
    if (arguments_.stdio) {
      TRY_SET(stdio_, mcp::StdioDoor::open(loop_.context(), *mcp_, {}, [this] { stop(); }));
      return {};
    }
    add_rest(router_, *services_);
    if (made_.config.mcp) mcp::add_mcp(router_, mcp_);
    if (made_.config.dashboard) add_dashboard(router_);
    return {};
  }

  // What it accepts from comes last, from the supervisor, when everything else is in its place.
  Result<void> serve() {
    for (const auto& fd : listeners_) TRY(check_listener(fd.get(), made_.config, made_.good_keys));
    TRY(open_gate());
    ServerLimits limits;
    limits.parse.body_bytes = made_.config.max_body.n;
    limits.header_timeout = made_.config.header_timeout;
    limits.idle_timeout = made_.config.idle_timeout;
    limits.max_connections = made_.config.max_connections;
    http_ = std::make_unique<HttpServer>(loop_, limits, router_, *gate_);
    if (made_.log->wants(LogLevel::kDebug))
      http_->set_access_log([this](const AccessRecord& r) {
        (*made_.log)(LogLevel::kDebug, "request", {{"method", std::string(r.method)}, {"path", std::string(r.path)}, {"status", cat(r.status)},
                                              {"us", cat(r.micros)}, {"request_id", std::string(r.request_id)}, {"caller", std::string(r.caller)}});
      });
    for (auto& fd : listeners_) {
      TRY_SET(sys::Fd copy, sys::duplicate(fd.get()));
      TRY(http_->add_listener(std::move(copy), is_tcp(fd.get()) ? made_.tls : nullptr));
    }
    tell(daemon::kReady, addresses());
    return {};
  }
  void fail(Error error) {
    failed_ = std::move(error);
    loop_.stop();
  }

  static bool is_tcp(int fd) {
    int domain = 0;
    socklen_t size = sizeof domain;
    return ::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain != AF_UNIX;
  }

  Result<void> open_gate() {
    AuthOptions options;
    // A cell with the host's network could come in by the loopback, too.
    options.require_key = made_.config.require_key || made_.config.host_network;
    options.allowed_hosts = made_.config.allowed_hosts;
    options.allowed_origins = made_.config.allowed_origins;
    for (const auto& fd : listeners_) {
      if (!is_tcp(fd.get())) continue;
      TRY_SET(ListenAddress address, bound_address(fd.get()));
      options.listening.push_back(std::move(address));
    }
    options.own_uid = ::getuid();
    // A socket of mode 0600 is connected to by its owner and by root alone; who is not the owner is root.
    struct stat s {};
    if (made_.in_user_namespace && ::stat(made_.config.unix_socket.c_str(), &s) == 0 && s.st_uid == ::getuid() && (s.st_mode & 077) == 0)
      options.root_uid = kOverflowUid;
    options.find_key = [this](std::string_view hash) -> std::optional<KeyInfo> {
      auto found = made_.keys->check_hash(hash);
      if (!found.ok() || !found.value()) return std::nullopt;
      const ApiKey& k = *found.value();
      return KeyInfo{k.name, std::string(hash), k.run, k.read, k.admin, k.max_running, k.per_minute};
    };
    gate_ = std::make_unique<Authenticator>(std::move(options));
    return {};
  }

  void fill_services();
  void verify_for_mcp(mcp::VerifyJob job, mcp::McpServices::Verified done);

  std::string addresses() const {
    std::string out;
    for (const auto& fd : listeners_) {
      if (!is_tcp(fd.get())) continue;
      auto address = bound_address(fd.get());
      if (address.ok()) out += cat(out.empty() ? "" : "\n", made_.tls ? "https://" : "http://", address.value().text);
    }
    if (!made_.config.unix_socket.empty() && !arguments_.stdio) out += cat(out.empty() ? "" : "\n", "unix:", made_.config.unix_socket);
    return out;
  }

  // Clients are answered all the same; whoever keeps the daemon hears of it, once when it begins and once when it is over.
  void say_what_cannot_be_kept() {
    auto say = [this](const char* what, std::string why, std::string& said) {
      if (why == said) return;
      if (why.empty()) (*made_.log)(LogLevel::kInfo, cat(what, " can be written again"), {});
      else (*made_.log)(LogLevel::kWarning, cat(what, " cannot be written; what comes is kept until it can be, as far as there is room"), {{"why", why}});
      said = std::move(why);
    };
    say("the history", history_->last_error(), history_said_);
    say("the audit log", audit_->last_error(), audit_said_);
  }

  // What was freed is in pieces all over: a front that had nothing to do for five seconds gives it back. Not between two requests
  // of one client, who would wait for what is asked for again.
  void rest() {
    const auto stats = executions_->stats();
    const std::uint64_t done = (http_ ? http_->stats().requests : 0) + stats.ended;
    const bool quiet = done == done_before_ && stats.running == 0 && stats.queued == 0;
    done_before_ = done;
    if (quiet) ::malloc_trim(0);   // also later: what has ended is forgotten in a minute
  }

  // --- the supervisor ---

  void tell(char what, std::string_view text) {
    sys::send(daemon::kControlFd, cat(what, text)).ignore("a supervisor that has gone is seen when it is read from");
  }

  void hear() {
    char buffer[4096];
    auto message = sys::receive(daemon::kControlFd, buffer, MSG_DONTWAIT);
    if (!message.ok() || (message.value().size == 0 && !message.value().again)) {
      // Killed, or it would have said so. Nothing is finished in its place: the next daemon finds what ran begun and not
      // ended, and must not find us at work in its state folder.
      control_.reset();
      return loop_.stop();
    }
    if (message.value().again) return;
    const std::string_view text(buffer + 1, message.value().size - 1);
    if (buffer[0] == daemon::kStop) return stop();
    if (buffer[0] == daemon::kListening && !http_ && !stopping_) take_sockets(message.value().fds, text);
    if (buffer[0] == daemon::kNotListening) fail(make_error(ErrorCode::kInvalid, std::string(text)));
    if (buffer[0] == daemon::kCells && message.value().fds.size() == 1) keeper_->attach(std::move(message.value().fds[0]));
    if (buffer[0] == daemon::kNoCells) keeper_->refused(std::string(text));
    if (buffer[0] == daemon::kNoStrong) executions_->refuse_strong(std::string(text));
    if (buffer[0] == daemon::kStrong && message.value().fds.size() == 1) {
      auto launcher = RemoteLauncher::open(std::move(message.value().fds[0]));
      if (launcher.ok()) executions_->attach_strong(std::move(launcher).value());
    } else if (buffer[0] == daemon::kStrong && !text.empty()) {
      executions_->set_strong(text[0] == '+', std::string(text.substr(1)));
    }
    if (buffer[0] == daemon::kLauncher && message.value().fds.size() == 1) {
      auto launcher = RemoteLauncher::open(std::move(message.value().fds[0]));
      if (launcher.ok()) executions_->attach(std::move(launcher).value());
      if (!made_.inspect_rules.empty()) try_inspect_rules();
    }
  }

  void take_sockets(std::vector<sys::Fd>& fds, std::string_view count) {
    for (auto& fd : fds) listeners_.push_back(std::move(fd));
    if (count.empty()) return;
    // One for which there was no descriptor left is dropped on the way.
    if (listeners_.size() != parse_u64(count)) return fail(make_error(ErrorCode::kLimit, "not every socket could be taken over"));
    if (auto done = serve(); !done.ok()) fail(std::move(done).error());
  }

  // With a mistake in them nothing passes as inspected; whoever keeps the daemon is told once, and not by its clients.
  void try_inspect_rules() {
    InspectQuestion trial;
    trial.rules = made_.inspect_rules;
    executions_->inspect(std::move(trial), [this](Result<std::string> answer) {
      if (!answer.ok()) (*made_.log)(LogLevel::kError, "the rules of inspect.rules cannot be used, and every inspection fails", {{"why", answer.error().message}});
    });
  }

  void stop() {
    if (std::exchange(stopping_, true)) return;
    (*made_.log)(LogLevel::kInfo, "stopping: what runs may end first");
    if (http_) http_->drain();
    stop_by_ = std::chrono::steady_clock::now() + made_.config.drain;
    executions_->drain(std::chrono::duration_cast<std::chrono::milliseconds>(made_.config.drain), [this] { drained_ = true; });
    stop_when_done();
  }

  // Programs in lasting cells that somebody waits for are no executions, and are waited for here.
  void stop_when_done() {
    const bool over = drained_ && (cells_->waited_for() == 0 || std::chrono::steady_clock::now() >= stop_by_);
    // Answers that are on their way get a moment.
    if (over && traces_) traces_->flush();
    last_words_ = over ? loop_.after(200ms, [this] { loop_.stop(); }) : loop_.after(20ms, [this] { stop_when_done(); });
  }

  FrontArguments arguments_;
  Loop loop_;
  ManagerLoop manager_loop_;
  BeforeWalls made_;
  std::vector<sys::Fd> listeners_;
  Metrics metrics_;
  std::optional<Traces> traces_;
  std::optional<Settings> settings_;
  std::unique_ptr<AuditLog> audit_;
  std::unique_ptr<History> history_;
  std::optional<Recorder> recorder_;
  std::unique_ptr<Executions> executions_;
  std::unique_ptr<KeeperLink> keeper_;
  std::unique_ptr<CellDoor> cells_;
  std::unique_ptr<Services> services_;
  std::shared_ptr<mcp::McpServer> mcp_;
  std::unique_ptr<mcp::StdioDoor> stdio_;
  Router router_;
  std::unique_ptr<Authenticator> gate_;
  std::unique_ptr<HttpServer> http_;
  Loop::Handle control_, alive_, last_words_, flush_;
  std::thread checker_;     // of the audit log
  bool checking_ = false;
  bool stopping_ = false, drained_ = false;
  std::uint64_t done_before_ = 0;   // requests and executions
  std::string history_said_, audit_said_;   // why they cannot be written, as the log was last told
  std::optional<Error> failed_;
  std::chrono::steady_clock::time_point stop_by_;
};

void Front::fill_services() {
  Services& s = *services_;
  s.audit.append = [this](AuditNote note) {
    static const std::map<std::string, AuditSeverity, std::less<>> kSeverities = {
        {"low", AuditSeverity::kLow}, {"medium", AuditSeverity::kMedium}, {"high", AuditSeverity::kHigh}, {"critical", AuditSeverity::kCritical}};
    auto severity = kSeverities.find(note.severity);
    AuditEvent e;
    e.layer = std::move(note.layer);
    e.action = std::move(note.action);
    e.effect = AuditEffect::kObserved;
    e.severity = severity == kSeverities.end() ? AuditSeverity::kInfo : severity->second;
    e.message = std::move(note.message);
    e.details = std::move(note.details);
    e.execution = std::move(note.execution);
    e.client = std::move(note.client);
    audit_->append(std::move(e));
    metrics_.audit_entry();
  };
  s.audit.page = [this](std::size_t limit, std::uint64_t before) -> Result<AuditPage> {
    audit_->write_out(kAuditPatience);  // whoever has had an answer finds what came of it
    TRY_SET(auto lines, read_audit(made_.config.state_dir, before, limit));
    AuditPage page;
    for (auto& line : lines) page.entries.push_back(std::move(line.json));
    if (lines.size() == limit && !lines.empty() && lines.back().number > 1) page.next = lines.back().number;
    return page;
  };
  s.audit.check = [this](std::function<void(Result<AuditCheck>)> done) {
    // A quarter of a gigabyte of hashes at most: too long for the loop. One at a time.
    if (checking_) return done(make_error(ErrorCode::kLimit, "the audit log is being checked already"));
    if (checker_.joinable()) checker_.join();
    auto check = [this, done] {
      auto verdict = verify_audit(made_.config.state_dir);
      loop_.post([this, done, verdict = std::move(verdict)] {
        checking_ = false;
        if (!verdict.ok()) return done(verdict.error());
        const auto& v = verdict.value();
        done(AuditCheck{v.ok, v.entries, v.ok ? 0 : v.line, v.why});
      });
    };
    try {
      checker_ = std::thread(check);
      checking_ = true;
    } catch (const std::system_error&) {
      done(make_error(ErrorCode::kLimit, "no thread can be started; try again"));
    }
  };
  s.keys.list = [this]() -> Result<std::vector<KeyRow>> {
    TRY_SET(auto all, made_.keys->list());
    std::vector<KeyRow> out;
    for (const auto& k : all) {
      KeyRow row{k.name, {}, k.max_running, k.per_minute, k.created, k.last_used, k.revoked};
      const std::string words = scope_words(k);
      for (auto word : split(words, ',')) row.scopes.emplace_back(word);
      out.push_back(std::move(row));
    }
    return out;
  };
  s.keys.create = [this](const KeyRow& row) -> Result<std::string> {
    ApiKey key;
    key.name = row.name;
    key.max_running = row.max_running;
    key.per_minute = row.requests_per_minute;
    TRY(set_scopes(key, join(row.scopes, ",")));
    return made_.keys->create(key);
  };
  s.keys.revoke = [this](std::string_view name) -> Result<void> {
    TRY_SET(bool there, made_.keys->revoke(name));
    if (!there) return make_error(ErrorCode::kNotFound, "there is no such key");
    return {};
  };
  s.settings.get = [this](std::string_view section) { return settings_->get(section); };
  s.settings.put = [this](std::string_view section, std::string json) { return settings_->set(section, json); };
  s.verify = [this](VerifyQuestion q, std::function<void(Verification)> done) {
    executions_->verify({std::move(q.code), std::move(q.language), std::move(q.file), std::move(q.policy)}, std::move(done));
  };
  s.inspect = [this](InspectQuestion q, std::string client, std::function<void(Result<std::string>)> done) {
    inspect_and_note(*executions_, services_->audit, std::move(q), std::move(client), std::move(done));
  };
  s.network.journal_folder = made_.config.state_dir;
  if (auto rules = network_rules(arguments_); rules.ok() && arguments_.proxy) s.network.rules = rules.value();
  s.code_sandbox_profile = made_.config.code_sandbox_profile;
  s.facts_folder = cat(made_.config.state_dir, "/facts");
  s.post = [this](std::function<void()> work) { loop_.post(std::move(work)); };
  s.every = [this](std::chrono::milliseconds period, std::function<void()> work) { return manager_loop_.every(period, std::move(work)); };
  if (traces_) flush_ = loop_.every(5s, [this] { traces_->flush(); });
}

void Front::verify_for_mcp(mcp::VerifyJob job, mcp::McpServices::Verified done) {
  Policy policy = default_policy();
  if (!job.profile.empty() && job.profile != "default") {
    if (job.profile.find('/') != std::string::npos) return done(make_error(ErrorCode::kInvalid, "profile: not the name of a profile"));
    auto loaded = load_profile(job.profile, executions_->rules().profiles);
    if (!loaded.ok()) return done(std::move(loaded).error());
    policy = std::move(loaded).value();
  }
  executions_->verify({std::move(job.code), std::move(job.language), std::move(job.file), std::move(policy)},
                      [done = std::move(done)](Verification v) { done(std::move(v)); });
}

}  // namespace

Result<int> run_front(const FrontArguments& arguments) { return Front(arguments).run(); }

}  // namespace hotcell::server
