// The configuration as text: YAML that can be read again, JSON, the commented example.
#include <algorithm>

#include "base/json_write.h"
#include "base/strings.h"
#include "server/config/fields.h"
#include "server/config/load.h"

namespace hotcell::server {
namespace {

constexpr std::size_t kWidth = 100, kOriginColumn = 40;

bool is_plain(std::string_view text) {
  if (text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL") return false;
  auto fine = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '/' || c == '-' || c == ':';
  };
  return std::all_of(text.begin(), text.end(), fine) && text.front() != '-' && text.front() != ':' &&
         text.back() != ':';
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string value_text(const Config& config, const Field& field) {
  auto values = field_values(config, field);
  if (!is_list(field)) return is_plain(values[0]) ? values[0] : in_quotes(values[0]);
  std::string out = "[";
  for (const auto& v : values) {
    // Inside [ ] a colon may be taken for a key.
    bool bare = is_plain(v) && v.find(':') == v.npos;
    out += cat(out.size() > 1 ? ", " : "", bare ? v : in_quotes(v));
  }
  return out + "]";
}

std::string_view group_of(const Field& field) {
  auto dot = field.key.find('.');
  return dot == field.key.npos ? std::string_view() : field.key.substr(0, dot);
}
std::string_view name_of(const Field& field) { return field.key.substr(field.key.rfind('.') + 1); }

void append_comment(std::string& out, std::string_view text, std::size_t indent) {
  std::string line = cat(std::string(indent, ' '), "#");
  for (auto word : split(text, ' ')) {
    if (line.size() + 1 + word.size() > kWidth) {
      out += cat(line, "\n");
      line = cat(std::string(indent, ' '), "#");
    }
    line += cat(" ", word);
  }
  out += cat(line, "\n");
}

std::string origin_of(const Config& config, const Field& field) {
  auto found = config.origins.find(std::string(field.key));
  return found == config.origins.end() ? "default" : found->second;
}

}  // namespace

std::string config_yaml(const Config& config, bool origins) {
  std::string out;
  std::string_view group;
  for (const auto& field : fields()) {
    auto in = group_of(field);
    if (in != group && !in.empty()) out += cat(in, ":\n");
    group = in;
    std::string line = cat(in.empty() ? "" : "  ", name_of(field), ": ", value_text(config, field));
    if (origins) {
      line += std::string(line.size() < kOriginColumn ? kOriginColumn - line.size() : 1, ' ');
      line += cat(" # ", printable(origin_of(config, field)));
    }
    out += cat(line, "\n");
  }
  return out;
}

std::string config_json(const Config& config, bool origins) {
  JsonWriter w;
  write_config(w, config, origins);
  return w.take();
}

void write_config(JsonWriter& w, const Config& config, bool origins) {
  std::string_view group;
  w.begin_object();
  for (const auto& field : fields()) {
    auto in = group_of(field);
    if (in != group) {
      if (!group.empty()) w.end_object();
      if (!in.empty()) {
        w.key(in);
        w.begin_object();
      }
      group = in;
    }
    auto values = field_values(config, field);
    w.key(name_of(field));
    if (is_list(field)) {
      w.begin_array();
      for (const auto& v : values) w.value(v);
      w.end_array();
    } else if (is_truth(field)) {
      w.value(values[0] == "true");
    } else if (std::holds_alternative<std::uint32_t Config::*>(field.member) ||
               std::holds_alternative<Parked>(field.member)) {
      w.value(parse_u64(values[0]).value_or(0));
    } else {
      w.value(values[0]);
    }
  }
  if (!group.empty()) w.end_object();
  if (origins) {
    w.key("origins");
    w.begin_object();
    for (const auto& field : fields()) w.field(field.key, origin_of(config, field));
    w.end_object();
  }
  w.end_object();
}

std::string config_example() {
  std::string out =
      "# What `hotcell serve` is told. Every key, with its default: a file may leave out any of them.\n"
      "# Read from /etc/hotcell/config.yaml, then ~/.config/hotcell/config.yaml; then variables count\n"
      "# (limits.timeout is HOTCELL_LIMITS_TIMEOUT, lists are separated by commas), then options of serve.\n"
      "# K, M and G are 1024-based; times are written 500ms, 10s, 5m or 1h.\n"
      "# `hotcell config check FILE` reads a file; `hotcell config show --origin` says what is in force, and why.\n";
  std::string_view group;
  const Config defaults;
  for (const auto& field : fields()) {
    auto in = group_of(field);
    if (in != group) out += cat("\n", in, ":\n");
    else if (in.empty()) out += '\n';
    group = in;
    std::string help(field.help);
    if (!field.choices.empty()) help += cat(" One of ", field.choices, ".");
    append_comment(out, help, in.empty() ? 0 : 2);
    out += cat(in.empty() ? "" : "  ", name_of(field), ": ", value_text(defaults, field), "\n");
  }
  return out;
}

}  // namespace hotcell::server
