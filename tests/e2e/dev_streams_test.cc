// Standard streams opened by name, as shell scripts do: they belong to the program's own user, whoever that is.
#include <gtest/gtest.h>

#include "e2e/cli.h"

namespace hotcell::testing {
namespace {

class NamedStreams : public E2e {};

TEST_F(NamedStreams, CanBeOpened) {
  auto called = hotcell(
      {"run", "--", "/bin/sh", "-c", "cat /dev/stdin; echo to stderr > /dev/stderr; echo to stdout > /dev/stdout"},
      "from stdin\n");
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_EQ(called.out, "from stdin\nto stdout\n");
  EXPECT_EQ(called.err, "to stderr\n");
}

}  // namespace
}  // namespace hotcell::testing
