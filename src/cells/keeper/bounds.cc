#include "cells/keeper/bounds.h"

#include <limits.h>
#include <stdlib.h>

#include <algorithm>

#include "base/strings.h"
#include "core/policy/patch.h"

namespace hotcell::cells {
namespace {

struct Verb {
  std::string_view name, fields;  // separated by blanks; "label." is a beginning
  bool looks = false;
};

// What the doors of the daemon need. Deliberately not here: clean (it would take cells that are none of its business), bind,
// end, and every field that names a file of this host.
constexpr Verb kVerbs[] = {
    {"create", "name project policy label. ttl_ns idle_pause_ns stopped decisions phases own_disk secret. filling", false},
    {"filled", "", false},
    {"list", "label.", true},
    {"inspect", "", false},
    {"exec", "workdir timeout_ns detach", false},
    {"kill", "", true},     // of the client's own executions
    {"drained", "", true},  // the same
    {"pause", "", false},
    {"resume", "", false},
    {"start", "secret.", false},
    {"stop", "", false},
    {"rm", "", false},
    {"diff", "format patches", false},
    {"apply", "format force dry_run", false},  // what is protected in a project is for its owner to overwrite
    {"discard", "", false},
    {"snapshot", "label", false},
    {"snapshots", "", false},
    {"snapshot_rm", "", false},
    {"restore", "label name stopped", false},
    {"fork", "name stopped", false},
    {"usage", "", false},
    {"events", "", false},
    {"seal", "", false},
    {"network", "allow block", false},
    {"questions", "all", false},
    {"answer", "question yes by", false},
    {"grants", "", false},
    {"grant", "class pattern ttl_ns by", false},
    {"revoke", "pattern by", false},
    {"shell.open", "session kind reuse rows columns", false},
    {"shell.run", "session timeout_ns stop_on_input", false},
    {"shell.wait", "session stop_on_input", false},
    {"shell.input", "session", false},
    {"shell.resize", "session rows columns", false},
    {"shell.interrupt", "session", false},
    {"shell.history", "session", false},
    {"shell.attach", "session", false},
    {"shell.close", "session", false},
    {"context.create", "context language", false},
    {"context.run", "context timeout_ns json", false},
    {"context.interrupt", "context", false},
    {"context.restart", "context", false},
    {"context.close", "context", false},
    {"context.list", "", false},
};

const Verb* find_verb(std::string_view name) {
  auto it = std::find_if(std::begin(kVerbs), std::end(kVerbs), [&](const Verb& v) { return v.name == name; });
  return it == std::end(kVerbs) ? nullptr : it;
}

// Those that take away, the more of them the less is left: "bytes=", or nothing.
std::string_view limit_name(std::string_view word) {
  for (std::string_view name : {"bytes=", "rate=", "connections=", "time=", "life="})
    if (word.starts_with(name)) return name;
  return {};
}

// What the cell's proxy lets through at most, word by word, against what the configuration does: nothing more, and nothing that
// is blocked or limited there left out.
bool is_within(std::string_view words, const std::vector<std::string>& most) {
  auto has = [](const auto& list, std::string_view word) { return std::find(list.begin(), list.end(), word) != list.end(); };
  auto mine = split(words, '\n');
  if (most.empty()) return false;
  for (auto word : mine)
    if (!word.empty() && !word.starts_with("block=") && limit_name(word).empty() && word != "by=cell" && !has(most, word)) return false;
  return std::all_of(most.begin(), most.end(), [&](const std::string& word) {
    if (word.starts_with("block=")) return has(mine, word);
    const auto name = limit_name(word);
    if (name.empty()) return true;
    const auto allowed = parse_u64(std::string_view(word).substr(name.size()));
    return std::any_of(mine.begin(), mine.end(), [&](std::string_view m) {
      auto said = m.starts_with(name) ? parse_u64(m.substr(name.size())) : std::nullopt;
      return said && allowed && *said <= *allowed && *said > 0;
    });
  });
}

Error beyond(std::string what) { return make_error(ErrorCode::kDenied, cat(what, " is more than this daemon's configuration allows")); }

}  // namespace

Ask bind_ask(const Bounds& bounds) {
  const remote::Ceiling& c = bounds.ceiling;
  Ask ask;
  ask.verb = "bind";
  ask.fields = {{"memory", cat(c.memory.n)}, {"disk", cat(c.disk.n)}, {"output", cat(c.output.n)}, {"processes", cat(c.processes)},
                {"wall", cat(static_cast<std::uint64_t>(c.wall.count()))}, {"host_network", c.host_network ? "1" : "0"}, {"most", cat(bounds.most)}};
  for (const auto& path : c.read) ask.words.push_back(cat("r", path));
  for (const auto& path : c.write) ask.words.push_back(cat("w", path));
  for (const auto& path : bounds.projects) ask.words.push_back(cat("p", path));
  ask.fields["network_words"] = join(bounds.network_words, "\n");
  if (!bounds.decisions.empty()) ask.fields["decisions"] = bounds.decisions;
  return ask;
}

Result<Bounds> read_bounds(const Ask& ask) {
  Bounds out;
  auto number = [&](const char* name) -> Result<std::uint64_t> {
    auto it = ask.fields.find(name);
    auto n = it == ask.fields.end() ? std::nullopt : parse_u64(it->second);
    if (!n) return make_error(ErrorCode::kInvalid, cat("bind: no ", std::string_view(name)));
    return *n;
  };
  remote::Ceiling& c = out.ceiling;
  TRY_SET(c.memory.n, number("memory"));
  TRY_SET(c.disk.n, number("disk"));
  TRY_SET(c.output.n, number("output"));
  TRY_SET(std::uint64_t wall, number("wall"));
  TRY_SET(std::uint64_t processes, number("processes"));
  TRY_SET(std::uint64_t host_network, number("host_network"));
  TRY_SET(out.most, number("most"));
  if (out.most == 0 || out.most > kMostMaxCells) return make_error(ErrorCode::kInvalid, "bind: most");
  c.wall = Nanoseconds(static_cast<std::int64_t>(std::min<std::uint64_t>(wall, INT64_MAX)));
  c.processes = static_cast<std::uint32_t>(std::min<std::uint64_t>(processes, UINT32_MAX));
  c.host_network = host_network == 1;
  if (auto it = ask.fields.find("network_words"); it != ask.fields.end())
    for (auto word : split(it->second, '\n'))
      if (!word.empty()) out.network_words.emplace_back(word);
  if (auto it = ask.fields.find("decisions"); it != ask.fields.end()) out.decisions = it->second;
  for (const auto& word : ask.words) {
    if (word.size() < 2 || word[1] != '/') return make_error(ErrorCode::kInvalid, cat("bind: ", printable(word)));
    auto& list = word[0] == 'r' ? c.read : word[0] == 'w' ? c.write : out.projects;
    if (word[0] != 'r' && word[0] != 'w' && word[0] != 'p') return make_error(ErrorCode::kInvalid, cat("bind: ", printable(word)));
    list.push_back(word.substr(1));
  }
  return out;
}

bool only_looks(std::string_view verb) {
  const Verb* known = find_verb(verb);
  return known != nullptr && known->looks;
}

Result<void> check_ask(const Ask& ask) {
  const Verb* known = find_verb(ask.verb);
  if (known == nullptr) return make_error(ErrorCode::kDenied, cat("the daemon may not ask the keeper to ", printable(ask.verb)));
  auto names = split(known->fields, ' ');
  for (const auto& [name, value] : ask.fields) {
    bool fits = std::any_of(names.begin(), names.end(), [&](std::string_view n) {
      return !n.empty() && (n == name || (n.ends_with('.') && std::string_view(name).starts_with(n)));
    });
    if (!fits) return make_error(ErrorCode::kDenied, cat("the daemon may not say ", printable(name), " to ", ask.verb));
  }
  return {};
}

Result<void> check_cell(const Bounds& bounds, const Policy& policy, const std::string& project, const std::string& network_words) {
  TRY(remote::check(bounds.ceiling, policy));
  if (policy.network.mode == NetworkMode::kProxy && !is_within(network_words, bounds.network_words)) return beyond("the cell's network");
  if (project.empty()) return {};
  // By where it really is: a link below an allowed folder may point anywhere.
  char real[PATH_MAX];
  if (::realpath(project.c_str(), real) == nullptr) return Error{ErrorCode::kDenied, errno, cat("the project ", printable(project), ": ", ::strerror(errno))};
  for (const auto& root : bounds.projects) {
    char below[PATH_MAX];
    if (::realpath(root.c_str(), below) != nullptr && path_contains(below, real)) return {};
  }
  return beyond(cat("a cell over ", printable(project)));
}

}  // namespace hotcell::cells
