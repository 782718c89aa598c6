#include <array>

#include "base/strings.h"
#include "server/rest/errors.h"
#include "server/rest/json_reader.h"
#include "server/rest/routes.h"

namespace hotcell::server {

namespace {

constexpr std::array<std::string_view, 6> kFields = {"text", "command", "arguments", "kinds", "allowed_domains", "rules"};

Result<InspectQuestion> read_request(const HttpRequest& request) {
  TRY_SET(auto body, parse_body(request.body));
  TRY_SET(auto reader, JsonReader::of(body, "", kFields));
  InspectQuestion question;
  int forms = 0;
  for (std::string_view form : {"text", "command"}) {
    if (reader.find(form) == nullptr) continue;
    ++forms;
    question.as = form;
    TRY(reader.read(form, question.text));
  }
  if (const JsonValue* arguments = reader.find("arguments")) {
    ++forms;
    question.as = "arguments";
    question.text = json_text(*arguments);
  }
  if (forms != 1) return make_error(ErrorCode::kInvalid, "one of text, command and arguments is required");
  TRY(reader.read("kinds", question.kinds));
  TRY(reader.read("allowed_domains", question.allowed_domains));
  std::string rules;
  TRY(reader.read("rules", rules));
  if (!rules.empty()) question.rules.emplace_back("rules", std::move(rules));
  return question;
}

void inspect(Services& services, ExchangePtr exchange) {
  auto question = read_request(exchange->request());
  if (!question.ok()) return exchange->respond(error_answer(question.error()));
  if (!services.inspect) return exchange->respond(error_response(501, "texts cannot be inspected here", "unsupported"));
  services.inspect(std::move(question).value(), exchange->request().caller.name, [exchange](Result<std::string> inspection) {
    if (!inspection.ok()) return exchange->respond(error_answer(inspection.error()));
    HttpResponse answer;
    answer.body = std::move(inspection).value();
    exchange->respond(std::move(answer));
  });
}

}  // namespace

void add_inspect_routes(RouteList& routes, Services& services) {
  routes.push_back({"POST", "/api/v1/inspect", Scope::kRun, [&services](ExchangePtr x) { inspect(services, std::move(x)); }});
}

}  // namespace hotcell::server
