// /openapi.json and a page made from it, without a script.
#include "base/strings.h"
#include "server/rest/openapi.h"
#include "server/rest/errors.h"
#include "server/json/json_value.h"
#include "server/rest/routes.h"

namespace hotcell::server {

namespace {

constexpr std::string_view kStyle =
    ":root{color-scheme:light dark}"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "h2{margin-top:2.5rem;border-bottom:1px solid #8888;text-transform:capitalize}"
    "section{margin:1.5rem 0}h3{margin:0;font:600 1rem ui-monospace,monospace}"
    "h3 b{display:inline-block;min-width:4.5rem}p{margin:.25rem 0}"
    "table{border-collapse:collapse;margin:.25rem 0}td{padding:.1rem 1rem .1rem 0;vertical-align:top}"
    "code{font-family:ui-monospace,monospace}";
constexpr std::string_view kPolicy =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string escaped(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else if (c == '"') out += "&quot;";
    else out += c;
  }
  return out;
}

std::string text_in(const JsonValue& value, std::string_view name) { return escaped(value.text(name)); }

void write_rows(std::string& out, const JsonValue& operation) {
  out += "<table>";
  for (const auto& p : operation.items("parameters")) {
    if (p.find("name") == nullptr) continue;
    out += cat("<tr><td><code>", text_in(p, "name"), "</code></td><td>", text_in(p, "in"), "</td><td>",
               text_in(p, "description"), "</td></tr>");
  }
  for (const auto& a : operation.members("responses")) {
    if (a.value.find("description") == nullptr) continue;
    out += cat("<tr><td><code>", escaped(a.name), "</code></td><td>answer</td><td>", text_in(a.value, "description"), "</td></tr>");
  }
  out += "</table>";
}

void write_operation(std::string& out, std::string_view path, const JsonMember& operation) {
  std::string method = operation.name;
  for (char& c : method) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
  out += cat("<section><h3><b>", escaped(method), "</b> ", escaped(path), "</h3><p>", text_in(operation.value, "summary"),
             "</p><p>", text_in(operation.value, "description"), "</p>");
  write_rows(out, operation.value);
  out += "</section>";
}

std::string docs_page(const JsonValue& document) {
  const JsonValue* info = document.find("info");
  std::string out = cat("<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content=\"width=device-width\">",
                        "<title>hotcell API</title><link rel=stylesheet href=/docs/style.css><h1>hotcell API</h1><p>",
                        info == nullptr ? "" : text_in(*info, "description"),
                        "</p><p>For programs: <a href=/openapi.json>openapi.json</a></p>");
  for (const auto& tag : document.items("tags")) {
    out += cat("<h2>", text_in(tag, "name"), "</h2><p>", text_in(tag, "description"), "</p>");
    for (const auto& path : document.members("paths")) {
      if (path.value.object() == nullptr) continue;
      for (const auto& operation : *path.value.object()) {
        const auto& its = operation.value.items("tags");
        if (its.empty() || its.front().string() == nullptr || escaped(*its.front().string()) != text_in(tag, "name"))
          continue;
        write_operation(out, path.name, operation);
      }
    }
  }
  return out;
}

HttpResponse page(std::string_view type, std::string body) {
  HttpResponse answer;
  answer.content_type = std::string(type);
  answer.body = std::move(body);
  answer.headers.emplace_back("Content-Security-Policy", std::string(kPolicy));
  return answer;
}

}  // namespace

void add_document_routes(RouteList& routes, Services& services) {
  routes.push_back({"GET", "/openapi.json", Scope::kNone,
                    [](ExchangePtr x) { x->respond(json_answer(std::string(openapi_document()))); }});
  if (!services.config.docs) return;
  routes.push_back({"GET", "/docs", Scope::kNone, [](ExchangePtr x) {
                      auto document = parse_json(openapi_document(), JsonBounds{64, 1'000'000});
                      if (!document.ok()) return x->respond(error_answer(document.error()));
                      x->respond(page("text/html; charset=utf-8", docs_page(document.value())));
                    }});
  routes.push_back({"GET", "/docs/style.css", Scope::kNone,
                    [](ExchangePtr x) { x->respond(page("text/css; charset=utf-8", std::string(kStyle))); }});
}

}  // namespace hotcell::server
