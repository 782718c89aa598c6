// Build-time: reads rules/*.yaml and prints them as constants. Usage: inspect_rules_gen OUTPUT.cc FILE…
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>

#include "base/cpp_literal.h"
#include "base/strings.h"
#include "inspect/rules.h"

using namespace hotcell;

namespace {

int fail(std::string_view what) {
  return std::fprintf(stderr, "inspect_rules_gen: %s\n", std::string(what).c_str()), 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return fail("usage: inspect_rules_gen OUTPUT.cc FILE...");
  std::set<std::string> ids;
  std::string table;
  for (int i = 2; i < argc; ++i) {
    std::ifstream in(argv[i]);
    if (!in) return fail(cat("cannot read ", argv[i]));
    std::stringstream text;
    text << in.rdbuf();
    auto rules = inspect::read_rules(text.str(), argv[i], true);
    if (!rules.ok()) return fail(rules.error().message);
    for (const auto& r : rules.value()) {
      if (!ids.insert(r.id).second) return fail(cat(argv[i], ": rule '", r.id, "' is in another file, too"));
      table += cat("    {", cpp_literal(r.id), ", ", cpp_literal(r.kind), ", ", cpp_literal(r.type), ", ", cpp_literal(r.message), ",\n     ",
                   cpp_literal(r.pattern), ",\n     ", cpp_literal(r.group), ", ", cpp_literal(r.check), ", ", cpp_literal(r.sign), ", ", r.back, ", static_cast<ThreatLevel>(",
                   static_cast<int>(r.level), "), ", r.weight, ", ", r.caseless ? "true" : "false", "},\n");
    }
  }
  std::ofstream out(argv[1]);
  out << "// Made by inspect_rules_gen from src/inspect/rules/*.yaml.\n#include \"inspect/rules.h\"\n\n"
         "namespace hotcell::inspect {\nusing namespace std::string_view_literals;\nnamespace {\n"
         "constexpr BuiltinRule kRules[] = {\n"
      << table << "};\n}  // namespace\n\nstd::span<const BuiltinRule> builtin_rules() { return kRules; }\n\n"
      << "}  // namespace hotcell::inspect\n";
  out.close();
  return out ? 0 : fail(cat("cannot write ", argv[1]));
}
