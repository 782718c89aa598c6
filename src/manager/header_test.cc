// A header that was read before: the same program, sooner.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/strings.h"
#include "manager/pipeline.h"

namespace hotcell {
namespace {

namespace fs = std::filesystem;

class ReadyHeaders : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* tmp = ::getenv("TMPDIR");
    std::string name = cat(tmp == nullptr ? "/tmp" : tmp, "/hotcell-header-XXXXXX");
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    dir_ = name;
    auto made = Launcher::create({});
    ASSERT_TRUE(made.ok()) << made.error().message;
    launcher_ = std::move(made).value();
  }
  void TearDown() override {
    launcher_.reset();
    fs::remove_all(dir_);
  }

  struct Made {
    CompileReport compile;
    Report run;
  };
  Made run(const std::string& text) {
    ProgramSource source{find_language("cpp"), {}};
    source.sources.main = "main.cpp";
    source.sources.files.push_back({"main.cpp", text});
    Pipeline pipeline(*launcher_, {.verify = false, .cache = true, .cache_folder = dir_ + "/cache", .cancelled = {}, .on_event = {}});
    Policy policy = default_policy();
    Request request;
    EXPECT_TRUE(plan_run(source, policy, {true, false}, request).ok());
    auto prepared = pipeline.prepare(source, policy, request);
    EXPECT_TRUE(prepared.ok()) << (prepared.ok() ? "" : prepared.error().message);
    Made out;
    if (!prepared.ok()) return out;
    if (!prepared.value().stopped) {
      auto report = launcher_->run(policy, std::move(request));
      EXPECT_TRUE(report.ok()) << (report.ok() ? "" : report.error().message);
      if (report.ok()) out.run = std::move(report).value();
    }
    pipeline.complete(std::move(prepared).value(), out.run);
    if (out.run.compile) out.compile = *out.run.compile;
    return out;
  }
  std::string header() const {
    for (const auto& e : fs::recursive_directory_iterator(dir_))
      if (e.path().filename() == "stdc++.h.gch") return e.path();
    return {};
  }
  static bool has_header(const CompileReport& r) {
    for (const auto& word : r.command)
      if (word.starts_with("-I/")) return true;
    return false;
  }

  std::string dir_;
  std::unique_ptr<Launcher> launcher_;
};

std::string program(const char* before, int number) {
  return cat(before, "#include <bits/stdc++.h>\nint main() { std::vector<int> v{", number, ", 9}; std::sort(v.begin(), v.end()); std::cout << v[0] << '\\n'; }\n");
}

TEST_F(ReadyHeaders, AreMadeOnceAndTheCompilerTakesThem) {
  auto first = run(program("", 1));
  EXPECT_EQ(first.run.out, "1\n") << first.compile.err;
  ASSERT_NE(header(), "");
  const auto written = fs::last_write_time(header());
  auto second = run(program("// a remark\n", 2));
  EXPECT_EQ(second.run.out, "2\n") << second.compile.err;
  EXPECT_TRUE(has_header(second.compile));
  EXPECT_FALSE(second.compile.cached);
  EXPECT_EQ(fs::last_write_time(header()), written);
  // That it is read and not passed over: with half of it, taken for whole, the compiler fails, unless something stands before.
  fs::resize_file(header(), 1 << 20);
  std::ofstream(fs::path(header()).parent_path().parent_path().parent_path() / ".sizes") << (1 << 20) << " include/bits/stdc++.h.gch\n";
  auto third = run(program("", 3));
  EXPECT_NE(third.compile.err.find("PCH"), std::string::npos) << third.compile.err;
  EXPECT_EQ(run(program("int before;\n", 4)).run.out, "4\n");
}

TEST_F(ReadyHeaders, OneThatIsDamagedIsMadeAnew) {
  run(program("", 1));
  fs::resize_file(header(), 1 << 20);
  auto again = run(program("", 2));
  EXPECT_EQ(again.run.out, "2\n") << again.compile.err;
  EXPECT_GT(fs::file_size(header()), 1u << 20);
}

TEST_F(ReadyHeaders, AreNotMadeForWhoDoesNotAsk) {
  auto other = run("#include <cstdio>\nint main() { std::puts(\"1\"); }\n");
  EXPECT_EQ(other.run.out, "1\n");
  EXPECT_FALSE(has_header(other.compile));
  EXPECT_EQ(header(), "");
}

}  // namespace
}  // namespace hotcell
