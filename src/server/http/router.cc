// Routes are few and are tried in order; those without parameters are compared as wholes, so that a path of a hundred
// thousand slashes costs no more than its length.
#include <algorithm>

#include "base/strings.h"
#include "server/http/exchange.h"

namespace hotcell::server {
namespace {

// "/a/:id/*" → {"a", ":id", "*"}; "/" → {""}.
std::vector<std::string> parts_of(std::string_view pattern) {
  if (pattern.starts_with('/')) pattern.remove_prefix(1);
  std::vector<std::string> parts;
  for (std::string_view part : split(pattern, '/')) parts.emplace_back(part);
  return parts;
}

bool matches(const std::vector<std::string>& parts, std::string_view path, std::vector<std::string>& params) {
  params.clear();
  path.remove_prefix(1);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string& part = parts[i];
    if (part == "*") {
      params.emplace_back(path);
      return true;
    }
    const std::size_t slash = path.find('/');
    const std::string_view piece = path.substr(0, slash);
    const bool last = i + 1 == parts.size();
    if (last != (slash == std::string_view::npos)) return false;
    if (part.starts_with(':')) {
      if (piece.empty()) return false;
      params.emplace_back(piece);
    } else if (piece != part) {
      return false;
    }
    if (!last) path.remove_prefix(slash + 1);
  }
  return true;
}

}  // namespace

void Router::add(std::string_view method, std::string_view pattern, Scope scope, Handler handler, BodyKind body) {
  routes_.push_back({std::string(method), parts_of(pattern), scope, std::move(handler), body});
}

Router::Match Router::match(std::string_view method, std::string_view path) const {
  Match out;
  if (!path.starts_with('/')) return out;
  const Route* get = nullptr;
  std::vector<std::string> params, get_params;
  for (const Route& route : routes_) {
    if (!matches(route.parts, path, params)) continue;
    if (route.method == method) {
      out.handler = &route.handler;
      out.scope = route.scope;
      out.body = route.body;
      out.params = std::move(params);
      out.allowed.clear();
      return out;
    }
    if (route.method == "GET" && get == nullptr) {
      get = &route;
      get_params = params;
    }
    if (std::find(out.allowed.begin(), out.allowed.end(), route.method) == out.allowed.end())
      out.allowed.push_back(route.method);
  }
  if (get == nullptr) return out;
  // HEAD is GET whose body the session leaves out.
  if (method == "HEAD") {
    out.handler = &get->handler;
    out.scope = get->scope;
    out.params = std::move(get_params);
    out.allowed.clear();
  } else {
    out.allowed.emplace_back("HEAD");
  }
  return out;
}

}  // namespace hotcell::server
