// Profiles: YAML files that yield a Policy.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/policy/patch.h"
#include "hotcell/policy.h"
#include "hotcell/result.h"

namespace hotcell {

struct BuiltInProfile {
  std::string_view name, yaml;
};

// Where names are looked up, nearest first: project, user, system, then the built-in presets. An empty folder is
// skipped.
//  - A file outside `project` never finds a name inside it, so that a project cannot slip under a user's own profile.
//  - `extends: NAME` in NAME.yaml means the next NAME further out.
//  - A profile with any part from `project` may only tighten: the user's, system's or built-in profile of the same
//  name; where
//    there is none, the user's or system's `ceiling.yaml`; else the `default` preset. Without `extends` it starts from
//    there.
struct ProfileSearch {
  std::string project;  // <project>/.hotcell
  std::string user;     // ~/.config/hotcell/profiles
  std::string system;   // /etc/hotcell/profiles
  // False for text that comes from outside (a request, a fuzzer): `extends` then reaches the presets only, and no file.
  bool read_files = true;
  // Profiles that come with the program, after the presets: those of the languages.
  std::span<const BuiltInProfile> built_in = {};
};
ProfileSearch standard_search(std::string_view cwd, std::string_view home);

struct LoadedProfile {
  Policy policy;
  Origins origins;                 // for errors, warnings and explain
  std::vector<std::string> chain;  // what it was made of, itself first: files, and "preset NAME"
};

// A word is a name, anything with a slash or ending in .yaml or .yml a path. Everything returned has passed validate().
Result<Policy> load_profile(std::string_view name_or_path, const ProfileSearch& search);
Result<LoadedProfile> load_profile_details(std::string_view name_or_path, const ProfileSearch& search);

// `filename` names the text in messages; relative paths in the text are relative to its folder.
Result<Policy> parse_profile(std::string_view yaml, std::string_view filename, const ProfileSearch& search);
Result<LoadedProfile> parse_profile_details(std::string_view yaml, std::string_view filename,
                                            const ProfileSearch& search);

struct ProfileEntry {
  std::string name;
  std::string source;  // a path, or "built-in"
  bool operator==(const ProfileEntry&) const = default;
};
// Nearest first; a name that is hidden by a nearer one is left out.
std::vector<ProfileEntry> list_profiles(const ProfileSearch& search);

// One file alone: what it says, before it is laid over what it extends.
struct ProfileText {
  PolicyPatch patch;
  std::string extends;
  std::string extends_origin;
};
Result<ProfileText> read_profile_text(std::string_view yaml, std::string_view filename);

// The whole policy as one profile that extends nothing; parse_profile gives the same policy back. (Bytes that are no
// UTF-8, which only the command line can bring in, have no spelling in YAML and appear as \xNN.)
std::string to_yaml(const Policy& policy);

}  // namespace hotcell
