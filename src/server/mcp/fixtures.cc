#include "server/mcp/fixtures.h"

#include "base/strings.h"
#include "server/mcp/tools.h"

namespace hotcell::server::mcp {

namespace {

constexpr std::string_view kNothing = R"({"type":"object","properties":{}})";
// One red point, and a sound of no length.
#define HOTCELL_PNG "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
#define HOTCELL_WAV "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="
#define HOTCELL_IMAGE R"({"type":"image","data":")" HOTCELL_PNG R"(","mimeType":"image/png"})"

constexpr std::string_view kSchema2020 = R"({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},
"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},
"else":{"required":["email"]},"additionalProperties":false})";

constexpr std::string_view kHeaderInput = R"({"type":"object","properties":{
"region":{"type":"string","x-mcp-header":"Region"}},"required":["region"]})";
constexpr std::pair<std::string_view, std::string_view> kHeaderParams[] = {{"region", "Region"}};

// Tools that always answer the same.
template <int N>
void answer(const CallPtr& call) {
  static constexpr std::string_view kAnswers[] = {
      R"("content":[{"type":"text","text":"This is a simple text response for testing."}])",
      R"("content":[)" HOTCELL_IMAGE "]",
      R"("content":[{"type":"audio","data":")" HOTCELL_WAV R"(","mimeType":"audio/wav"}])",
      R"("content":[{"type":"resource","resource":{"uri":"test://embedded-resource","mimeType":"text/plain",)"
      R"("text":"This is an embedded resource content."}}])",
      R"("content":[{"type":"text","text":"Multiple content types test:"},)" HOTCELL_IMAGE
      R"(,{"type":"resource","resource":{"uri":"test://mixed-content-resource","mimeType":"application/json",)"
      R"("text":"{\"test\":\"data\",\"value\":123}"}}])",
      R"("content":[{"type":"text","text":"This tool intentionally returns an error for testing"}],"isError":true)",
      R"("content":[{"type":"text","text":"done"}])",
  };
  call->finish_members(kAnswers[N]);
}

void logging(const CallPtr& call) {
  // The modern era has log messages only where a request asks for them, and no client of the tests does.
  if (call->message().era == Era::kLegacy) {
    for (auto text : {"Tool execution started", "Tool processing data", "Tool execution completed"})
      call->notify(
          cat(R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":")", text, "\"}}"));
  }
  answer<6>(call);
}

void progress(const CallPtr& call) {
  const JsonValue* meta = call->message().meta();
  if (call->wants_progress()) {
    for (auto step : {"0", "50", "100"})
      call->notify(cat(R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":)",
                       json_text(*meta->find("progressToken")), ",\"progress\":", step, ",\"total\":100}}"));
  }
  answer<6>(call);
}

void missing_capability(const CallPtr& call) {
  const JsonValue* sampling = call->message().params.find("_meta", kMetaCapabilities, "sampling");
  if (call->message().era == Era::kModern && sampling == nullptr)
    return call->fail({kMissingCapability, "this tool needs sampling", R"({"requiredCapabilities":{"sampling":{}}})"});
  answer<6>(call);
}

constexpr std::string_view kPrompts = R"("prompts":[
{"name":"test_simple_prompt","description":"No arguments"},
{"name":"test_prompt_with_arguments","description":"Two arguments","arguments":[
{"name":"arg1","description":"First test argument","required":true},
{"name":"arg2","description":"Second test argument","required":true}]},
{"name":"test_prompt_with_embedded_resource","description":"Embeds a resource","arguments":[
{"name":"resourceUri","description":"URI of the resource to embed","required":true}]},
{"name":"test_prompt_with_image","description":"Has an image"}])";

std::string user_says(std::string_view content) { return cat(R"({"role":"user","content":)", content, "}"); }
std::string user_text(std::string_view text) {
  return user_says(cat(R"({"type":"text","text":)", json_string(text), "}"));
}

Members get_prompt(const Message& message) {
  auto name = message.params.text("name");
  const JsonValue* given = message.params.find("arguments");
  auto argument = [&](std::string_view which) { return given == nullptr ? std::string_view() : given->text(which); };
  std::string messages;
  if (name == "test_simple_prompt") {
    messages = user_text("This is a simple prompt for testing.");
  } else if (name == "test_prompt_with_arguments") {
    messages = user_text(cat("Prompt with arguments: arg1='", argument("arg1"), "', arg2='", argument("arg2"), "'"));
  } else if (name == "test_prompt_with_embedded_resource") {
    messages = cat(user_says(cat(R"({"type":"resource","resource":{"uri":)", json_string(argument("resourceUri")),
                                 R"(,"mimeType":"text/plain","text":"Embedded resource content for testing."}})")),
                   ",", user_text("Please process the embedded resource above."));
  } else if (name == "test_prompt_with_image") {
    messages = cat(user_says(HOTCELL_IMAGE), ",", user_text("Please analyze the image above."));
  } else {
    return RpcError{kInvalidParams, "unknown prompt", {}};
  }
  return cat("\"messages\":[", messages, "]");
}

