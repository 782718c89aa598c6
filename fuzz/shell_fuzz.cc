// Whatever the bytes: the parser ends, its lists hang together, and the analyser reads them.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "languages/analysers.h"
#include "parse/shell.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  hotcell::ShellScript s = hotcell::parse_shell(text);
  for (hotcell::ShellId n = 0; n < s.nodes.size(); ++n) {
    const hotcell::ShellNode& node = s.nodes[n];
    if (node.after <= n || node.after > s.nodes.size() || (n > 0 && node.parent >= n)) std::abort();
    if (node.words + node.word_count > s.words.size() || node.redirects + node.redirect_count > s.redirects.size())
      std::abort();
  }
  for (const hotcell::ShellWord& w : s.words)
    if (w.parts + w.count > s.parts.size()) std::abort();
  bool unreadable = false;
  for (const hotcell::Fact& f : hotcell::bash_facts(text))
    unreadable = unreadable || f.kind == hotcell::FactKind::kUnreadable;
  if (s.error && !unreadable) std::abort();  // never silently
  return 0;
}
