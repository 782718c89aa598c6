#include "languages/common/language_common.h"

#include <gtest/gtest.h>

namespace hotcell {
namespace {

std::vector<std::string> libraries(std::string text) {
  Sources sources;
  sources.main = "a.cpp";
  sources.files.push_back({"a.cpp", std::move(text)});
  return libraries_of_headers(sources);
}

TEST(LibrariesOfHeaders, TheLinkerIsToldWhatTheHeadersNeed) {
  using V = std::vector<std::string>;
  EXPECT_EQ(libraries("#include<openssl/md5.h>\nint main() {}\n"), (V{"-lssl", "-lcrypto"}));
  EXPECT_EQ(libraries("#  include < zlib.h>\n#include <openssl/sha.h>\n#include <openssl/evp.h>\n"),
            (V{"-lz", "-lssl", "-lcrypto"}));
  EXPECT_EQ(libraries("#include <gmpxx.h>\n"), (V{"-lgmpxx", "-lgmp"}));
}

TEST(LibrariesOfHeaders, NothingElseReachesTheCommandLine) {
  EXPECT_TRUE(libraries("#include <vector>\n#include <boost/any.hpp>\n").empty());
  EXPECT_TRUE(libraries("#include \"openssl/md5.h\"\n").empty());
  EXPECT_TRUE(libraries("#include <-fplugin=x.so>\n#include <x.so>\ninclude <").empty());
}

}  // namespace
}  // namespace hotcell
