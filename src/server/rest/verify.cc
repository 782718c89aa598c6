#include <array>

#include "base/strings.h"
#include "server/rest/errors.h"
#include "server/rest/execute_spec.h"
#include "server/rest/json_reader.h"
#include "server/rest/routes.h"

namespace hotcell::server {

namespace {

constexpr std::array<std::string_view, 5> kFields = {"language", "code", "file", "profile", "format"};
constexpr std::array<std::string_view, 3> kFormats = {"json", "sarif", "text"};

struct Asked {
  VerifyQuestion question;
  std::string format = "json";
};

Result<Asked> read_request(Services& services, const HttpRequest& request) {
  TRY_SET(auto body, parse_body(request.body));
  TRY_SET(auto reader, JsonReader::of(body, "", kFields));
  Asked asked;
  std::string profile;
  TRY(reader.read_word("language", asked.question.language));
  TRY(reader.read("code", asked.question.code));
  TRY(reader.read_word("file", asked.question.file));
  TRY(reader.read_word("profile", profile));
  TRY(reader.read_choice("format", kFormats, asked.format));
  if (reader.find("code") == nullptr) return make_error(ErrorCode::kInvalid, "code is required");
  if (asked.question.language.empty() && asked.question.file.empty())
    return make_error(ErrorCode::kInvalid, "language is required, or file whose name tells it");
  const JobRules& rules = services.executions.rules();
  if (profile.empty()) {
    TRY_SET(auto usual, usual_profile(rules));
    asked.question.policy = std::move(usual.policy);
    return asked;
  }
  TRY(check_profile_known(profile, rules.profiles));
  TRY_SET(asked.question.policy, load_profile(profile, rules.profiles));
  return asked;
}

HttpResponse answer_of(const Verification& verification, const std::string& format, const std::string& source) {
  HttpResponse answer;
  if (format == "text") {
    answer.content_type = "text/plain; charset=utf-8";
    answer.body = verification_text(verification, source);
  } else if (format == "sarif") {
    answer.content_type = "application/sarif+json";
    answer.body = verification_sarif(std::span(&verification, 1));
  } else {
    answer.body = verification_json(std::span(&verification, 1));
  }
  return answer;
}

void verify(Services& services, ExchangePtr exchange) {
  auto asked = read_request(services, exchange->request());
  if (!asked.ok()) return exchange->respond(error_answer(asked.error()));
  std::string source = asked.value().question.code;
  auto answer = [exchange, format = asked.value().format, source = std::move(source)](Verification verification) {
    exchange->respond(answer_of(verification, format, source));
  };
  services.verify(std::move(asked.value().question), std::move(answer));
}

}  // namespace

void add_verify_routes(RouteList& routes, Services& services) {
  routes.push_back({"POST", "/api/v1/verify", Scope::kRun, [&services](ExchangePtr x) { verify(services, std::move(x)); }});
}

}  // namespace hotcell::server
