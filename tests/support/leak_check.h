// What a test must not leave behind: processes, mounts, cgroups, descriptors, temporary files. A namespace lives by a
// process, a descriptor or a mount, so those three account for namespaces too.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace hotcell::testing {

// kind → names. Only what belongs to this process: others run cells on the same machine.
using Belongings = std::map<std::string, std::set<std::string>>;
Belongings belongings();

// Base of every fixture that starts cells. What is new at the end has two seconds to go away (a cgroup stays busy for
// a moment after its last process), then it fails the test.
class LeakCheck : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

 private:
  Belongings before_;
};

}  // namespace hotcell::testing
