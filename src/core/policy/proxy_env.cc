#include "core/policy/proxy_env.h"

#include "base/strings.h"

namespace hotcell {

std::map<std::string, std::string> proxy_environment(std::uint16_t port, std::string_view host) {
  std::string url = cat("http://", host, ":", port), local = "localhost,127.0.0.1,::1";
  std::map<std::string, std::string> env;
  // In both cases: some programs read the one (curl takes http_proxy in small letters alone), some the other.
  for (const char* name : {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}) env[name] = url;
  env["NO_PROXY"] = env["no_proxy"] = local;
  env["NODE_USE_ENV_PROXY"] = "1";
  std::string java;
  for (const char* scheme : {"http", "https"}) java += cat("-D", scheme, ".proxyHost=", host.starts_with('[') ? host.substr(1, host.size() - 2) : host, " -D", scheme, ".proxyPort=", port, " ");
  env["JAVA_TOOL_OPTIONS"] = java + "-Dhttp.nonProxyHosts=localhost|127.*|[::1]";
  return env;
}

std::map<std::string, std::string> cell_proxy_environment() {
  auto env = proxy_environment(kProxyPort);
  env["NODE_OPTIONS"] = cat("--require=/", std::string_view(kNodeProxyFile));
  return env;
}

std::map<std::string, std::string> ca_environment(const std::string& file, const std::string& java) {
  std::map<std::string, std::string> env;
  for (const char* name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO",
                           "NODE_EXTRA_CA_CERTS", "npm_config_cafile", "AWS_CA_BUNDLE"})
    env[name] = file;
  env["JAVA_TOOL_OPTIONS"] = cat(proxy_environment(kProxyPort)["JAVA_TOOL_OPTIONS"], " -Djavax.net.ssl.trustStore=", java, " -Djavax.net.ssl.trustStoreType=PKCS12");
  return env;
}

}  // namespace hotcell
