// Whatever the bytes: every message gets at most one answer, that answer is whole JSON in one line, and nothing is left
// under way. The first byte says which transport it came by; over HTTP the lines before the first empty one are
// headers.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "server/mcp/mcp_testing.h"

namespace {

using namespace hotcell;
using namespace hotcell::server::mcp;

Headers take_headers(std::string_view& text) {
  Headers headers;
  while (!text.empty()) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.empty()) break;
    auto colon = line.find(':');
    if (colon != std::string_view::npos) headers.emplace_back(line.substr(0, colon), line.substr(colon + 1));
  }
  return headers;
}

void must(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  char how = text.front();
  text.remove_prefix(1);
  server::mcp::testing::Scene scene((how & 2) != 0);
  scene.executions.end_at_once = (how & 4) == 0;
  bool http = (how & 1) != 0;
  Headers headers = http ? take_headers(text) : Headers();
  std::vector<std::shared_ptr<server::mcp::testing::Told>> told;
  // Several lines are several messages of one client.
  while (!text.empty()) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    told.push_back(scene.send(line, http ? &headers : nullptr));
  }
  scene.server->cancel_all("p");
  scene.run_posted();
  must(scene.server->under_way() == 0);
  for (const auto& t : told) {
    must(t->times == 1 && t->answers.size() <= 1);
    for (const auto& list : {t->answers, t->notices}) {
      for (const auto& json : list) {
        must(json.find('\n') == std::string::npos);
        must(server::parse_json(json, {.depth = 64, .values = 10'000'000}).ok());
      }
    }
  }
  return 0;
}
