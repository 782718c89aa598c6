// `hotcell verify` as users call it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <iostream>

#include "e2e/cli.h"
#include "e2e/json.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

class Verify : public E2e {
 protected:
  std::string file(const std::string& name, const std::string& text) {
    write_text(dir_.path() + "/" + name, text);
    return dir_.path() + "/" + name;
  }
  TempDir dir_;
};

TEST_F(Verify, CleanIsZero) {
  auto called = hotcell({"verify", file("a.py", "x = 1\nprint(x)  # os.system\n")});
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_EQ(called.out, "Code Verification: SAFE\n─────────────────────────\nNo violations detected.\n");
}

TEST_F(Verify, AnErrorIsOneWithItsLineAndACaret) {
  auto path = file("a.py", "x = 1\nexec(x.__class__.__bases__[0].__subclasses__())\n");
  auto called = hotcell({"verify", path});
  EXPECT_EQ(called.code, 1) << called.describe();
  EXPECT_NE(called.out.find("Code Verification: UNSAFE\n"), std::string::npos) << called.out;
  EXPECT_NE(called.out.find(" L2:"), std::string::npos) << called.out;
  EXPECT_NE(called.out.find("\n    ^"), std::string::npos) << called.out;
  EXPECT_NE(called.out.find("— execution blocked\n"), std::string::npos) << called.out;

  for (const auto& args : {std::vector<std::string>{"verify", "--json", path}, {"verify", "--format", "json", path}}) {
    called = hotcell(args);
    EXPECT_EQ(called.code, 1) << called.describe();
    Json json(called.out);
    EXPECT_EQ(json.text("safe"), "false");
    EXPECT_EQ(json.text("language"), "python");
    EXPECT_EQ(json.text("findings/0/line"), "2");
    EXPECT_EQ(json.text("findings/0/file"), path);
  }
  called = hotcell({"verify", "--format", "sarif", path});
  EXPECT_EQ(called.code, 1) << called.describe();
  Json sarif(called.out);
  EXPECT_EQ(sarif.text("version"), "2.1.0");
  EXPECT_EQ(sarif.text("runs/0/results/0/locations/0/physicalLocation/artifactLocation/uri"), "file://" + path);
}

TEST_F(Verify, WhatCannotBeReadIsTwo) {
  EXPECT_EQ(hotcell({"verify", file("a.py", "x = = 1\n")}).code, 2);
  EXPECT_EQ(hotcell({"verify", file("a.lua", "print(1)\n")}).code, 2);
  EXPECT_EQ(hotcell({"verify", "--language", "cobol", file("a.py", "x = 1\n")}).code, 2);
  EXPECT_EQ(hotcell({"verify", file("words", "hello\n")}).code, 2);
  EXPECT_EQ(hotcell({"verify", file("b.py", "# coding: utf-7\nx = 1\n")}).code, 2);
  auto fragment = hotcell({"verify", file("a.go", "func main() {\n\tprintln(1)\n}\n")});
  EXPECT_EQ(fragment.code, 2) << fragment.describe();
  EXPECT_NE(fragment.out.find("package clause"), std::string::npos) << fragment.out;
  auto called = hotcell({"verify", "--json", file("c.py", "(")});
  EXPECT_EQ(Json(called.out).text("findings/0/rule"), "unverifiable") << called.describe();
}

TEST_F(Verify, StandardInputAndSeveralFiles) {
  auto called = hotcell({"verify", "-"}, "#!/usr/bin/env python3\nprint(1)\n");
  EXPECT_EQ(called.code, 0) << called.describe();
  called = hotcell({"verify", "--language", "py", "-"}, "print(1)\n");
  EXPECT_EQ(called.code, 0) << called.describe();
  auto good = file("a.py", "print(1)\n"), broken = file("b.py", "(");
  called = hotcell({"verify", good, broken});
  EXPECT_EQ(called.code, 2) << called.describe();
  EXPECT_NE(called.out.find(good + "\nCode Verification: SAFE"), std::string::npos) << called.out;
  EXPECT_NE(called.out.find(broken + "\nCode Verification: UNVERIFIABLE"), std::string::npos) << called.out;
}

