#include "net/trust_store.h"

#include <gtest/gtest.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/strings.h"
#include "sys/file.h"

namespace hotcell::net {
namespace {

std::string output_of(const std::string& command) {
  std::string out;
  FILE* pipe = ::popen(cat("{ ", command, "; } 2>&1").c_str(), "r");
  if (pipe == nullptr) return out;
  char chunk[4096];
  for (std::size_t n; (n = ::fread(chunk, 1, sizeof chunk, pipe)) > 0;) out.append(chunk, n);
  ::pclose(pipe);
  return out;
}

TEST(TrustStore, AJavaMachineReadsWhatOpensslMade) {
  std::string pem;
  for (auto name : {"one", "two"})
    pem += output_of(cat("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=", std::string_view(name), " -keyout /dev/null 2>/dev/null"));
  auto made = java_trust_store(cat("# a comment\n", pem));
  ASSERT_TRUE(made.ok()) << made.error().message;
  const char* tmp = ::getenv("TMPDIR");
  std::string file = cat(tmp != nullptr ? tmp : "/tmp", "/hotcell-trust-XXXXXX");
  int fd = ::mkstemp(file.data());
  ASSERT_GE(fd, 0);
  EXPECT_TRUE(sys::write_all(fd, made.value()).ok());
  ::close(fd);
  // openssl's reader: a store without a checksum, the certificates as they were.
  std::string shown = output_of(cat("openssl pkcs12 -in ", file, " -nokeys -nomacver -passin pass: | grep -c BEGIN"));
  EXPECT_EQ(shown, "2\n") << shown;
  shown = output_of(cat("keytool -list -v -storetype PKCS12 -keystore ", file, " </dev/null"));
  std::size_t trusted = 0;
  for (std::size_t at = 0; (at = shown.find("trustedCertEntry", at)) != shown.npos; ++at) ++trusted;
  EXPECT_EQ(trusted, 2u) << shown;
  EXPECT_NE(shown.find("CN=one"), std::string::npos) << shown;
  EXPECT_NE(shown.find("CN=two"), std::string::npos) << shown;
  ::unlink(file.c_str());
}

TEST(TrustStore, WhatIsNoCertificateIsRefused) {
  EXPECT_FALSE(java_trust_store("").ok());
  EXPECT_FALSE(java_trust_store("-----BEGIN CERTIFICATE-----\nAAAA\n").ok());
  EXPECT_FALSE(java_trust_store("-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n").ok());
  EXPECT_FALSE(java_trust_store("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n").ok());
}

}  // namespace
}  // namespace hotcell::net
