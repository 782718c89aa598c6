// The suites' main: a test program, or, called again inside a cell, the program that a test wants run there.
#include <gtest/gtest.h>

#include <cstdio>
#include <string_view>

#include "support/cells.h"

int main(int argc, char** argv) {
  constexpr std::string_view kFlag = "--program=";
  if (argc > 1 && std::string_view(argv[1]).starts_with(kFlag)) {
    auto program = hotcell::testing::find_program(std::string_view(argv[1]).substr(kFlag.size()));
    if (program == nullptr) {
      std::fprintf(stderr, "no program of that name: %s\n", argv[1]);
      return 99;
    }
    return program();
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
