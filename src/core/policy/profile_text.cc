// One profile file → what it says. Every key is listed in a table here; a key that is not is an error.
#include <algorithm>
#include <array>
#include <span>

#include "base/strings.h"
#include "core/policy/profile.h"
#include "core/policy/suggest.h"
#include "core/policy/units.h"
#include "core/policy/yaml_tree.h"

namespace hotcell {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view filename) : filename_(filename) {}

  Result<ProfileText> read(const YamlNode& root) {
    if (!root.is_map()) return fail(root, "", "wants keys and values, as in `name: mine`");
    TRY(each(root, "", kTop));
    return std::move(out_);
  }

 private:
  struct Key {
    std::string_view name;
    Result<void> (*read)(Reader&, const YamlNode&, const std::string& field);
  };

  std::string place(int line) const { return cat(printable(filename_), ":", line); }
  Error fail(const YamlNode& node, std::string_view field, std::string_view message) const {
    return make_error(ErrorCode::kInvalid, field.empty() ? cat(place(node.line), ": ", message)
                                                         : cat(place(node.line), ": ", field, ": ", message));
  }

  Result<void> each(const YamlNode& map, const std::string& prefix, std::span<const Key> keys) {
    if (!map.is_map()) return fail(map, prefix, cat("wants keys and values", shape(map)));
    for (const auto& node : map.items) {
      auto key = std::find_if(keys.begin(), keys.end(), [&](const Key& k) { return k.name == node.key; });
      if (key == keys.end()) {
        std::vector<std::string_view> known;
        for (const auto& k : keys) known.push_back(k.name);
        auto where = prefix.empty() ? std::string() : cat(" in ", prefix);
        return make_error(ErrorCode::kInvalid, cat(place(node.key_line), ": unknown key ", quoted(node.key), where,
                                                   did_you_mean(node.key, known)));
      }
      std::string field = prefix.empty() ? std::string(key->name) : cat(prefix, ".", key->name);
      out_.patch.origins[field] = place(node.key_line);
      TRY(key->read(*this, node, field));
    }
    return {};
  }

  static std::string_view shape(const YamlNode& node) {
    switch (node.kind) {
      case YamlNode::Kind::kNull:
        return ", not nothing";
      case YamlNode::Kind::kScalar:
        return ", not a single value";
      case YamlNode::Kind::kSequence:
        return ", not a list";
      case YamlNode::Kind::kMap:
        return ", not keys and values";
    }
    return "";
  }

  Result<std::string> word(const YamlNode& node, const std::string& field) const {
    if (!node.is_scalar()) return fail(node, field, cat("wants text", shape(node)));
    return node.text;
  }

  Result<std::vector<std::string>> words(const YamlNode& node, const std::string& field) {
    if (!node.is_sequence()) return fail(node, field, cat("wants a list", shape(node)));
    std::vector<std::string> out;
    for (const auto& item : node.items) {
      TRY_SET(std::string text, word(item, field));
      if (text.empty()) return fail(item, field, "has an empty entry");
      out_.patch.origins[cat(field, ".", text)] = place(item.line);
      out.push_back(std::move(text));
    }
    return out;
  }

  Result<bool> truth(const YamlNode& node, const std::string& field) const {
    if (node.is_scalar() && !node.quoted && node.text == "true") return true;
    if (node.is_scalar() && !node.quoted && node.text == "false") return false;
    return fail(node, field,
                node.is_scalar() ? cat(quoted(node.text), " is neither true nor false")
                                 : cat("wants true or false", shape(node)));
  }

  template <typename T>
  using Choice = std::pair<std::string_view, T>;
  template <typename T>
  Result<T> choice(const YamlNode& node, const std::string& field, std::initializer_list<Choice<T>> choices) const {
    TRY_SET(std::string text, word(node, field));
    std::string accepted;
    std::vector<std::string_view> known;
    for (const auto& [name, value] : choices) {
      if (name == text) return value;
      accepted += cat(accepted.empty() ? "" : ", ", name);
      known.push_back(name);
    }
    return fail(node, field, cat(quoted(text), " is none of ", accepted, did_you_mean(text, known)));
  }

  // `parse` is one of the parsers of flags, so that a unit means the same in both places.
  template <typename T, typename U>
  Result<void> parsed(const YamlNode& node, const std::string& field, U& to,
                      Result<T> (*parse)(std::string_view)) const {
    TRY_SET(std::string text, word(node, field));
    auto value = parse(text);
    if (!value.ok()) return fail(node, field, value.error().message);
    to = std::move(value).value();
    return {};
  }

  static bool is_none(const YamlNode& node) { return node.is_scalar() && !node.quoted && node.text == "none"; }

  static Result<std::uint32_t> parse_id(std::string_view text) {
    auto number = parse_u64(text);
    // 4294967295 is -1 to the kernel: "leave it as it is".
    if (!number || *number == 0 || *number >= 4294967295U)
      return make_error(ErrorCode::kInvalid,
                        cat(quoted(text), " is no user or group; accepted: 1 to 4294967294 (0 would be root)"));
    return static_cast<std::uint32_t>(*number);
  }

  Result<void> grants(const YamlNode& node, const std::string& field, Access access) {
    TRY_SET(auto paths, words(node, field));
    for (std::size_t i = 0; i < paths.size(); ++i)
      out_.patch.grants.push_back({paths[i], access, place(node.items[i].line)});
    return {};
  }

  Result<void> append(const YamlNode& node, const std::string& field, std::vector<std::string>& to) {
    TRY_SET(to, words(node, field));
    return {};
  }
  Result<void> replace(const YamlNode& node, const std::string& field, std::optional<std::vector<std::string>>& to) {
    TRY_SET(to, words(node, field));
    return {};
  }
  Result<void> text(const YamlNode& node, const std::string& field, std::optional<std::string>& to) {
    TRY_SET(to, word(node, field));
    return {};
  }
  Result<void> truth_into(const YamlNode& node, const std::string& field, std::optional<bool>& to) {
    TRY_SET(to, truth(node, field));
    return {};
  }

  Result<void> wall(const YamlNode& node, const std::string& field) {
    if (out_.patch.limits.wall) return fail(node, field, "limits.wall and limits.timeout are the same; give one");
    out_.patch.origins["limits.wall"] = place(node.key_line);
    return parsed(node, field, out_.patch.limits.wall, parse_duration);
  }

  Result<void> env_set(const YamlNode& node, const std::string& field) {
    if (!node.is_map()) return fail(node, field, cat("wants NAME: value lines", shape(node)));
    for (const auto& item : node.items) {
      if (!item.is_scalar())
        return fail(item, cat(field, ".", printable(item.key)), cat("wants text (\"\" for empty)", shape(item)));
      out_.patch.env_set[item.key] = item.text;
      out_.patch.origins[cat(field, ".", item.key)] = place(item.key_line);
    }
    return {};
  }

  Result<void> blocklist(const YamlNode& node, const std::string& field) {
    if (!node.is_sequence()) return fail(node, field, cat("wants a list of [module, attribute]", shape(node)));
    for (const auto& item : node.items) {
      if (!item.is_sequence() || item.items.size() != 2 || !item.items[0].is_scalar() || !item.items[1].is_scalar() ||
          item.items[0].text.empty() || item.items[1].text.empty())
        return fail(item, field, "each entry is two words, [module, attribute]");
      out_.patch.blocklist.emplace_back(item.items[0].text, item.items[1].text);
    }
    return {};
  }

  Result<void> audit_mode(const YamlNode& node, const std::string& field) {
    if (!node.is_map()) return fail(node, field, cat("wants `layer: enforce` or `layer: observe` lines", shape(node)));
    out_.patch.audit.emplace();
    for (const auto& item : node.items) {
      std::string name = cat(field, ".", item.key);
      TRY_SET(auto mode, choice<AuditMode>(item, printable(name),
                                           {{"enforce", AuditMode::kEnforce}, {"observe", AuditMode::kObserve}}));
      (*out_.patch.audit)[item.key] = mode;
      out_.patch.origins[name] = place(item.key_line);
    }
    return {};
  }

  Result<void> require(const YamlNode& node, const std::string& field) {
    TRY_SET(auto names, words(node, field));
    for (std::size_t i = 0; i < names.size(); ++i) {
      auto layer = layer_from(names[i]);
      if (!layer)
        return fail(node.items[i], field, cat(quoted(names[i]), " is no layer", did_you_mean(names[i], kLayerNames)));
      out_.patch.required.insert(*layer);
    }
    return {};
  }

  Result<void> oci_file(const YamlNode& node, const std::string& field) {
    TRY_SET(std::string path, word(node, field));
    if (path.empty()) return fail(node, field, "wants a path");
    auto slash = filename_.rfind('/');
    if (!path.starts_with('/') && slash != filename_.npos) path = cat(filename_.substr(0, slash + 1), path);
    out_.patch.oci_file = std::move(path);
    return {};
  }

  Result<void> stages(const YamlNode& node, const std::string& field) {
    // The parent's stages go as a whole: half of a pipeline is nobody's intention.
    out_.patch.stages_pre.emplace();
    out_.patch.stages_post.emplace();
    return each(node, field, kStages);
  }

  Result<void> extends(const YamlNode& node, const std::string& field) {
    TRY_SET(out_.extends, word(node, field));
    if (out_.extends.empty()) return fail(node, field, "wants a name or a path");
    out_.extends_origin = place(node.line);
    return {};
  }

  static const std::array<Key, 20> kTop;
  static const std::array<Key, 12> kLimits;
  static const std::array<Key, 4> kFilesystem;
  static const std::array<Key, 4> kNetwork;
  static const std::array<Key, 4> kSyscalls;
  static const std::array<Key, 2> kEnv, kImports, kStages, kUser;
  static const std::array<Key, 1> kAudit;
  static const std::array<Key, 6> kRules;

  std::string_view filename_;
  ProfileText out_;
};

