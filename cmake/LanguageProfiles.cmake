# src/languages/*/profiles/*.yaml become constants in the program, found by name like the presets.
set(profiles_out ${PROJECT_BINARY_DIR}/generated/language_profiles.cc)
file(GLOB profile_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/languages/*/profiles/*.yaml)
set(profile_rows "")
foreach(f IN LISTS profile_files)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${f})
  file(READ ${f} profile_text)
  get_filename_component(profile_name ${f} NAME_WE)
  string(APPEND profile_rows "    BuiltInProfile{\"${profile_name}\", R\"yaml(${profile_text})yaml\"},\n")
endforeach()
list(LENGTH profile_files profile_count)
file(CONFIGURE OUTPUT ${profiles_out} @ONLY CONTENT "// Made from src/languages/*/profiles/*.yaml.
#include <array>

#include \"languages/plugins.h\"

namespace hotcell {

std::span<const BuiltInProfile> language_profiles() {
  static constexpr std::array<BuiltInProfile, ${profile_count}> kProfiles = {
${profile_rows}  };
  return kProfiles;
}

}  // namespace hotcell
")
target_sources(hotcell_languages PRIVATE ${profiles_out})
