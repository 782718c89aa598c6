// The compiled filter against two others: a plain reading of the same rules, and libseccomp's own compilation.
#include <gtest/gtest.h>
#include <seccomp.h>
#include <sys/mman.h>

#include <algorithm>
#include <random>
#include <set>

#include "core/kernel/seccomp.h"
#include "core/kernel/seccomp_compile.h"
#include "core/kernel/seccomp_testing.h"

namespace hotcell {
namespace {

using namespace testing_seccomp;

// Values that the rules speak of, their neighbours, and the same with high bits set.
std::vector<std::uint64_t> interesting(const CallRule& rule, int arg) {
  std::vector<std::uint64_t> out = {0, 1, 0xffffffff, ~0ULL};
  for (const Clause& clause : rule.clauses)
    for (const Condition& c : clause.all)
      if (c.arg == arg)
        for (std::uint64_t v : {c.value, c.value + 1, c.value - 1, c.mask, ~c.mask, c.value | ~c.mask})
          for (std::uint64_t high : {std::uint64_t{0}, std::uint64_t{1} << 32}) out.push_back(v ^ high);
  return out;
}

template <typename F>
void for_samples(const CallRule& rule, std::uint32_t arch, std::mt19937_64& random, int count, F check) {
  std::vector<std::uint64_t> values[6];
  for (int i = 0; i < 6; ++i) values[i] = interesting(rule, i);
  for (int n = 0; n < count; ++n) {
    seccomp_data d{};
    d.nr = static_cast<int>(rule.number), d.arch = arch;
    for (int i = 0; i < 6; ++i) {
      const std::uint64_t r = random();
      d.args[i] = r % 4 == 0 ? random() : r % 4 == 1 ? 1ULL << (random() % 64) : values[i][random() % values[i].size()];
    }
    check(d);
  }
}

std::string text(const seccomp_data& d) {
  std::string s = std::to_string(d.nr) + " arch " + std::to_string(d.arch);
  for (auto a : d.args) s += " " + std::to_string(a);
  return s;
}

TEST(SeccompOracle, TreeAnswersAsThePlainReadingOfTheRulesDoes) {
  std::mt19937_64 random(1);
  for (Arch arch : {Arch::kX86_64, Arch::kAarch64})
    for (Bases base : {kDefaultBase, kStrictBase})
      for (Nets net : {kNoInet, kOwnInet, kRealInet, kFlatInet}) {
        const FilterModel model = build_model(base, net, arch);
        const auto code = compile_filter(model, Listener::kPresent);
        auto check = [&](const seccomp_data& d) { ASSERT_EQ(run_bpf(code, d), run_model(model, d)) << text(d); };
        for (const CallRule& rule : model.rules)
          for_samples(rule, audit_arch(arch), random, rule.clauses.empty() ? 3 : 3000, check);
        for (std::uint32_t a : {audit_arch(arch), 0x40000003u, 0u})
          for (std::uint64_t n = 0; n < 0x100000000; n += n < 1200 ? 1 : 0xfff1) {
            seccomp_data d{};
            d.nr = static_cast<int>(n), d.arch = a;
            check(d);
          }
      }
}

// Conditions as an imported profile has them: random rules of every comparison, long enough to need stepping stones.
TEST(SeccompOracle, EveryComparisonOnSixtyFourBits) {
  std::mt19937_64 random(2);
  const Answer answers[] = {kAllow, kNotify, kKill, refuse(EPERM), refuse(EINVAL)};
  const std::uint64_t pool[] = {0, 1, 2, 0xffffffff, 0x100000000, 0x1ffffffff, 0x200000000, ~0ULL, 1ULL << 63};
  for (int round = 0; round < 40; ++round) {
    FilterModel model{Arch::kX86_64, {}};
    for (std::uint32_t nr = 0; nr < 60; ++nr) {
      CallRule rule{nr * 3, "x", {}, answers[random() % 5], ""};
      for (auto n = random() % 5; n > 0; --n) {
        Clause clause{{}, answers[random() % 5], ""};
        for (auto m = 1 + random() % 3; m > 0; --m) {
          Condition c{static_cast<std::uint8_t>(random() % 3), static_cast<Compare>(1 + random() % 7), ~0ULL,
                      pool[random() % 9]};
          if (c.op == Compare::kMaskedEqual) c.mask = pool[random() % 9] | 1, c.value &= c.mask;
          if (c.op == Compare::kAnyBit) c.mask = (random() & 0xffffffff) | 1, c.value = 0;
          clause.all.push_back(c);
        }
        rule.clauses.push_back(clause);
      }
      model.rules.push_back(rule);
    }
    const auto code = compile_filter(model, Listener::kPresent);
    ASSERT_GT(code.size(), 255u);
    for (const CallRule& rule : model.rules)
      for (int n = 0; n < 300; ++n) {
        seccomp_data d{};
        d.nr = static_cast<int>(rule.number), d.arch = audit_arch(Arch::kX86_64);
        for (auto& a : d.args) a = pool[random() % 9];
        ASSERT_EQ(run_bpf(code, d), run_model(model, d)) << text(d);
      }
  }
}

TEST(SeccompOracle, NamesAndNumbersAgreeWithLibseccomp) {
  for (auto [arch, token] : {std::pair{Arch::kX86_64, static_cast<std::uint32_t>(SCMP_ARCH_X86_64)},
                             std::pair{Arch::kAarch64, static_cast<std::uint32_t>(SCMP_ARCH_AARCH64)}}) {
    int known = 0;
    for (int nr = 0; nr < 600; ++nr) {
      char* theirs = seccomp_syscall_resolve_num_arch(token, nr);
      const std::string_view ours = syscall_name(nr, audit_arch(arch));
      if (theirs) {
        EXPECT_EQ(ours, theirs) << nr;
        ++known;
        free(theirs);
      }
      if (ours.empty()) continue;
      EXPECT_EQ(syscall_number(ours, arch), static_cast<std::uint32_t>(nr));
    }
    EXPECT_GT(known, 290);
  }
}

// libseccomp writes its filter to a descriptor; there is no other way to see the bytes in 2.5.
std::vector<std::uint64_t> exported(scmp_filter_ctx ctx) {
  const int fd = memfd_create("bpf", MFD_CLOEXEC);
  EXPECT_EQ(seccomp_export_bpf(ctx, fd), 0);
  std::vector<std::uint64_t> code(static_cast<std::size_t>(lseek(fd, 0, SEEK_END)) / 8);
  EXPECT_EQ(pread(fd, code.data(), code.size() * 8, 0), static_cast<ssize_t>(code.size() * 8));
  close(fd);
  return code;
}

std::uint32_t scmp_action(Answer a) {
  if (a == kAllow) return SCMP_ACT_ALLOW;
  if (a == kNotify) return SCMP_ACT_NOTIFY;
  if (a == kKill) return SCMP_ACT_KILL_PROCESS;
  return SCMP_ACT_ERRNO(static_cast<std::uint32_t>(a.err));
}

scmp_filter_ctx new_context(Arch arch, Answer otherwise) {
  scmp_filter_ctx ctx = seccomp_init(scmp_action(otherwise));
  seccomp_attr_set(ctx, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS);
  seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
  const std::uint32_t token = arch == Arch::kX86_64 ? SCMP_ARCH_X86_64 : SCMP_ARCH_AARCH64;
  if (seccomp_arch_native() != token) {
    EXPECT_EQ(seccomp_arch_add(ctx, token), 0);
    EXPECT_EQ(seccomp_arch_remove(ctx, seccomp_arch_native()), 0);
  }
  return ctx;
}

// A rule of libseccomp has one comparison per argument, so "any of these bits" is one rule per combination of bits.
void add_clause(scmp_filter_ctx ctx, int nr, const Clause& clause, std::size_t from, std::vector<scmp_arg_cmp> done) {
  if (from == clause.all.size()) {
    ASSERT_EQ(
        seccomp_rule_add_array(ctx, scmp_action(clause.answer), nr, static_cast<unsigned>(done.size()), done.data()),
        0);
    return;
  }
  const Condition& c = clause.all[from];
  done.push_back({c.arg, SCMP_CMP_MASKED_EQ, c.mask, c.value});
  if (c.op == Compare::kMaskedEqual) return add_clause(ctx, nr, clause, from + 1, done);
  for (std::uint64_t bit = 1; bit && bit <= c.mask; bit <<= 1) {
    if (!(c.mask & bit)) continue;
    done.back().datum_a = done.back().datum_b = bit;
    add_clause(ctx, nr, clause, from + 1, done);
  }
}

// libseccomp takes the numbers of the machine it runs on, and translates those it knows for a foreign filter.
std::optional<int> their_number(const CallRule& rule, Arch arch) {
  if (arch == kNativeArch) return static_cast<int>(rule.number);
  const int nr = seccomp_syscall_resolve_name(std::string(rule.name).c_str());
  return nr < 0 ? std::nullopt : std::optional(nr);
}

TEST(SeccompOracle, LibseccompCompilesTheSameRulesToTheSameAnswers) {
  std::mt19937_64 random(3);
  for (Arch arch : {Arch::kX86_64, Arch::kAarch64})
    for (Bases base : {kDefaultBase, kStrictBase})
      for (Nets net : {kNoInet, kOwnInet, kRealInet, kFlatInet}) {
        const FilterModel model = build_model(base, net, arch);
        const auto code = compile_filter(model, Listener::kPresent);
        scmp_filter_ctx by_number = new_context(arch, refuse(ENOSYS));
        std::set<std::uint32_t> skipped;
        for (const CallRule& rule : model.rules) {
          const auto number = their_number(rule, arch);
          if (!number || !rule.clauses.empty()) skipped.insert(rule.number);
          if (!number) continue;
          if (rule.clauses.empty()) {
            // It refuses a rule that says what the default says.
            if (rule.otherwise == refuse(ENOSYS)) continue;
            ASSERT_EQ(seccomp_rule_add(by_number, scmp_action(rule.otherwise), *number, 0), 0) << rule.name;
            continue;
          }
          // It cannot say "these arguments, else that" of one call, so each such call gets a filter with its own
          // default.
          scmp_filter_ctx one = new_context(arch, rule.otherwise);
          for (const Clause& clause : rule.clauses)
            if (clause.answer != rule.otherwise) add_clause(one, *number, clause, 0, {});
          const auto theirs = exported(one);
          seccomp_release(one);
          for_samples(rule, audit_arch(arch), random, 2000, [&](const seccomp_data& d) {
            ASSERT_EQ(run_bpf(code, d), run_bpf(theirs, d)) << rule.name << " " << text(d);
          });
        }
        const auto theirs = exported(by_number);
        seccomp_release(by_number);
        for (std::uint32_t a : {audit_arch(arch), 0x40000003u, 0x40000028u})
          for (std::uint32_t n = 0; n < 0x80000000; n += n < 1200 ? 1 : 0x3fff1) {
            if (skipped.count(n)) continue;
            seccomp_data d{};
            d.nr = static_cast<int>(n), d.arch = a;
            ASSERT_EQ(run_bpf(code, d), run_bpf(theirs, d)) << text(d);
          }
        EXPECT_LT(skipped.size(), 60u);
      }
}

}  // namespace
}  // namespace hotcell
