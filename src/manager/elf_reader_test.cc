#include "manager/elf_reader.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "manager/elf_findings.h"
#include "sys/file.h"

namespace hotcell {
namespace {

std::string own_program() {
  auto bytes = sys::read_file("/proc/self/exe", 256 << 20);
  EXPECT_TRUE(bytes.ok());
  return bytes.ok() ? std::move(bytes).value() : std::string();
}

bool has(const std::vector<Finding>& findings, std::string_view rule, std::string_view severity) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const Finding& f) { return f.rule == rule && f.severity == severity; });
}

TEST(ElfReader, ReadsAProgramOfThisHost) {
  auto bytes = sys::read_file("/bin/sh", 16 << 20);
  ASSERT_TRUE(bytes.ok());
  auto facts = read_elf(bytes.value());
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->dynamic);
  EXPECT_TRUE(facts->interpreter.starts_with("/lib")) << facts->interpreter;
  EXPECT_FALSE(facts->executable_stack);
  EXPECT_TRUE(std::binary_search(facts->undefined.begin(), facts->undefined.end(), "fork"));
  EXPECT_NE(std::find(facts->needed.begin(), facts->needed.end(), "libc.so.6"), facts->needed.end());
}

TEST(ElfReader, AShellStartsProcessesAndThatIsAnErrorOnlyUnderStrict) {
  auto bytes = sys::read_file("/bin/sh", 16 << 20);
  ASSERT_TRUE(bytes.ok());
  EXPECT_TRUE(has(elf_findings(bytes.value(), "sh", ElfLevel::kDefault), "elf-process", "warning"));
  EXPECT_TRUE(has(elf_findings(bytes.value(), "sh", ElfLevel::kStrict), "elf-process", "error"));
}

TEST(ElfReader, HeadersThatWantTooMuchAreFindings) {
  auto bytes = sys::read_file("/bin/sh", 16 << 20);
  ASSERT_TRUE(bytes.ok());
  std::string program = bytes.value();
  Elf64_Ehdr head;
  std::memcpy(&head, program.data(), sizeof head);
  for (unsigned i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr segment;
    auto at = head.e_phoff + i * sizeof segment;
    std::memcpy(&segment, program.data() + at, sizeof segment);
    if (segment.p_type == PT_INTERP) program.replace(segment.p_offset, 6, "/tmp/x");
    if (segment.p_type == PT_GNU_STACK || segment.p_type == PT_LOAD) segment.p_flags |= PF_X | PF_W;
    std::memcpy(program.data() + at, &segment, sizeof segment);
  }
  auto findings = elf_findings(program, "x", ElfLevel::kDefault);
  EXPECT_TRUE(has(findings, "elf-interpreter", "error"));
  EXPECT_TRUE(has(findings, "elf-writable-code", "error"));
  EXPECT_TRUE(has(findings, "elf-executable-stack", "warning"));
}

TEST(ElfReader, WhatIsNoProgramIsUnverifiable) {
  EXPECT_FALSE(read_elf(""));
  EXPECT_FALSE(read_elf("#!/bin/sh\n"));
  EXPECT_TRUE(has(elf_findings("text", "x", ElfLevel::kDefault), "elf-unverifiable", "error"));
}

// Every cut and a few thousand random changes of the headers: an answer or none, never a read outside (sanitizers
// look).
TEST(ElfReader, SurvivesDamage) {
  std::string whole = own_program().substr(0, 8192);
  for (std::size_t cut = 0; cut < 4096; cut += 7) (void)read_elf(std::string_view(whole).substr(0, cut));
  auto bytes = sys::read_file("/bin/sh", 16 << 20);
  ASSERT_TRUE(bytes.ok());
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = bytes.value();
    for (int i = 0; i < 4; ++i) damaged[random() % 2048] = static_cast<char>(random());
    (void)read_elf(damaged);
  }
}

}  // namespace
}  // namespace hotcell
