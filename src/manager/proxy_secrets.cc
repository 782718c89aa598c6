// Secrets for proxies of the library (hotcell/proxy.h).
#include <algorithm>

#include "base/strings.h"
#include "core/remote/launcher_process.h"
#include "manager/secret_request.h"
#include "net/egress_secrets.h"

namespace hotcell {

namespace {

class ProxySecretsImpl final : public net::EgressSecrets {
 public:
  explicit ProxySecretsImpl(std::shared_ptr<net::TlsInserter> inserter) : inserter_(std::move(inserter)) {}

  Result<void> place(const Policy& policy, Request& request) override {
    for (const auto& s : inserter_->secrets())
      if (std::find(policy.env.pass.begin(), policy.env.pass.end(), s.name) != policy.env.pass.end())
        return make_error(ErrorCode::kInvalid, cat("secrets: the policy passes ", printable(s.name), " on to the program as it is"));
    return place_secrets(*inserter_, policy, request).context("secrets");
  }
  std::string clean(std::string_view text) const override { return net::scrubbed(text, inserter_->secrets()); }
  const std::shared_ptr<net::TlsInserter>& inserter() const override { return inserter_; }

 private:
  std::shared_ptr<net::TlsInserter> inserter_;
};

}  // namespace

Result<std::shared_ptr<ProxySecrets>> ProxySecrets::start(const ProxySecretsOptions& options) {
  if (options.values.empty()) return make_error(ErrorCode::kInvalid, "secrets: there are none");
  TRY_SET(auto secrets, net::make_secrets(options.values));
  std::string program = options.program;
  if (program.empty()) {
    TRY_SET(program, remote::find_program_of_ours("hotcell-tls").context("secrets"));
  }
  TRY_SET(auto inserter, net::TlsInserter::start(program, std::move(secrets), options.authorities).context("secrets"));
  return std::shared_ptr<ProxySecrets>(std::make_shared<ProxySecretsImpl>(std::move(inserter)));
}

}  // namespace hotcell
