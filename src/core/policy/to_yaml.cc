#include "base/strings.h"
#include "core/policy/profile.h"
#include "core/policy/units.h"

namespace hotcell {
namespace {

// Always in double quotes, so that no value can turn into a truth value, a number, an alias or a comment.
std::string scalar(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  bool utf8 = is_valid_utf8(text);
  std::string out = "\"";
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      (out += '\\') += c;
    else if (c == '\n')
      out += "\\n";
    else if (c == '\t')
      out += "\\t";
    else if (byte < 0x20 || byte == 0x7F || (!utf8 && byte >= 0x80))
      (out += "\\x") += {kHex[byte >> 4], kHex[byte & 15]};
    else
      out += c;
  }
  return out += '"';
}

class Writer {
 public:
  void section(std::string_view name) { pending_ = name; }
  void end() { pending_ = {}, open_ = false; }

  void line(std::string_view key, std::string_view value) {
    if (!pending_.empty()) out_ += cat(pending_, ":\n");
    if (!pending_.empty()) open_ = true, pending_ = {};
    out_ += cat(open_ ? "  " : "", key, ": ", value, "\n");
  }
  void text(std::string_view key, std::string_view value) {
    if (!value.empty()) line(key, scalar(value));
  }
  void truth(std::string_view key, bool value) { line(key, value ? "true" : "false"); }
  void list(std::string_view key, const std::vector<std::string>& items) {
    if (items.empty()) return;
    std::string value;
    for (const auto& item : items) value += cat(value.empty() ? "[" : ", ", scalar(item));
    line(key, value + "]");
  }

  std::string take() { return std::move(out_); }

 private:
  std::string out_;
  std::string_view pending_;  // a section's head is written with its first line, so that none stands empty
  bool open_ = false;
};

void limits(Writer& w, const Policy& p) {
  const Limits& l = p.limits;
  w.section("limits");
  w.line("memory", exact_bytes(l.memory));
  w.line("disk", exact_bytes(l.disk));
  w.line("output", exact_bytes(l.output));
  w.line("cpu_time", exact_duration(l.cpu_time));
  w.line("wall", exact_duration(l.wall));
  w.line("cpus", l.cpus > 0 ? format_cpus(l.cpus) : "none");
  w.line("processes", cat(l.processes));
  w.line("open_files", cat(l.open_files));
  w.line("stack", exact_bytes(l.stack));
  w.line("address_space", l.address_space ? exact_bytes(*l.address_space) : "none");
  w.line("on_output", p.on_output == OnOutput::kKill ? "kill" : "truncate");
  w.end();
}

void filesystem(Writer& w, const Filesystem& f) {
  std::vector<std::string> read, write, deny;
  for (const auto& grant : f.grants) (grant.access == Access::kWrite ? write : read).push_back(grant.path);
  for (const auto& d : f.deny) deny.push_back(d.pattern);
  w.section("filesystem");
  w.list("read", read);
  w.list("write", write);
  w.list("deny", deny);
  w.truth("tmp", f.writable_scratch);
  w.end();
}

void environment(Writer& w, const Environment& env) {
  w.section("env");
  w.list("pass", env.pass);
  if (!env.set.empty()) {
    std::string value;
    for (const auto& [name, text] : env.set) value += cat(value.empty() ? "{" : ", ", scalar(name), ": ", scalar(text));
    w.line("set", value + "}");
  }
  w.end();
}

void checks(Writer& w, const Policy& p) {
  w.section("rules");
  w.line("level", p.rules.level == VerifyLevel::kStrict ? "strict" : "default");
  w.list("off", p.rules.off);
  w.list("functions", p.rules.functions);
  w.list("modules", p.rules.modules);
  w.list("patterns", p.rules.patterns);
  w.list("allowed_paths", p.rules.allowed_paths);
  w.end();
  w.section("imports");
  w.list("allowed", p.imports_allowed);
  w.end();
  if (!p.blocklist.empty()) {
    std::string value;
    for (const auto& [module, attribute] : p.blocklist)
      value += cat(value.empty() ? "[" : ", ", "[", scalar(module), ", ", scalar(attribute), "]");
    w.line("blocklist", value + "]");
  }
  w.section("stages");
  w.list("pre", p.stages_pre);
  w.list("post", p.stages_post);
  w.end();
  w.list("preimport", p.preimport);
  // Written even when empty: it replaces what `default` would bring.
  std::string modes;
  for (const auto& [name, mode] : p.audit)
    modes += cat(modes.empty() ? "" : ", ", scalar(name), ": ", mode == AuditMode::kEnforce ? "enforce" : "observe");
  w.section("audit");
  w.line("mode", cat("{", modes, "}"));
  w.end();
}

}  // namespace

std::string to_yaml(const Policy& p) {
  Writer w;
  w.text("name", p.name);
  w.text("description", p.description);
  w.text("language", p.language);
  limits(w, p);
  filesystem(w, p.filesystem);
  w.section("network");
  w.line("mode", to_string(p.network.mode));
  w.line("rules", to_string(p.network.rules));
  w.list("allow", p.network.allow);
  w.list("block", p.network.block);
  w.end();
  w.section("syscalls");
  w.line("base", scalar(p.syscalls.base));
  w.list("allow", p.syscalls.allow);
  w.list("deny", p.syscalls.deny);
  w.text("file", p.syscalls.oci_file);
  w.end();
  environment(w, p.env);
  w.section("user");
  w.line("uid", cat(p.uid));
  w.line("gid", cat(p.gid));
  w.end();
  std::vector<std::string> required;
  for (auto layer : p.required) required.emplace_back(to_string(layer));
  w.list("require", required);
  w.truth("time_ns", p.time_ns);
  checks(w, p);
  w.truth("warm", p.warm);
  w.truth("fast", p.fast);
  return w.take();
}

}  // namespace hotcell
