// Every input the fuzzer ever learnt from, through the same checks as in fuzz/profile_fuzz.cc.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/source_folder_testing.h"
#include "core/policy/profile.h"
#include "core/policy/validate.h"

namespace hotcell {
namespace {

TEST(ProfileReplay, EveryCorpusFileIsAValidPolicyOrAnErrorThatNamesItsFile) {
  auto folder = std::filesystem::path(source_path("fuzz/corpus/profile"));
  ProfileSearch search;
  search.read_files = false;
  int files = 0, accepted = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    std::string text = bytes.str();
    ++files;
    auto policy = parse_profile(text, "corpus.yaml", search);
    if (!policy.ok()) {
      EXPECT_TRUE(policy.error().message.starts_with("corpus.yaml:")) << entry.path() << ": " << policy.error().message;
      continue;
    }
    ++accepted;
    EXPECT_TRUE(validate(policy.value()).ok()) << entry.path();
    auto again = parse_profile(to_yaml(policy.value()), "again.yaml", search);
    ASSERT_TRUE(again.ok()) << entry.path() << ": " << again.error().message;
    EXPECT_EQ(again.value(), policy.value()) << entry.path();
  }
  EXPECT_GE(files, 15);
  EXPECT_GE(accepted, 3);
}

}  // namespace
}  // namespace hotcell
