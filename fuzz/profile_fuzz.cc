// Whatever the bytes, the parser answers with a valid policy or an error that names its line; and what it accepts
// survives being written out and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/policy/profile.h"
#include "core/policy/validate.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  hotcell::ProfileSearch search;
  search.read_files = false;  // `extends` must not make the result depend on this machine's files
  std::string_view text(reinterpret_cast<const char*>(data), size);
  auto policy = hotcell::parse_profile(text, "fuzz.yaml", search);
  if (!policy.ok()) {
    if (!policy.error().message.starts_with("fuzz.yaml")) std::abort();
    return 0;
  }
  if (!hotcell::validate(policy.value()).ok()) std::abort();
  auto again = hotcell::parse_profile(hotcell::to_yaml(policy.value()), "again.yaml", search);
  if (!again.ok() || again.value() != policy.value()) std::abort();
  (void)hotcell::describe(policy.value());
  (void)hotcell::warnings(policy.value());
  return 0;
}
