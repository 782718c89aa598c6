// Finding profiles by name or path, and laying each over what it extends.
#include "core/policy/profile.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "base/strings.h"
#include "core/policy/suggest.h"
#include "core/policy/units.h"
#include "core/policy/validate.h"
#include "core/policy/yaml_tree.h"

namespace hotcell {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxChain = 16;

// Nearest first. A file is looked up from its own scope outwards, never inwards.
enum Scope : std::size_t { kProject, kUser, kSystem, kBuiltIn };

struct Source {
  std::string filename;  // as messages name it
  std::string identity;  // absolute and normalised: two spellings of one file are one link of a cycle
  std::string stem;
  Scope scope = kUser;
  bool from_project = false;  // a file of the project, or one that such a file leads to by its path
};

Error invalid(std::string_view where, std::string_view message) {
  return make_error(ErrorCode::kInvalid, where.empty() ? std::string(message) : cat(where, ": ", message));
}

bool is_path(std::string_view text) {
  return text.find('/') != text.npos || text.ends_with(".yaml") || text.ends_with(".yml");
}

// No slash and no leading dot: a name can never climb out of its folder.
bool is_name(std::string_view text) {
  auto word = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= 64 && word(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return word(c) || c == '.' || c == '_' || c == '-'; });
}

std::string absolute(std::string_view path) {
  std::error_code ec;
  auto full = fs::absolute(fs::path(path), ec);
  return (ec ? fs::path(path) : full).lexically_normal().string();
}

// Empty when there is no such file. Only regular files: a FIFO or a terminal would keep us waiting.
Result<std::optional<std::string>> read_file(const std::string& path) {
  std::error_code ec;
  auto status = fs::status(path, ec);
  if (status.type() == fs::file_type::not_found) return std::optional<std::string>();
  if (ec) return errno_error(printable(path), ec.value());
  if (!fs::is_regular_file(status)) return invalid(printable(path), "not a regular file");
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (!file) return errno_error(printable(path), errno);
  std::string text(kMaxProfileBytes + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  if (std::ferror(file.get())) return errno_error(printable(path), errno);
  return std::optional(std::move(text));  // one byte over the limit is enough for the parser to refuse it
}

class Loader {
 public:
  explicit Loader(const ProfileSearch& search) : search_(search) {}

  Result<LoadedProfile> from_text(std::string_view yaml, std::string_view filename) {
    LoadedProfile out;
    TRY(build(yaml, source_of_path(filename), out));
    TRY(validate(out.policy, out.origins));
    return out;
  }

  Result<LoadedProfile> from_name(std::string_view name_or_path, Scope first = kProject) {
    LoadedProfile out;
    TRY(resolve(name_or_path, first, "", false, out));
    TRY(validate(out.policy, out.origins));
    return out;
  }

 private:
  const std::string& folder(std::size_t scope) const {
    return scope == kProject ? search_.project : scope == kUser ? search_.user : search_.system;
  }

  Source source_of_path(std::string_view path) const {
    Source source{std::string(path), absolute(path), fs::path(path).stem().string(), kUser};
    if (holds(search_.project, source)) source.scope = kProject;
    source.from_project = source.scope == kProject;
    return source;
  }

  static bool holds(const std::string& folder, const Source& source) {
    return !folder.empty() && path_contains(absolute(folder), source.identity);
  }

  // `origin` is the line that asked for it, empty for the command line.
  Result<void> resolve(std::string_view what, Scope first, const std::string& origin, bool from_project,
                       LoadedProfile& out) {
    if (is_path(what)) {
      if (!search_.read_files) return invalid(origin, cat(quoted(what), ": files cannot be used here, only presets"));
      if (what.find('\0') != what.npos) return invalid(origin, cat(quoted(what), " has a NUL byte"));
      auto source = source_of_path(what);
      if (from_project && !holds(search_.user, source) && !holds(search_.system, source)) source.from_project = true;
      TRY_SET(auto text, context(origin, read_file(source.identity)));
      if (!text) return invalid(origin, cat("there is no profile file ", quoted(what)));
      return build(*text, source, out);
    }
    if (!is_name(what))
      return invalid(origin, cat(quoted(what), " is no name of a profile (letters, digits, dot, dash and underscore)"));
    TRY_SET(bool found, find(what, first, out));
    if (found) return {};
    ProfileSearch reachable = search_;
    if (first > kProject) reachable.project.clear();
    if (first > kUser) reachable.user.clear();
    std::vector<ProfileEntry> known = list_profiles(reachable);
    std::vector<std::string_view> names;
    for (const auto& entry : known) names.push_back(entry.name);
    auto error = invalid(origin, cat("there is no profile ", quoted(what), did_you_mean(what, names)));
    // Asked for by name, not named by a file: whoever asked is told apart from who wrote nonsense.
    if (origin.empty()) error.code = ErrorCode::kNotFound;
    return error;
  }

  template <typename T>
  static Result<T> context(const std::string& origin, Result<T> result) {
    return origin.empty() ? std::move(result) : std::move(result).context(origin);
  }

  Result<bool> find(std::string_view name, std::size_t first, LoadedProfile& out) {
    for (std::size_t scope = first; search_.read_files && scope < kBuiltIn; ++scope) {
      if (folder(scope).empty()) continue;
      std::string path = cat(folder(scope), "/", name, ".yaml");
      TRY_SET(auto text, read_file(path));
      if (!text) continue;
      Source source{path, absolute(path), std::string(name), static_cast<Scope>(scope), scope == kProject};
      TRY(build(*text, source, out));
      return true;
    }
    auto built_in = preset(name);
    if (!built_in) return find_embedded(name, out);
    out.policy = *std::move(built_in);
    out.chain.push_back(cat("preset ", name));
    return true;
  }

  Result<bool> find_embedded(std::string_view name, LoadedProfile& out) {
    for (const auto& entry : search_.built_in) {
      if (entry.name != name) continue;
      TRY(build(entry.yaml, {cat(name, ".yaml"), cat("built-in ", name), std::string(name), kBuiltIn, false}, out));
      return true;
    }
    return false;
  }

  Result<void> build(std::string_view yaml, const Source& source, LoadedProfile& out) {
    TRY_SET(ProfileText text, read_profile_text(yaml, source.filename));
    const std::string& origin = text.extends_origin;
    // It names code that runs before the program comes, in a process that others' programs start from.
    if (source.from_project && text.patch.preimport)
      return invalid(printable(origin_of(text.patch.origins, "preimport")),
                     "preimport: only the user's and the system's profiles may say it, never a project's");
    if (std::find(path_.begin(), path_.end(), source.identity) != path_.end())
      return invalid(source.filename, cat("extends itself, by way of ", join(path_, ", ")));
    if (path_.size() >= kMaxChain)
      return invalid(printable(source.filename), cat("extended more than ", kMaxChain, " deep"));
    path_.push_back(source.identity);
    out.chain.push_back(source.filename);

    LoadedProfile most;
    if (source.scope == kProject) TRY(ceiling_for(source.stem, most));
    if (!text.extends.empty()) {
      TRY(resolve_parent(text.extends, source, origin, out));
    } else {
      out.policy = source.scope == kProject ? most.policy : default_policy();
    }
    out.policy.name = is_name(source.stem) ? source.stem : "profile";
    out.policy.description.clear();
    apply(text.patch, out.policy, out.origins);
    if (source.scope == kProject) {
      TRY(tighten(most.policy, out.policy, out.origins));
      // What somebody wrote down as the most is the most for a language's runtime, too, though the project says nothing.
      for (std::string_view field : {"limits.processes", "limits.memory"})
        if (auto from = origin_of(most.origins, field); !from.empty()) out.origins.emplace(field, from);
    }
    path_.pop_back();
    return {};
  }

  Result<void> resolve_parent(const std::string& parent, const Source& source, const std::string& origin,
                              LoadedProfile& out) {
    if (is_path(parent)) {
      auto slash = source.filename.rfind('/');
      bool relative = !parent.starts_with('/') && slash != std::string::npos;
      return resolve(relative ? cat(source.filename.substr(0, slash + 1), parent) : parent, source.scope, origin,
                     source.from_project, out);
    }
    auto first = parent == source.stem ? static_cast<Scope>(source.scope + 1) : source.scope;
    return resolve(parent, first, origin, source.from_project, out);
  }

  Result<void> ceiling_for(const std::string& name, LoadedProfile& most) {
    Loader trusted(search_);
    trusted.path_ = path_;  // a user's profile that extends this very file would otherwise send us round for ever
    if (is_name(name)) {
      TRY_SET(bool found, trusted.find(name, kUser, most));
      if (found) return {};
    }
    TRY_SET(bool found, trusted.find("ceiling", kUser, most));
    if (!found) most.policy = default_policy();
    return {};
  }

  const ProfileSearch& search_;
  std::vector<std::string> path_;
};

}  // namespace