// r: the reader, n: the value, f: the name of the field in messages.
#define KEY(name, expr)                                                                           \
  Key {                                                                                           \
    name, [](Reader& r, const YamlNode& n, const std::string& f) -> Result<void> { return expr; } \
  }

const std::array<Reader::Key, 20> Reader::kTop = {{
    KEY("name", r.text(n, f, r.out_.patch.name)),
    KEY("description", r.text(n, f, r.out_.patch.description)),
    KEY("language", r.text(n, f, r.out_.patch.language)),
    KEY("extends", r.extends(n, f)),
    KEY("limits", r.each(n, f, kLimits)),
    KEY("filesystem", r.each(n, f, kFilesystem)),
    KEY("network", r.each(n, f, kNetwork)),
    KEY("syscalls", r.each(n, f, kSyscalls)),
    KEY("env", r.each(n, f, kEnv)),
    KEY("rules", r.each(n, f, kRules)),
    KEY("imports", r.each(n, f, kImports)),
    KEY("blocklist", r.blocklist(n, f)),
    KEY("stages", r.stages(n, f)),
    KEY("preimport", r.replace(n, f, r.out_.patch.preimport)),
    KEY("audit", r.each(n, f, kAudit)),
    KEY("warm", r.truth_into(n, f, r.out_.patch.warm)),
    KEY("fast", r.truth_into(n, f, r.out_.patch.fast)),
    KEY("user", r.each(n, f, kUser)),
    KEY("require", r.require(n, f)),
    KEY("time_ns", r.truth_into(n, f, r.out_.patch.time_ns)),
}};
const std::array<Reader::Key, 12> Reader::kLimits = {{
    KEY("memory", r.parsed(n, f, r.out_.patch.limits.memory, parse_bytes)),
    KEY("disk", r.parsed(n, f, r.out_.patch.limits.disk, parse_bytes)),
    KEY("output", r.parsed(n, f, r.out_.patch.limits.output, parse_bytes)),
    KEY("cpu_time", r.parsed(n, f, r.out_.patch.limits.cpu_time, parse_duration)),
    KEY("wall", r.wall(n, f)),
    KEY("timeout", r.wall(n, f)),
    KEY("cpus", is_none(n) ? (r.out_.patch.limits.cpus = 0, Result<void>())
                    : r.parsed(n, f, r.out_.patch.limits.cpus, parse_cpus)),
    KEY("processes", r.parsed(n, f, r.out_.patch.limits.processes, parse_count)),
    KEY("open_files", r.parsed(n, f, r.out_.patch.limits.open_files, parse_count)),
    KEY("stack", r.parsed(n, f, r.out_.patch.limits.stack, parse_bytes)),
    KEY("address_space", is_none(n) ? (r.out_.patch.limits.address_space.emplace(), Result<void>())
                                    : r.parsed(n, f, r.out_.patch.limits.address_space.emplace(), parse_bytes)),
    Key{"on_output", [](Reader& r, const YamlNode& n, const std::string& f) -> Result<void> {
          using enum OnOutput;
          TRY_SET(r.out_.patch.on_output, r.choice<OnOutput>(n, f, {{"kill", kKill}, {"truncate", kTruncate}}));
          return {};
        }},
}};
const std::array<Reader::Key, 4> Reader::kFilesystem = {{
    KEY("read", r.grants(n, f, Access::kRead)),
    KEY("write", r.grants(n, f, Access::kWrite)),
    Key{"deny",
        [](Reader& r, const YamlNode& n, const std::string& f) -> Result<void> {
          TRY_SET(auto patterns, r.words(n, f));
          for (std::size_t i = 0; i < patterns.size(); ++i)
            r.out_.patch.deny.push_back({patterns[i], r.place(n.items[i].line)});
          return {};
        }},
    KEY("tmp", r.truth_into(n, f, r.out_.patch.writable_scratch)),
}};
const std::array<Reader::Key, 4> Reader::kNetwork = {{
    Key{"mode",
        [](Reader& r, const YamlNode& n, const std::string& f) -> Result<void> {
          using enum NetworkMode;
          TRY_SET(r.out_.patch.network_mode,
                  r.choice<NetworkMode>(n, f, {{"none", kNone}, {"proxy", kProxy}, {"host", kHost}}));
          return {};
        }},
    Key{"rules",
        [](Reader& r, const YamlNode& n, const std::string& f) -> Result<void> {
          using enum RuleMode;
          TRY_SET(
              r.out_.patch.network_rules,
              r.choice<RuleMode>(
                  n, f, {{"allowlist", kAllowlist}, {"blocklist", kBlocklist}, {"open", kOpen}, {"closed", kClosed}}));
          return {};
        }},
    KEY("allow", r.append(n, f, r.out_.patch.network_allow)),
    KEY("block", r.append(n, f, r.out_.patch.network_block)),
}};
const std::array<Reader::Key, 4> Reader::kSyscalls = {{
    Key{"base",
        [](Reader& r, const YamlNode& n, const std::string& f) -> Result<void> {
          TRY_SET(r.out_.patch.syscalls_base,
                  r.choice<std::string>(n, f, {{"default", "default"}, {"strict", "strict"}}));
          return {};
        }},
    KEY("allow", r.append(n, f, r.out_.patch.syscalls_allow)),
    KEY("deny", r.append(n, f, r.out_.patch.syscalls_deny)),
    KEY("file", r.oci_file(n, f)),
}};
const std::array<Reader::Key, 2> Reader::kEnv = {{
    KEY("pass", r.append(n, f, r.out_.patch.env_pass)),
    KEY("set", r.env_set(n, f)),
}};
const std::array<Reader::Key, 2> Reader::kImports = {{
    KEY("allowed", r.replace(n, f, r.out_.patch.imports_allowed)),
    KEY("additional", r.append(n, f, r.out_.patch.imports_additional)),
}};
const std::array<Reader::Key, 2> Reader::kStages = {{
    KEY("pre", r.replace(n, f, r.out_.patch.stages_pre)),
    KEY("post", r.replace(n, f, r.out_.patch.stages_post)),
}};
const std::array<Reader::Key, 2> Reader::kUser = {{
    KEY("uid", r.parsed(n, f, r.out_.patch.uid, parse_id)),
    KEY("gid", r.parsed(n, f, r.out_.patch.gid, parse_id)),
}};
const std::array<Reader::Key, 1> Reader::kAudit = {{
    KEY("mode", r.audit_mode(n, f)),
}};
const std::array<Reader::Key, 6> Reader::kRules = {{
    Key{"level",
        [](Reader& r, const YamlNode& n, const std::string& f) -> Result<void> {
          using enum VerifyLevel;
          TRY_SET(r.out_.patch.rules_level, r.choice<VerifyLevel>(n, f, {{"default", kDefault}, {"strict", kStrict}}));
          return {};
        }},
    KEY("off", r.append(n, f, r.out_.patch.rules_off)),
    KEY("functions", r.append(n, f, r.out_.patch.rules_functions)),
    KEY("modules", r.append(n, f, r.out_.patch.rules_modules)),
    KEY("patterns", r.append(n, f, r.out_.patch.rules_patterns)),
    KEY("allowed_paths", r.append(n, f, r.out_.patch.rules_allowed_paths)),
}};
#undef KEY

}  // namespace

Result<ProfileText> read_profile_text(std::string_view yaml, std::string_view filename) {
  TRY_SET(YamlNode root, parse_yaml(yaml, filename));
  return Reader(filename).read(root);
}

}  // namespace hotcell
