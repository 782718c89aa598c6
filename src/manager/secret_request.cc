#include "manager/secret_request.h"

#include <string>

#include "base/strings.h"
#include "core/policy/proxy_env.h"
#include "net/trust_store.h"

namespace hotcell {
namespace {

constexpr std::string_view kCaFile = ".hotcell-ca.pem", kJavaFile = ".hotcell-ca.p12";

}  // namespace

Result<void> place_secrets(net::TlsInserter& tls, const Policy& policy, Request& request) {
  for (const auto& s : tls.secrets()) request.env[s.name] = s.placeholder;
  TRY_SET(std::string trusted, tls.trusted());
  TRY_SET(std::string java, net::java_trust_store(trusted));
  request.files.push_back({std::string(kCaFile), std::move(trusted), 0444});
  request.files.push_back({std::string(kJavaFile), std::move(java), 0444});
  for (const auto& [name, value] : ca_environment(cat("/work/", kCaFile), cat("/work/", kJavaFile)))
    if (!policy.env.set.contains(name)) request.env.try_emplace(name, value);
  return {};
}

}  // namespace hotcell