TEST_F(Verify, BadUsageIs125) {
  auto good = file("a.py", "print(1)\n");
  for (auto& args : std::vector<std::vector<std::string>>{{"verify"},
                                                          {"verify", dir_.path() + "/nosuch.py"},
                                                          {"verify", dir_.path()},
                                                          {"verify", "--format", "xml", good},
                                                          {"verify", "--format", "text", "--json", good},
                                                          {"verify", "--profile", "nosuch", good},
                                                          {"verify", "-", "-"},
                                                          {"verify", "--memory", "1M", good}}) {
    auto called = hotcell(args);
    EXPECT_EQ(called.code, 125) << called.describe();
    EXPECT_EQ(lines(called.err), 1u) << called.err;
    EXPECT_EQ(called.out, "");
  }
}

TEST_F(Verify, AProfileDecides) {
  auto source = file("a.py", "import math\nimport turtle\nmath.foo(1)\n");
  EXPECT_EQ(hotcell({"verify", source}).code, 0);
  auto called = hotcell({"verify", "--profile", "minimal", "--json", source});
  EXPECT_EQ(called.code, 1) << called.describe();
  EXPECT_EQ(Json(called.out).text("findings/0/rule"), "import-not-allowed");
  auto profile = file("mine.yaml", "rules: {patterns: ['\\bfoo\\('], modules: [turtle], functions: [math.foo]}\n");
  called = hotcell({"verify", "--profile", profile, "--json", source});
  EXPECT_EQ(called.code, 1) << called.describe();
  for (const char* rule : {"profile-module", "profile-function", "profile-pattern"})
    EXPECT_NE(called.out.find(rule), std::string::npos) << rule << called.out;
  profile = file("bad.yaml", "name: bad\nrules:\n  patterns: ['a(']\n");
  called = hotcell({"verify", "--profile", profile, source});
  EXPECT_EQ(called.code, 125) << called.describe();
  EXPECT_NE(called.err.find("bad.yaml:3: rules.patterns"), std::string::npos) << called.err;
}

TEST_F(Verify, TheProfilesOfLanguagesAreFound) {
  auto source = file("a.py", "import numpy\nprint(numpy.arange(3))\n");
  EXPECT_EQ(hotcell({"verify", "--profile", "data-science", source}).code, 0);
  EXPECT_EQ(hotcell({"verify", "--profile", "minimal", source}).code, 1);
}

TEST_F(Verify, ShellcheckAddsAdviceThatRefusesNothing) {
  if (::access("/usr/bin/shellcheck", X_OK) != 0) {
    std::cout << "skipped: shellcheck is not there\n";
    return;
  }
  auto source = file("a.sh", "#!/bin/sh\nfor f in $(ls); do\n\techo \"$f\"\ndone\nunused=1\n");
  auto called = hotcell({"verify", "--json", source});
  EXPECT_EQ(called.code, 0) << called.describe();
  Json json(called.out);
  EXPECT_EQ(json.text("safe"), "true");
  EXPECT_EQ(json.text("findings/0/rule"), "shellcheck-SC2045") << called.out;
  EXPECT_EQ(json.text("findings/0/severity"), "warning");
  EXPECT_EQ(json.text("findings/0/file"), source);
  EXPECT_EQ(json.text("findings/0/line"), "2");
  EXPECT_EQ(json.text("findings/0/snippet"), "for f in $(ls); do");
  EXPECT_EQ(json.text("findings/1/rule"), "shellcheck-SC2034") << called.out;
  EXPECT_EQ(json.text("findings/1/severity"), "info");
  auto profile = file("mine.yaml", "rules: {off: [shellcheck-*]}\n");
  EXPECT_EQ(Json(hotcell({"verify", "--json", "--profile", profile, source}).out).size("findings"), 0u);
}

TEST_F(Verify, HostileSourcesEndWithAnAnswer) {
  auto called = hotcell({"verify", "--language", "java", "-"}, [] {
    std::string s;
    for (int i = 0; i < 20'000; ++i) s += "a<";
    return s;
  }());
  EXPECT_EQ(called.code, 2) << called.describe();
  called = hotcell({"verify", "--language", "python", "-"}, std::string(100'000, '['));
  EXPECT_EQ(called.code, 2) << called.describe();
}

}  // namespace
}  // namespace hotcell::testing
