// Build-time: reads the rules.yaml of every language and prints them as C++ constants, so that nothing that users start
// reads YAML. Usage: rules_gen OUTPUT.cc LANGUAGE=FILE…
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include "base/cpp_literal.h"
#include "base/strings.h"
#include "verify/rules.h"

using namespace hotcell;

namespace {

// The name of an array of these, printed into `arrays`; a span of nothing for an empty one.
std::string list(const std::vector<std::string>& all, int& count, std::string& arrays) {
  if (all.empty()) return "{}";
  std::string name = cat("kList", count++);
  arrays += cat("constexpr std::string_view ", name, "[] = {");
  for (const auto& s : all) arrays += cat(cpp_literal(s), ", ");
  arrays += "};\n";
  return name;
}

int fail(std::string_view what) { return std::fprintf(stderr, "rules_gen: %s\n", std::string(what).c_str()), 1; }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return fail("usage: rules_gen OUTPUT.cc LANGUAGE=FILE...");
  std::map<std::string, std::string> ids;
  std::string arrays, table;
  int lists = 0;
  for (int i = 2; i < argc; ++i) {
    std::string_view argument = argv[i];
    auto equals = argument.find('=');
    if (equals == argument.npos) return fail(cat("no LANGUAGE=FILE: ", argument));
    std::string language(argument.substr(0, equals)), file(argument.substr(equals + 1));
    std::ifstream in(file);
    if (!in) return fail(cat("cannot read ", file));
    std::stringstream text;
    text << in.rdbuf();
    auto rules = read_rules(text.str(), file);
    if (!rules.ok()) return fail(rules.error().message);
    for (const Rule& r : rules.value()) {
      auto [other, fresh] = ids.emplace(r.id, file);
      if (!fresh) return fail(cat(file, ": rule '", r.id, "' is in ", other->second, ", too"));
      // The parent takes nothing else for an id (languages/verify_wire.cc).
      if (r.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") != r.id.npos || r.id.size() > 100)
        return fail(cat(file, ": '", r.id, "' is no id: small letters, digits and dashes"));
      std::string match = list(r.match, lists, arrays), detail = list(r.detail, lists, arrays),
                  unless = list(r.unless, lists, arrays);
      table += cat("    {", cpp_literal(language), ", ", cpp_literal(r.id), ", ", cpp_literal(r.type), ", ",
                   cpp_literal(r.reason), ", ", cpp_literal(r.fix), ",\n     static_cast<Severity>(", static_cast<int>(r.at_default),
                   "), static_cast<Severity>(", static_cast<int>(r.at_strict), "), static_cast<FactKind>(",
                   static_cast<int>(r.on), "), ", match, ", ", detail, ", ", unless, "},\n");
    }
  }
  std::ofstream out(argv[1]);
  out << "// Made by rules_gen from src/languages/*/rules.yaml.\n#include \"verify/embedded_rules.h\"\n\n"
         "namespace hotcell {\nusing namespace std::string_view_literals;\nnamespace {\n"
      << arrays << "}  // namespace\n\nconst EmbeddedRule kEmbeddedRules[] = {\n"
      << table << "};\nconst std::size_t kEmbeddedRuleCount = " << ids.size() << ";\n\n}  // namespace hotcell\n";
  out.close();
  return out ? 0 : fail(cat("cannot write ", argv[1]));
}
