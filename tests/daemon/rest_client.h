// A running daemon, and the plainest HTTP client there is.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "support/leak_check.h"

namespace hotcell::testing {

struct HttpAnswer {
  int status = 0;             // 0: no answer
  std::string type, body;     // of a chunked answer the pieces together
  std::vector<std::pair<std::string, std::string>> headers;   // names in lower case
  std::string header(std::string_view name) const;
};
std::string program_path();   // of the hotcell beside this test
// The raw text of a string member, wherever it is. Good enough for what hotcell itself writes: one line, no spaces around the colon.
std::string field(const std::string& json, const std::string& name);
using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

// `hotcell serve --listen 127.0.0.1:0 --state FOLDER --ready-fd N`: when it is ready it writes the address it listens on,
// one line, to N.
class DaemonFixture : public LeakCheck {
 protected:
  void SetUp() override;
  void TearDown() override;   // SIGTERM, and it must go by itself

  HttpAnswer send(const std::string& method, const std::string& target, const std::string& body = {},
                  const HttpHeaders& headers = {});
  void note(const std::string& method, const std::string& target, const HttpAnswer& answer);   // among `recorded`
  // The connection after the request went out, for who wants to leave early. The caller closes it.
  int send_only(const std::string& method, const std::string& target, const std::string& body, const HttpHeaders& headers = {});

  void start_daemon();        // in `state`
  void end_daemon();          // SIGTERM, and it must go by itself
  void kill_daemon();         // SIGKILL to its first process

  std::string config;         // YAML, if it is to be told anything; before SetUp
  std::vector<std::string> serve_words;   // of serve, behind the others; before SetUp
  HttpHeaders variables;      // of its environment, beside ours; before SetUp
  std::string state;          // its folder
  int port = 0;
  int daemon_pid() const { return pid_; }
  bool record = true;         // off where several threads ask
  std::string recorded;       // every JSON answer, as tests/openapi/check reads them

 private:
  int pid_ = 0;
};

}  // namespace hotcell::testing
