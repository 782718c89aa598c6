#include "server/http/exchange.h"

#include "base/json_write.h"
#include "server/http/door_words.h"

namespace hotcell::server {
namespace {

std::optional<std::string_view> first(const std::vector<std::pair<std::string, std::string>>& list,
                                      std::string_view name) {
  for (const auto& [key, value] : list)
    if (key == name) return value;
  return std::nullopt;
}

}  // namespace

std::optional<std::string_view> HttpRequest::header(std::string_view lower_name) const {
  return first(headers, lower_name);
}

std::optional<std::string_view> HttpRequest::param(std::string_view query_name) const {
  return first(query, query_name);
}

HttpResponse error_response(int status, std::string_view message, std::string_view reason) {
  JsonWriter json;
  json.begin_object();
  json.field("message", door_words(message));
  if (!reason.empty()) json.field("reason", reason);
  json.end_object();
  HttpResponse response;
  response.status = status;
  response.body = json.take();
  return response;
}

}  // namespace hotcell::server
