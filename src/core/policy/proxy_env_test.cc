#include "core/policy/proxy_env.h"

#include <gtest/gtest.h>

namespace hotcell {
namespace {

TEST(ProxyEnvironment, EveryWayAProgramAsksInBothSpellings) {
  auto env = proxy_environment(8080);
  for (auto name : {"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"}) EXPECT_EQ(env[name], "http://127.0.0.1:8080") << name;
  for (auto name : {"NO_PROXY", "no_proxy"}) EXPECT_EQ(env[name], "localhost,127.0.0.1,::1") << name;
  for (auto option : {"-Dhttp.proxyHost=127.0.0.1", "-Dhttp.proxyPort=8080", "-Dhttps.proxyHost=127.0.0.1", "-Dhttps.proxyPort=8080"})
    EXPECT_NE(env["JAVA_TOOL_OPTIONS"].find(option), std::string::npos) << option;
  EXPECT_FALSE(env.contains("NODE_OPTIONS")) << "outside of a cell there is no such file";
  EXPECT_EQ(cell_proxy_environment()["NODE_OPTIONS"], "--require=/run/hotcell/node-proxy.cjs");
}

TEST(ProxyEnvironment, WhatToTrustForEveryProgramThatTakesAFile) {
  auto env = ca_environment("/x/ca.pem", "/x/ca.p12");
  for (auto name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO", "NODE_EXTRA_CA_CERTS", "npm_config_cafile", "AWS_CA_BUNDLE"})
    EXPECT_EQ(env[name], "/x/ca.pem") << name;
  EXPECT_NE(env["JAVA_TOOL_OPTIONS"].find("-Djavax.net.ssl.trustStore=/x/ca.p12"), std::string::npos);
  EXPECT_NE(env["JAVA_TOOL_OPTIONS"].find("-Dhttps.proxyPort="), std::string::npos) << "the proxy is not forgotten for it";
}

}  // namespace
}  // namespace hotcell