ProfileSearch standard_search(std::string_view cwd, std::string_view home) {
  ProfileSearch search;
  if (!cwd.empty()) search.project = cat(cwd, "/.hotcell");
  if (!home.empty()) search.user = cat(home, "/.config/hotcell/profiles");
  search.system = "/etc/hotcell/profiles";
  return search;
}

Result<LoadedProfile> load_profile_details(std::string_view name_or_path, const ProfileSearch& search) {
  return Loader(search).from_name(name_or_path);
}
Result<LoadedProfile> parse_profile_details(std::string_view yaml, std::string_view filename,
                                            const ProfileSearch& search) {
  return Loader(search).from_text(yaml, filename);
}
Result<Policy> load_profile(std::string_view name_or_path, const ProfileSearch& search) {
  TRY_SET(LoadedProfile loaded, load_profile_details(name_or_path, search));
  return std::move(loaded.policy);
}
Result<Policy> parse_profile(std::string_view yaml, std::string_view filename, const ProfileSearch& search) {
  TRY_SET(LoadedProfile loaded, parse_profile_details(yaml, filename, search));
  return std::move(loaded.policy);
}

std::vector<ProfileEntry> list_profiles(const ProfileSearch& search) {
  std::vector<ProfileEntry> out;
  auto add = [&](std::string name, std::string source) {
    if (std::none_of(out.begin(), out.end(), [&](const auto& e) { return e.name == name; }))
      out.push_back({std::move(name), std::move(source)});
  };
  for (const auto* folder : {&search.project, &search.user, &search.system}) {
    if (folder->empty() || !search.read_files) continue;
    std::vector<std::string> names;
    std::error_code ec;
    // A folder that is missing or closed to us has no profiles to list; loading one by name says why.
    for (fs::directory_iterator it(*folder, ec), end; !ec && it != end; it.increment(ec))
      if (it->path().extension() == ".yaml" && is_name(it->path().stem().string()))
        names.push_back(it->path().stem().string());
    std::sort(names.begin(), names.end());
    for (auto& name : names) add(name, cat(*folder, "/", name, ".yaml"));
  }
  for (auto name : preset_names()) add(std::string(name), "built-in");
  for (const auto& entry : search.built_in) add(std::string(entry.name), "built-in");
  return out;
}

}  // namespace hotcell
