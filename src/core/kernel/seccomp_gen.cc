// Build-time: compiles every preset for every architecture we know and prints them as C++ constants, so that the
// start of a cell compiles nothing. All architectures, so that a cross build needs no second generator.
#include <cstdio>

#include "core/kernel/seccomp_compile.h"

using namespace hotcell;

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: seccomp_gen OUTPUT.cc\n", stderr), 2;
  std::FILE* out = std::fopen(argv[1], "w");
  if (!out) return std::perror(argv[1]), 1;
  std::fputs(
      "// Made by seccomp_gen from core/kernel/seccomp_lists.cc.\n#include \"core/kernel/seccomp.h\"\n\n"
      "namespace hotcell {\nnamespace {\n",
      out);
  std::string table;
  int count = 0;
  for (Arch arch : {Arch::kX86_64, Arch::kAarch64}) {
    const char* name = arch == Arch::kX86_64 ? "__x86_64__" : "__aarch64__";
    std::fprintf(out, "#if defined(%s)\n", name);
    table += std::string("#if defined(") + name + ")\n";
    for (Bases base : {kDefaultBase, kStrictBase})
      for (Nets net : {kNoInet, kOwnInet, kRealInet, kFlatInet})
        for (int variant = 0; variant < 4; ++variant) {
          const bool notify = variant & 1, counted = variant & 2;
          FilterModel model = build_model(base, net, arch);
          if (!counted) refuse_uncounted(model);
          if (notify && (net & kFlat)) hand_over_marks(model);
          const auto insns = compile_filter(model, notify ? Listener::kPresent : Listener::kNone);
          if (insns.size() > kMaxFilterLength) return std::fputs("seccomp_gen: a preset is too long\n", stderr), 1;
          std::fprintf(out, "constexpr std::uint64_t kFilter%d[] = {", count);
          for (std::size_t i = 0; i < insns.size(); ++i)
            std::fprintf(out, "%s0x%016llx,", i % 6 ? " " : "\n    ", static_cast<unsigned long long>(insns[i]));
          std::fputs("\n};\n", out);
          char row[200];
          std::snprintf(
              row, sizeof row,
              "    {static_cast<Arch>(%d), static_cast<Bases>(%d), static_cast<Nets>(%d), %s, %s, kFilter%d, %zu},\n",
              static_cast<int>(arch), base, net, notify ? "true" : "false", counted ? "true" : "false", count, insns.size());
          table += row;
          ++count;
        }
    std::fputs("#endif\n", out);
    table += "#endif\n";
  }
  std::fprintf(out, "}  // namespace\n\nconst EmbeddedFilter kEmbeddedFilters[] = {\n%s};\n", table.c_str());
  std::fputs(
      "const std::uint32_t kEmbeddedFilterCount = sizeof kEmbeddedFilters / sizeof kEmbeddedFilters[0];\n\n"
      "}  // namespace hotcell\n",
      out);
  return std::fclose(out) == 0 ? 0 : 1;
}
