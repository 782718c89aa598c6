// Build time: what the scanners need, so that a start does not compute it. Usage: inspect_tables_gen OUTPUT-PREFIX
#include <cstdio>
#include <fstream>

#include "base/strings.h"
#include "inspect/rule_set.h"

using namespace hotcell;

namespace {

bool write(const inspect::RuleParts::Part& part, const std::string& path) {
  auto tables = inspect::make_scan_tables(part.scan);
  if (!tables.ok()) return std::fprintf(stderr, "inspect_tables_gen: %s\n", tables.error().message.c_str()), false;
  std::ofstream out(path, std::ios::binary);
  out << tables.value();
  out.close();
  return out ? true : (std::fprintf(stderr, "inspect_tables_gen: cannot write %s\n", path.c_str()), false);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: inspect_tables_gen OUTPUT-PREFIX\n"), 1;
  inspect::RuleParts parts = inspect::rule_parts();
  std::string prefix = argv[1];
  bool ok = write(parts.text, prefix + "text.bin") && write(parts.arguments, prefix + "arguments.bin") && write(parts.squeezed, prefix + "squeezed.bin");
  return ok ? 0 : 1;
}
