// TLS with a certificate made for the test, spoken to by OpenSSL's own client.
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "server/http/test_client.h"

namespace hotcell::server {
namespace {

using testing::body_of;
using testing::Client;
using testing::eventually;
using testing::status_of;
using testing::TestServer;
namespace fs = std::filesystem;

class Tls : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "hotcell-tls-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    make(cert(), key());
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string cert() const { return folder_ / "cert.pem"; }
  std::string key() const { return folder_ / "key.pem"; }

  static void make(const std::string& cert_file, const std::string& key_file) {
    EVP_PKEY* key = EVP_EC_gen("P-256");
    X509* cert = X509_new();
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -60);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_set_pubkey(cert, key);
    const unsigned char name[] = "localhost";
    X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC, name, -1, -1, 0);
    X509_set_issuer_name(cert, X509_get_subject_name(cert));
    X509_sign(cert, key, EVP_sha256());
    FILE* f = std::fopen(cert_file.c_str(), "we");
    PEM_write_X509(f, cert);
    std::fclose(f);
    f = std::fopen(key_file.c_str(), "we");
    PEM_write_PrivateKey(f, key, nullptr, nullptr, 0, nullptr, nullptr);
    std::fclose(f);
    X509_free(cert);
    EVP_PKEY_free(key);
  }

  static void routes(Router& router, TestServer&) {
    router.add("GET", "/hello", Scope::kNone, [](ExchangePtr x) {
      HttpResponse r;
      r.body = "hello";
      x->respond(r);
    });
    router.add("POST", "/echo", Scope::kNone, [](ExchangePtr x) {
      HttpResponse r;
      r.body = x->request().body;
      x->respond(r);
    });
  }

  // All that comes for these bytes; "" when there was no handshake.
  static std::string ask(std::uint16_t port, const std::string& bytes, int max_version = 0) {
    Client client(port);
    SSL_CTX* context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(context, TLS1_VERSION);
    SSL_CTX_set_security_level(context, 0);
    if (max_version != 0) SSL_CTX_set_max_proto_version(context, max_version);
    SSL* ssl = SSL_new(context);
    SSL_set_fd(ssl, client.fd());
    std::string out;
    if (SSL_connect(ssl) == 1) {
      std::size_t sent = 0;
      while (sent < bytes.size()) {
        const int n = SSL_write(ssl, bytes.data() + sent, static_cast<int>(bytes.size() - sent));
        if (n <= 0) break;
        sent += static_cast<std::size_t>(n);
      }
      char buffer[16384];
      int n;
      while ((n = SSL_read(ssl, buffer, sizeof buffer)) > 0) out.append(buffer, static_cast<std::size_t>(n));
      if (SSL_get_error(ssl, n) == SSL_ERROR_ZERO_RETURN) out += "<close_notify>";
    }
    ERR_clear_error();
    SSL_free(ssl);
    SSL_CTX_free(context);
    return out;
  }

  fs::path folder_;
};

TEST_F(Tls, ServesAndSaysGoodbye) {
  TestServer server(routes, {}, TlsContext::create(cert(), key()).value());
  const std::string answer = ask(server.port(), "GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_EQ(body_of(answer), "hello<close_notify>");
  const std::string large(2 << 20, 'x');
  const std::string echo =
      ask(server.port(), "POST /echo HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: " +
                             std::to_string(large.size()) + "\r\n\r\n" + large);
  EXPECT_TRUE(body_of(echo) == large + "<close_notify>");
  EXPECT_EQ(status_of(ask(server.port(), "GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
                          TLS1_2_VERSION)),
            200);
  EXPECT_TRUE(eventually([&] { return server.stats().open == 0; }));
}

TEST_F(Tls, OldVersionsAndPlainTextAreRefused) {
  ServerLimits limits;
  limits.header_timeout = std::chrono::milliseconds(300);
  TestServer server(routes, limits, TlsContext::create(cert(), key()).value());
  EXPECT_EQ(ask(server.port(), "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n", TLS1_1_VERSION), "");
  Client plain = server.connect();
  plain.send("GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(plain.read_to_end().find("HTTP/"), std::string::npos);
  Client silent = server.connect();
  EXPECT_EQ(silent.read_to_end(), "");
  EXPECT_TRUE(silent.ended()) << "a handshake that does not come is waited for no longer than a head";
}

TEST_F(Tls, WhatDoesNotBelongTogetherIsRefusedAtTheStart) {
  EXPECT_FALSE(TlsContext::create(folder_ / "missing", key()).ok());
  EXPECT_FALSE(TlsContext::create(cert(), folder_ / "missing").ok());
  make(folder_ / "other.pem", folder_ / "other-key.pem");
  EXPECT_FALSE(TlsContext::create(cert(), folder_ / "other-key.pem").ok());
}

}  // namespace
}  // namespace hotcell::server