std::string without_line_ends(std::string_view text) {
  std::string out(text);
  std::erase(out, '\n');
  return out;
}

}  // namespace

std::span<const Tool> fixture_tools() {
  static const Tool kTools[] = {
      {"test_simple_text", "", "Fixture", kNothing, {}, {}, ToolNeeds::kRead, answer<0>},
      {"test_image_content", "", "Fixture", kNothing, {}, {}, ToolNeeds::kRead, answer<1>},
      {"test_audio_content", "", "Fixture", kNothing, {}, {}, ToolNeeds::kRead, answer<2>},
      {"test_embedded_resource", "", "Fixture", kNothing, {}, {}, ToolNeeds::kRead, answer<3>},
      {"test_multiple_content_types", "", "Fixture", kNothing, {}, {}, ToolNeeds::kRead, answer<4>},
      {"test_error_handling", "", "Fixture", kNothing, {}, {}, ToolNeeds::kRead, answer<5>},
      {"test_tool_with_logging", "", "Fixture", kNothing, {}, {}, ToolNeeds::kRead, logging},
      {"test_logging_tool", "", "Fixture", kNothing, {}, {}, ToolNeeds::kRead, logging},
      {"test_tool_with_progress", "", "Fixture", kNothing, {}, {}, ToolNeeds::kRead, progress},
      {"test_missing_capability", "", "Fixture", kNothing, {}, {}, ToolNeeds::kRead, missing_capability},
      {"test_streaming_elicitation", "", "Fixture", kNothing, {}, {}, ToolNeeds::kRead, answer<6>},
      {"test_header_tool", "", "Fixture", kHeaderInput, {}, {}, ToolNeeds::kRead, answer<6>, kHeaderParams},
      {"json_schema_2020_12_tool", "", "Fixture", kSchema2020, {}, {}, ToolNeeds::kRead, answer<6>},
  };
  return kTools;
}

std::string_view fixture_capabilities() { return ",\"prompts\":{},\"completions\":{},\"logging\":{}"; }

std::string_view fixture_resources() {
  return R"({"uri":"test://static-text","name":"static-text","description":"Fixture","mimeType":"text/plain"},)"
         R"({"uri":"test://static-binary","name":"static-binary","description":"Fixture","mimeType":"image/png"})";
}

std::string_view fixture_templates() {
  return R"({"uriTemplate":"test://template/{id}/data","name":"template","description":"Fixture","mimeType":"application/json"})";
}

std::optional<std::string> fixture_contents(std::string_view uri) {
  constexpr std::string_view kHead = "test://template/", kTail = "/data";
  if (uri == "test://static-text")
    return R"("contents":[{"uri":"test://static-text","mimeType":"text/plain",)"
           R"("text":"This is the content of the static text resource."}])";
  if (uri == "test://static-binary")
    return R"("contents":[{"uri":"test://static-binary","mimeType":"image/png","blob":")" HOTCELL_PNG "\"}]";
  if (!uri.starts_with(kHead) || !uri.ends_with(kTail) || uri.size() <= kHead.size() + kTail.size())
    return std::nullopt;
  auto id = uri.substr(kHead.size(), uri.size() - kHead.size() - kTail.size());
  std::string text = cat("{\"id\":", json_string(id), ",\"templateTest\":true,\"data\":",
                         json_string(cat("Data for ID: ", id)), "}");
  return cat("\"contents\":[{\"uri\":", json_string(uri),
             ",\"mimeType\":\"application/json\",\"text\":", json_string(text), "}]");
}

std::optional<Members> fixture_method(const Message& message) {
  bool legacy = message.era == Era::kLegacy;
  if (message.method == "prompts/list") return without_line_ends(kPrompts);
  if (message.method == "prompts/get") return get_prompt(message);
  if (message.method == "completion/complete")
    return R"("completion":{"values":["paris","park","party"],"hasMore":false})";
  if (legacy && (message.method == "logging/setLevel" || message.method == "resources/subscribe" ||
                 message.method == "resources/unsubscribe"))
    return std::string();
  return std::nullopt;
}

}  // namespace hotcell::server::mcp
