// Whatever the bytes: the inspectors end, find the same in pieces as in one, and their findings lie inside the text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "hotcell/inspect.h"

namespace {

void check(const hotcell::Inspection& found, std::size_t size) {
  for (const auto& f : found.findings)
    if (f.offset > size || f.snippet.size() > 200 || f.level == hotcell::ThreatLevel::kNone) std::abort();
  (void)hotcell::inspection_json(found);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hotcell;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  InspectOptions options;
  options.kinds = InspectKindSet::all();
  options.allowed_domains = {"good.test", "*.example.org"};
  auto whole = inspect_text(text, options);
  if (!whole.ok()) std::abort();
  check(whole.value(), size);
  auto inspector = Inspector::create(options);
  if (!inspector.ok()) std::abort();
  for (std::size_t i = 0; i < size; i += 3) inspector.value().feed(text.substr(i, 3));
  if (inspection_json(inspector.value().finish()) != inspection_json(whole.value())) std::abort();
  auto command = inspect_command(text, options);
  if (!command.ok()) std::abort();
  check(command.value(), size);
  if (auto arguments = inspect_arguments(text, options); arguments.ok()) check(arguments.value(), size);
  return 0;
}
