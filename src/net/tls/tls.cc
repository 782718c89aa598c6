#include "net/tls/tls.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>
#include <cstdlib>
#include <map>
#include <mutex>

#include "base/strings.h"

namespace hotcell::net {
namespace {

constexpr long kDays = 7;  // longer than any cell lives
constexpr time_t kWaitSeconds = 300;
constexpr std::size_t kMostContexts = 256;

template <auto Free>
struct Freed {
  template <typename T>
  void operator()(T* p) const { Free(p); }
};
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Cert = std::unique_ptr<X509, Freed<X509_free>>;
using Context = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using Session = std::unique_ptr<SSL, Freed<SSL_free>>;

Error failed(std::string_view what) {
  char text[256] = "unknown";
  if (auto code = ERR_get_error(); code != 0) ERR_error_string_n(code, text, sizeof text);
  ERR_clear_error();
  return make_error(ErrorCode::kIo, cat(what, ": ", text));
}

void time_limits(int fd) {
  timeval t{kWaitSeconds, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
  ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
}

Result<void> add_extension(X509* cert, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX ctx;
  X509V3_set_ctx_nodb(&ctx);
  X509V3_set_ctx(&ctx, issuer, cert, nullptr, nullptr, 0);
  X509_EXTENSION* e = X509V3_EXT_conf_nid(nullptr, &ctx, nid, value.c_str());
  if (e == nullptr) return failed(cat("certificate: ", value));
  int done = X509_add_ext(cert, e, -1);
  X509_EXTENSION_free(e);
  if (done != 1) return failed("certificate");
  return {};
}

Result<Cert> begin_certificate(EVP_PKEY* key, const std::string& name, X509* issuer) {
  Cert cert(X509_new());
  unsigned char serial[16];
  if (!cert || RAND_bytes(serial, sizeof serial) != 1) return failed("certificate");
  serial[0] &= 0x7f;
  std::unique_ptr<BIGNUM, Freed<BN_free>> number(BN_bin2bn(serial, sizeof serial, nullptr));
  BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(cert.get()));
  X509_set_version(cert.get(), X509_VERSION_3);
  X509_gmtime_adj(X509_getm_notBefore(cert.get()), -3600);  // clocks differ
  X509_gmtime_adj(X509_getm_notAfter(cert.get()), kDays * 86400);
  X509_set_pubkey(cert.get(), key);
  X509_NAME* subject = X509_get_subject_name(cert.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name.substr(0, 64).c_str()), -1, -1, 0);
  X509_set_issuer_name(cert.get(), issuer != nullptr ? X509_get_subject_name(issuer) : subject);
  return cert;
}

void end_gently(int fd) {
  ::shutdown(fd, SHUT_WR);
  timeval t{2, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
  char chunk[16384];
  for (int rounds = 0; rounds < 64 && ::recv(fd, chunk, sizeof chunk, 0) > 0; ++rounds) {
  }
}

class SslStream final : public ByteStream {
 public:
  SslStream(sys::Fd fd, Session ssl) : fd_(std::move(fd)), ssl_(std::move(ssl)) {}
  void finish() override {
    if (!broken_) SSL_shutdown(ssl_.get());
    ERR_clear_error();
    end_gently(fd_.get());
  }
  long read(char* into, std::size_t most) override {
    std::size_t got = 0;
    errno = 0;
    if (SSL_read_ex(ssl_.get(), into, most, &got) == 1) return static_cast<long>(got);
    int why = SSL_get_error(ssl_.get(), 0);
    ERR_clear_error();
    if (why == SSL_ERROR_ZERO_RETURN) return 0;
    // Ours block, and one that has waited too long says the same with EAGAIN.
    if (why == SSL_ERROR_WANT_READ && errno != EAGAIN) return kNothing;
    broken_ = true;
    return -1;
  }
  bool write(std::string_view bytes) override {
    std::size_t sent = 0;
    while (!bytes.empty()) {
      if (SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &sent) != 1) {
        ERR_clear_error();
        broken_ = true;
        return false;
      }
      bytes.remove_prefix(sent);
    }
    return true;
  }
  bool buffered() const override { return SSL_pending(ssl_.get()) > 0; }
  int fd() const override { return fd_.get(); }

 private:
  sys::Fd fd_;
  Session ssl_;
  bool broken_ = false;
};

class PlainStream final : public ByteStream {
 public:
  explicit PlainStream(sys::Fd fd) : fd_(std::move(fd)) { time_limits(fd_.get()); }
  long read(char* into, std::size_t most) override {
    for (;;) {
      ssize_t n = ::recv(fd_.get(), into, most, 0);
      if (n < 0 && errno == EINTR) continue;
      return n;
    }
  }
  bool write(std::string_view bytes) override {
    while (!bytes.empty()) {
      ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  void finish() override { end_gently(fd_.get()); }
  bool buffered() const override { return false; }
  int fd() const override { return fd_.get(); }

 private:
  sys::Fd fd_;
};

// Requests are framed as HTTP/1.1: nothing else is offered.
int choose_protocol(SSL*, const unsigned char** out, unsigned char* size, const unsigned char* in, unsigned in_size, void*) {
  static constexpr unsigned char kHttp[] = "\x08http/1.1";
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, size, kHttp, sizeof kHttp - 1, in, in_size) != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_NOACK;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

class CellTlsImpl final : public CellTls {
 public:
  Result<void> open(const std::vector<std::string>& names, const std::string& authorities) {
    key_.reset(EVP_EC_gen("P-256"));
    leaf_key_.reset(EVP_EC_gen("P-256"));
    if (!key_ || !leaf_key_) return failed("key");
    TRY_SET(authority_, begin_certificate(key_.get(), "hotcell, for one cell", nullptr));
    X509* ca = authority_.get();
    TRY(add_extension(ca, ca, NID_basic_constraints, "critical,CA:TRUE,pathlen:0"));
    TRY(add_extension(ca, ca, NID_key_usage, "critical,keyCertSign,cRLSign"));
    TRY(add_extension(ca, ca, NID_subject_key_identifier, "hash"));
    std::string permitted;
    for (const auto& n : names) permitted += cat(permitted.empty() ? "critical," : ",", "permitted;", n);
    if (!permitted.empty()) TRY(add_extension(ca, ca, NID_name_constraints, permitted));
    if (X509_sign(ca, key_.get(), EVP_sha256()) == 0) return failed("certificate");
    client_.reset(SSL_CTX_new(TLS_client_method()));
    if (!client_) return failed("TLS");
    SSL_CTX_set_min_proto_version(client_.get(), TLS1_2_VERSION);
    SSL_CTX_clear_mode(client_.get(), SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_verify(client_.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_options(client_.get(), SSL_OP_IGNORE_UNEXPECTED_EOF);
    static constexpr unsigned char kHttp[] = "\x08http/1.1";
    SSL_CTX_set_alpn_protos(client_.get(), kHttp, sizeof kHttp - 1);
    int trusted = authorities.empty() ? SSL_CTX_set_default_verify_paths(client_.get()) : SSL_CTX_load_verify_file(client_.get(), authorities.c_str());
    if (trusted != 1) return failed(cat("certificates ", authorities));
    return {};
  }

  std::string certificate() const override {
    std::unique_ptr<BIO, Freed<BIO_free_all>> out(BIO_new(BIO_s_mem()));
    if (!out || PEM_write_bio_X509(out.get(), authority_.get()) != 1) return {};
    char* data = nullptr;
    long size = BIO_get_mem_data(out.get(), &data);
    return std::string(data, static_cast<std::size_t>(size));
  }

  Result<std::unique_ptr<ByteStream>> accept(sys::Fd client, const Host& as) override {
    TRY_SET(Session ssl, session_for(as));
    time_limits(client.get());
    if (!ssl || SSL_set_fd(ssl.get(), client.get()) != 1 || SSL_accept(ssl.get()) != 1) return failed("TLS of the cell");
    return std::unique_ptr<ByteStream>(std::make_unique<SslStream>(std::move(client), std::move(ssl)));
  }

  Result<std::unique_ptr<ByteStream>> connect(sys::Fd server, const Host& to) override {
    Session ssl(SSL_new(client_.get()));
    time_limits(server.get());
    if (!ssl || SSL_set_fd(ssl.get(), server.get()) != 1) return failed("TLS");
    // A secret is for this server alone: its name is checked, or its address.
    if (to.address) {
      X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), to.name.c_str());
    } else if (SSL_set1_host(ssl.get(), to.name.c_str()) != 1 ||
               SSL_ctrl(ssl.get(), SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, const_cast<char*>(to.name.c_str())) != 1) {
      return failed("TLS");
    }
    if (SSL_connect(ssl.get()) != 1) {
      long why = SSL_get_verify_result(ssl.get());
      if (why != X509_V_OK) {
        ERR_clear_error();
        return make_error(ErrorCode::kDenied, cat(to.name, " is not who it says: ", X509_verify_cert_error_string(why)));
      }
      return failed(cat("TLS with ", to.name));
    }
    return std::unique_ptr<ByteStream>(std::make_unique<SslStream>(std::move(server), std::move(ssl)));
  }

 private:
  // A session holds on to its context, so those that are made for later ones can be let go.
  Result<Session> session_for(const Host& host) {
    std::lock_guard lock(mutex_);
    // Below *.d a cell has as many names as it likes.
    if (servers_.size() >= kMostContexts && !servers_.contains(host.name)) servers_.clear();
    auto& context = servers_[host.name];
    if (!context) {
      TRY_SET(context, make_context(host));
    }
    return Session(SSL_new(context.get()));
  }

  Result<Context> make_context(const Host& host) {
    TRY_SET(Cert cert, begin_certificate(leaf_key_.get(), host.name, authority_.get()));
    TRY(add_extension(cert.get(), authority_.get(), NID_basic_constraints, "critical,CA:FALSE"));
    TRY(add_extension(cert.get(), authority_.get(), NID_ext_key_usage, "serverAuth"));
    TRY(add_extension(cert.get(), authority_.get(), NID_subject_alt_name, cat(host.address ? "IP:" : "DNS:", host.name)));
    TRY(add_extension(cert.get(), authority_.get(), NID_authority_key_identifier, "keyid"));
    if (X509_sign(cert.get(), key_.get(), EVP_sha256()) == 0) return failed("certificate");
    Context made(SSL_CTX_new(TLS_server_method()));
    if (!made || SSL_CTX_use_certificate(made.get(), cert.get()) != 1 || SSL_CTX_use_PrivateKey(made.get(), leaf_key_.get()) != 1) return failed("TLS");
    SSL_CTX_set_min_proto_version(made.get(), TLS1_2_VERSION);
    SSL_CTX_set_options(made.get(), SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_clear_mode(made.get(), SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_alpn_select_cb(made.get(), choose_protocol, nullptr);
    return made;
  }

  Key key_, leaf_key_;
  Cert authority_;
  Context client_;
  std::mutex mutex_;
  std::map<std::string, Context> servers_;
};

}  // namespace

Result<std::unique_ptr<CellTls>> CellTls::create(const std::vector<std::string>& names, const std::string& authorities) {
  auto out = std::make_unique<CellTlsImpl>();
  TRY(out->open(names, authorities));
  return std::unique_ptr<CellTls>(std::move(out));
}

std::unique_ptr<ByteStream> plain_stream(sys::Fd fd) { return std::make_unique<PlainStream>(std::move(fd)); }

std::vector<std::string> prepare_tls() {
  OPENSSL_init_ssl(OPENSSL_INIT_LOAD_SSL_STRINGS, nullptr);
  // Folders of certificates hold links into the others.
  std::vector<std::string> places = {X509_get_default_cert_file(), X509_get_default_cert_dir(), "/etc/ssl/certs", "/usr/share/ca-certificates",
                                     "/usr/local/share/ca-certificates", "/etc/pki"};
  for (const char* name : {X509_get_default_cert_file_env(), X509_get_default_cert_dir_env()})
    if (const char* value = ::secure_getenv(name); value != nullptr && *value != '\0') places.emplace_back(value);
  return places;
}

}  // namespace hotcell::net
