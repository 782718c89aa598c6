// What --file brings in beside a program is verified like the program itself.
#include <gtest/gtest.h>

#include "e2e/cli.h"
#include "e2e/json.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

class LanguageFiles : public E2e {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    std::string path = dir_.path() + "/" + name;
    write_text(path, text);
    return path;
  }
  TempDir dir_;
};

TEST_F(LanguageFiles, AHostileModuleKeepsItsProgramFromStarting) {
  auto main_py = file("main.py", "import helper\nprint(helper.word())\n");
  auto good = file("helper.py", "def word():\n    return 'fine'\n");
  auto ran = hotcell({"run", "--profile", "strict", "--file", good, main_py});
  EXPECT_EQ(ran.out, "fine\n") << ran.describe();
  auto bad = file("helper.py", "import os\ndef word():\n    os.system('id')\n");
  auto refused = hotcell({"run", "--profile", "strict", "--file", bad, main_py});
  EXPECT_EQ(refused.code, 125) << refused.describe();
  EXPECT_EQ(refused.out, "");
  EXPECT_NE(refused.err.find("helper.py:3:5: "), std::string::npos) << refused.describe();
  EXPECT_NE(refused.err.find("1 error in helper.py"), std::string::npos) << refused.describe();
  auto unread = hotcell({"run", "--profile", "strict", "--no-verify", "--file", bad, main_py});
  EXPECT_NE(unread.code, 125) << "without verification the walls alone hold it: " << unread.describe();
}

TEST_F(LanguageFiles, UnderDefaultItIsReportedAndStarts) {
  auto called = hotcell({"run", "--json", "--file", file("helper.py", "import ctypes\nctypes.CDLL(None).system(b'true')\n"),
                         "--file", file("rows.csv", "1,2\n"), file("main.py", "print(1)\n")});
  EXPECT_EQ(called.code, 0) << called.describe();
  Json json(called.out);
  bool helper = false, named = false;
  for (std::size_t i = 0; i < json.size("findings"); ++i) {
    auto at = "findings/" + std::to_string(i);
    helper = helper || (json.text(at + "/file") == "helper.py" && json.text(at + "/severity") == "error");
    named = named || (json.text(at + "/rule") == "not-read" && json.text(at + "/message").find("rows.csv") != std::string::npos);
  }
  EXPECT_TRUE(helper && named) << called.out;
}

TEST_F(LanguageFiles, BesideAScriptWithAFirstLineToo) {
  auto script = file("tool", "#!/usr/bin/python3\nimport helper\n");
  auto called = hotcell({"run", "--profile", "strict", "--file", file("helper.py", "import os\nos.system('id')\n"), script});
  EXPECT_EQ(called.code, 125) << called.describe();
  EXPECT_NE(called.err.find("helper.py"), std::string::npos) << called.describe();
}

// Deno is started with its own permissions as narrow as the policy; the cell would let it do these.
TEST_F(LanguageFiles, DenoMayNoMoreThanThePolicy) {
  auto deno = [](const std::string& code, std::vector<std::string> more = {}) {
    std::vector<std::string> args = {"run"};
    args.insert(args.end(), more.begin(), more.end());
    for (auto word : {"--language", "deno", "-c"}) args.emplace_back(word);
    args.push_back(code);
    return hotcell(args, "three\n");
  };
  auto ran = hotcell({"run", "--language", "deno", file("a.ts", "const d = new Uint8Array(9); const n: number | null = Deno.stdin.readSync(d);\n"
                      "console.log('hello', ...Deno.args, new TextDecoder().decode(d.subarray(0, n ?? 0)).trim());\nDeno.exit(7);\n"), "one"}, "three\n");
  EXPECT_EQ(ran.code, 7) << ran.describe();
  EXPECT_EQ(ran.out, "hello one three\n") << ran.describe();
  for (const char* code : {"Deno.readTextFileSync('/etc/passwd')", "new Deno.Command('/bin/true').outputSync()",
                           "Deno.listen({hostname: '127.0.0.1', port: 0})", "Deno.dlopen('libc.so.6', {})", "Deno.env.get('PATH')"}) {
    auto called = deno(code);
    EXPECT_NE(called.err.find("NotCapable"), std::string::npos) << code << called.describe();
  }
  auto python = hotcell({"run", "--language", "python", "-c", "import os\nopen('/etc/passwd').read()\nos.system('true')\nos.environ['PATH']\n"});
  EXPECT_EQ(python.code, 0) << "what Deno refuses, the cell alone does not: " << python.describe();
  auto granted = deno("console.log(Deno.env.get('A'))\nDeno.writeTextFileSync('/work/x', 'y')\nconsole.log(Deno.readTextFileSync('/work/x'))", {"--env", "A=1"});
  EXPECT_EQ(granted.out, "1\ny\n") << granted.describe();
}

// Rows of the collected attacks on builds that act when the program, or its package manager, is run.
TEST_F(LanguageFiles, BuildScriptsAndShadowsActInTheCell) {
  const std::string canary = dir_.path() + "/canary";
  auto shadow = hotcell({"run", "--file", file("colorsys.py", "open('" + canary + "', 'w').write('PWNED')\n"), file("a.py", "import colorsys\n")});
  EXPECT_NE(shadow.err.find("No such file or directory"), std::string::npos) << "it ran, and there is no such place: " << shadow.describe();
  auto setup = hotcell({"run", file("setup.py", "open('" + canary + "', 'w').write('PWNED')\n")});
  EXPECT_NE(setup.err.find("No such file or directory"), std::string::npos) << setup.describe();
  auto npm = hotcell({"run", "--memory", "512M", "--processes", "64", "--env", "HOME=/tmp", "--workdir", "/work", "--file",
                      file("package.json", "{\"name\":\"p\",\"version\":\"1.0.0\",\"scripts\":{\"postinstall\":\"echo ran > in-the-cell; echo PWNED > " +
                                               canary + "; cat in-the-cell >&2\"}}"),
                      "--", "npm", "install", "--offline", "--no-audit", "--no-fund", "--foreground-scripts"});
  EXPECT_NE(npm.err.find("ran"), std::string::npos) << npm.describe();
  EXPECT_EQ(read_text(canary), "");
}

}  // namespace
}  // namespace hotcell::testing
