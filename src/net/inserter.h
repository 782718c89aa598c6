// The proxy's side of hotcell-tls, a program of its own that ends the cell's TLS, puts secrets into requests and begins
// TLS anew. It is apart since OpenSSL is the host's to keep up to date, and since it reads what a cell sends in the same
// address space as the secrets and the key of the cell's own certificate authority, which are nowhere else.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "net/proxy.h"
#include "net/secrets.h"

namespace hotcell::net {

class TlsInserter : public Inserter {
 public:
  // `authorities`: a file with the certificates that servers are checked against; empty: the host's own.
  static Result<std::shared_ptr<TlsInserter>> start(const std::string& program, std::vector<Secret> secrets, const std::string& authorities);
  // The same where somebody else has started it, and gave its socket.
  static Result<std::shared_ptr<TlsInserter>> begin(sys::Fd socket, std::vector<Secret> secrets);

  virtual const std::string& certificate() const = 0;  // of the authority that the cell must trust, PEM
  // What servers are checked against, and that certificate: for programs that take one file for all they trust.
  virtual Result<std::string> trusted() = 0;
  virtual const std::vector<Secret>& secrets() const = 0;
  virtual int socket() const = 0;                      // for inserter_over() in another process
};

// For a proxy that knows nothing of the secrets but where they are for. `socket`: of one that is ready.
Result<std::shared_ptr<Inserter>> inserter_over(sys::Fd socket, const std::vector<std::string>& hosts);

// What is said to it, each in one message: fields with NUL bytes between them, the first one a word.
inline constexpr std::string_view kTlsSecret = "secret", kTlsReady = "ready", kTlsServe = "serve", kTlsTrusted = "trusted";
std::string tls_message(std::initializer_list<std::string_view> fields);

// The certificates a program trusts when it is not told otherwise, and one more.
Result<std::string> trusted_with(std::string_view certificate, const std::string& authorities);

}  // namespace hotcell::net
