// cell_network: what a lasting cell may reach, what it asked for, and less of it from now on.
#include "base/strings.h"
#include "server/cells/cell_door.h"
#include "server/mcp/arguments.h"
#include "server/mcp/outcome.h"
#include "server/mcp/tools.h"

namespace hotcell::server::mcp {
namespace {

constexpr std::pair<std::string_view, std::string_view> kCellHeader[] = {{"cell", "Sandbox"}};
constexpr std::string_view kChangesNetwork = R"({"readOnlyHint":false,"destructiveHint":false,"idempotentHint":true,"openWorldHint":false})";
constexpr std::string_view kNetworkInput = R"({"type":"object","properties":{
"cell":{"type":"string","description":"Name or id of the cell.","x-mcp-header":"Sandbox"},
"allow":{"type":"array","items":{"type":"string"},"description":"Hosts that it may reach again, within what it was made with."},
"block":{"type":"array","items":{"type":"string"},"description":"Hosts that it may not reach from now on; connections to them are ended."}
},"required":["cell"],"additionalProperties":false})";
constexpr std::string_view kNetworkOutput = R"({"type":"object","properties":{
"mode":{"type":"string"},"phase":{"anyOf":[{"type":"string"},{"type":"null"}]},"serving":{"type":"boolean"},
"rules":{"type":"object"},"counters":{"type":"object"},"log":{"type":"array","items":{"type":"object"},"description":"The last requests."}},
"required":["mode","serving","rules","counters","log"]})";
constexpr std::size_t kMostLog = 100;

std::string words_of(const JsonValue& network) {
  std::string text = cat("network ", network.text("mode"), network.boolean_or("serving", false) ? "" : ", no door is open");
  if (const JsonValue* counters = network.find("counters"); counters != nullptr)
    text += cat("; ", counters->integer_or("allowed", 0), " allowed, ", counters->integer_or("blocked", 0), " refused");
  for (const JsonValue& e : network.items("log"))
    if (!e.boolean_or("allowed", true)) text += cat("\nrefused: ", e.text("reason"));
  return text.size() > kMostText ? cat(text.substr(0, kMostText), "\n[cut]") : text;
}

void finish_with_network(const CallPtr& call, const std::string& json) {
  auto network = parse_json(json, kResultBounds);
  auto* members = network.ok() ? std::get_if<JsonValue::Object>(&network.value().v) : nullptr;
  if (members == nullptr) return call->fail({kInternalError, "the keeper's answer cannot be read", {}});
  for (auto& [name, value] : *members)
    if (auto* log = std::get_if<JsonValue::Array>(&value.v); name == "log" && log != nullptr && log->size() > kMostLog)
      log->erase(log->begin(), log->end() - kMostLog);
  ToolResult to;
  to.structured = json_text(network.value());
  to.texts.push_back(words_of(network.value()));
  call->finish(std::move(to));
}

void cell_network(const CallPtr& call) {
  Arguments a(call->arguments());
  const std::string cell = a.string("cell");
  if (cell.empty()) a.mistake("cell is missing");
  cells::Fields fields;
  for (std::string_view name : {"allow", "block"}) {
    auto hosts = a.strings(name);
    for (const auto& host : hosts)
      if (host.empty() || host.find_first_of("\n\r\0", 0, 3) != host.npos) a.mistake(cat(name, ": not a host"));
    if (a.has(name)) fields[std::string(name)] = join(hosts, "\n");
  }
  if (auto done = a.done(); !done.ok()) return call->finish_error(cat("cell_network: ", done.error().message));
  if (call->services().cells == nullptr) return call->finish_error("cell_network: lasting cells cannot be had here");
  CellDoor& door = *call->services().cells;
  door.find(call->caller(), cell, [call, &door, fields = std::move(fields)](Result<CellView> found) {
    if (call->finished()) return;
    if (!found.ok()) return call->finish_error(found.error().message);
    door.ask(found.value().id, "network", fields, {}, [call](Result<cells::Told> told) {
      if (call->finished()) return;
      if (!told.ok()) return call->finish_error(cat("cell_network: ", told.error().message));
      finish_with_network(call, told.value().text);
    });
  });
}

}  // namespace

std::span<const Tool> network_tools() {
  static const Tool kTools[] = {
      {"cell_network", "Look at a cell's network, or change it",
       "What a lasting cell may reach through its proxy, its counters and last requests, with what was refused. With block or allow its "
       "rules are changed while it runs, within what the cell was made with.",
       kNetworkInput, kNetworkOutput, kChangesNetwork, ToolNeeds::kRun, cell_network, kCellHeader},
  };
  return kTools;
}

}  // namespace hotcell::server::mcp
