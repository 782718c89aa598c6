// Build-time: reads the rules.yaml of every language and prints them as C++ constants, so that nothing that users start
// reads YAML. Usage: rules_gen OUTPUT.cc LANGUAGE=FILE…
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include "base/strings.h"
#include "verify/rules.h"

using namespace hotcell;

namespace {

std::string literal(std::string_view s) {
  static constexpr char kOctal[] = "01234567";
  std::string out = "\"";
  for (char c : s) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || c == '?') (out += '\\') += c;
    else if (byte >= 0x20 && byte < 0x7F) out += c;
    else (out += '\\') += {kOctal[byte >> 6], kOctal[byte >> 3 & 7], kOctal[byte & 7]};
  }
  return out + '"';
}

// The name of an array of these, printed into `arrays`; a span of nothing for an empty one.
std::string list(const std::vector<std::string>& all, int& count, std::string& arrays) {
  if (all.empty()) return "{}";
  std::string name = cat("kList", count++);
  arrays += cat("constexpr std::string_view ", name, "[] = {");
  for (const auto& s : all) arrays += cat(literal(s), ", ");
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
      table += cat("    {", literal(language), ", ", literal(r.id), ", ", literal(r.type), ", ",
                   literal(r.reason), ", ", literal(r.fix), ",\n     static_cast<Severity>(", static_cast<int>(r.at_default),
                   "), static_cast<Severity>(", static_cast<int>(r.at_strict), "), static_cast<FactKind>(",
                   static_cast<int>(r.on), "), ", match, ", ", detail, ", ", unless, "},\n");
    }
  }
  std::ofstream out(argv[1]);
  out << "// Made by rules_gen from src/languages/*/rules.yaml.\n#include \"verify/embedded_rules.h\"\n\n"
         "namespace hotcell {\nnamespace {\n"
      << arrays << "}  // namespace\n\nconst EmbeddedRule kEmbeddedRules[] = {\n"
      << table << "};\nconst std::size_t kEmbeddedRuleCount = " << ids.size() << ";\n\n}  // namespace hotcell\n";
  out.close();
  return out ? 0 : fail(cat("cannot write ", argv[1]));
}
