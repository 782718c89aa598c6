#include "languages/source_checks.h"

#include <gtest/gtest.h>

#include "hotcell/verify.h"

namespace hotcell {
namespace {

std::string why(std::string_view language, std::string_view source) {
  auto problem = source_problem(language, source);
  return problem ? problem->why : "";
}

TEST(SourceChecks, NulAndInvalidUtf8) {
  EXPECT_EQ(why("c", "int x;\n// é\n"), "");
  EXPECT_NE(why("c", std::string_view("a\0b", 3)).find("NUL"), std::string::npos);
  auto problem = source_problem("go", "ab\xff");
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->offset, 2u);
}

TEST(SourceChecks, OnlyUtf8CodingLinesAreReadAsWeRead) {
  for (const char* good : {"# -*- coding: utf-8 -*-\nx", "#!/usr/bin/python\n# vim: set fileencoding=UTF_8 :\nx",
                           "x = 1\n\n# coding: latin-1\n", "s = 'coding: utf-7'\n", "# encodings: many\n", ""})
    EXPECT_EQ(why("python", good), "") << good;
  for (const char* bad : {"# coding: utf-7\nx", "\n#coding=latin-1\n", "#!/x\n\f # -*- encoding : x coding:utf_7 -*-\n",
                          "x\r# coding: utf-7\r", "# coding: unicode_escape"})
    EXPECT_NE(why("python", bad).find("coding line says"), std::string::npos) << bad;
  EXPECT_EQ(why("bash", "# coding: utf-7\n"), "");
}

TEST(SourceChecks, JavaEscapesAreDecodedAndPlacesMappedBack) {
  UnescapedJava j("a \\u0041\\uuu000ab \\\\u0042 \\ud83d\\ude00c");
  EXPECT_EQ(j.text(), "a A\nb \\\\u0042 😀c");
  EXPECT_TRUE(j.changed());
  EXPECT_EQ(j.at(0), 0u);
  EXPECT_EQ(j.at(2), 2u);    // A
  EXPECT_EQ(j.at(3), 8u);    // the newline
  EXPECT_EQ(j.at(4), 16u);   // b
  auto face = static_cast<std::uint32_t>(j.text().find("😀"));
  EXPECT_EQ(j.at(face + 4), j.at(face) + 12);
  EXPECT_FALSE(UnescapedJava("no \\n escape \\u00").changed());
}

TEST(SourceKind, ByNameExtensionAndFirstLine) {
  EXPECT_EQ(verify_language_name("C++"), "cpp");
  EXPECT_EQ(verify_language_name("PY"), "python");
  EXPECT_EQ(verify_language_name("golang"), "go");
  EXPECT_EQ(verify_language_name("COBOL"), "cobol");
  EXPECT_EQ(verify_language_name("|"), "|");
  EXPECT_EQ(detect_verify_language("/x/a.tsx", ""), "typescript");
  EXPECT_EQ(detect_verify_language("a.C", ""), "cpp");
  EXPECT_EQ(detect_verify_language("a.PY", ""), "python");
  EXPECT_EQ(detect_verify_language("tool", "#!/usr/bin/env -S python3.11 -u\n"), "python");
  EXPECT_EQ(detect_verify_language("tool", "#!/bin/sh"), "bash");
  EXPECT_EQ(detect_verify_language("tool", "#!/usr/bin/perl -w\n"), "perl");
  EXPECT_EQ(detect_verify_language("tool", "hello"), "");
  EXPECT_EQ(detect_verify_language(".py", "hello"), "");
  EXPECT_EQ(detect_verify_language("-", "#!"), "");
}

}  // namespace
}  // namespace hotcell
