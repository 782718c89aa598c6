// Secrets by REST, MCP and run --daemon: for one execution and for lasting cells.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/strings.h"
#include "daemon/cells_fixture.h"
#include "e2e/cli.h"
#include "e2e/web_server.h"

namespace hotcell::testing {
namespace {

class DaemonSecrets : public CellsRest {
 protected:
  void SetUp() override {
    config = "network:\n  allow: [\"localhost\"]\n  private: [\"localhost\"]\n";
    ::setenv("SSL_CERT_FILE", (tls.folder() + "/cert").c_str(), 1);
    CellsRest::SetUp();
  }
  void TearDown() override {
    ::unsetenv("SSL_CERT_FILE");
    EXPECT_EQ(on_disk(), "") << "the value is in a file of the state folder";
    CellsRest::TearDown();
  }
  std::string on_disk() const {
    std::error_code failed;  // what goes meanwhile is gone
    std::filesystem::recursive_directory_iterator at(state, std::filesystem::directory_options::skip_permission_denied, failed), end;
    for (; !failed && at != end; at.increment(failed)) {
      std::error_code other;
      if (at->is_regular_file(other) && at->path().filename() != "leak" && has(read_text(at->path()), value)) return at->path();
    }
    return {};
  }
  // curl leaves local names to no proxy unless it is told.
  std::string script(const WebServer& server, const std::string& path) const {
    return "echo $TOKEN; curl -sS --noproxy '' -H \\\"X-T: $TOKEN\\\" " + server.url("localhost", "/headers") + "; curl -sS --noproxy '' -o /dev/null \\\"" +
           server.url("localhost", path) + "$TOKEN\\\"";
  }
  HttpAnswer execute(const std::string& line, const std::string& more) {
    return send("POST", "/api/v1/sandbox/execute", R"({"command":"sh","args":["-c",")" + line + R"("])" + more + "}");
  }
  const std::string secrets = R"(,"network":"proxy","secrets":{"TOKEN@localhost":"tok_Real-1234567890"})";
  const std::string value = "tok_Real-1234567890";
  WebServer web, tls{WebServer::Kind::kTls};
};

TEST_F(DaemonSecrets, OfOneExecutionAreUsedAndNeverSeen) {
  for (const WebServer* server : {&web, &tls}) {
    auto answer = execute(script(*server, "/q?key="), secrets);
    EXPECT_TRUE(has(server->asked(), "/q?key=" + value)) << server->asked() << answer.body;
    EXPECT_FALSE(has(answer.body, value)) << answer.body;
    EXPECT_TRUE(has(answer.body, "\"stdout\":\"hc")) << answer.body;
    EXPECT_TRUE(has(answer.body, "X-T: hc")) << answer.body;
    auto kept = send("GET", "/api/v1/executions/" + text_field(answer.body, "id"));
    EXPECT_FALSE(has(kept.body, value)) << kept.body;
  }
  // Code, too.
  auto answer = send("POST", "/api/v1/sandbox/execute",
                     cat(R"j({"env":{"no_proxy":"","NO_PROXY":""},"language":"python","code":"import os, urllib.request as u; print(u.urlopen('https://localhost:)j", tls.port(),
                         R"j(/py?key=' + os.environ['TOKEN']).status)")j", secrets, "}"));
  EXPECT_TRUE(has(answer.body, "\"stdout\":\"200\\n\"")) << answer.body;
  EXPECT_TRUE(has(tls.asked(), "/py?key=" + value)) << tls.asked();
}

TEST_F(DaemonSecrets, AreCleanedFromOutputAsItFlowsAndAfterwards) {
  web.file("/leak", value + "\n");
  // A program that has it by another way: the server's own word, on a port that no secret is for.
  const std::string other = cat(R"(,"network":"proxy","secrets":{"TOKEN@localhost:1":")", value, "\"}");
  const std::string fetch = "curl -sS --noproxy '' -o leak " + web.url("localhost", "/leak") + "; ";
  auto answer = execute(fetch + "wc -c < leak; head -c 7 leak; sleep 0.3; tail -c +8 leak; cat leak >&2", other);
  EXPECT_TRUE(has(answer.body, cat("\"stdout\":\"", value.size() + 1, "\\nhc"))) << answer.body;
  EXPECT_TRUE(has(answer.body, "\"stderr\":\"hc")) << answer.body;
  EXPECT_FALSE(has(answer.body, value)) << answer.body;
  auto output = send("GET", "/api/v1/executions/" + text_field(answer.body, "id") + "/output?stream=stdout");
  EXPECT_FALSE(has(output.body, value)) << output.body;
}

// Basic credentials, which the proxy itself writes anew in base64, and what is said of them.
TEST_F(DaemonSecrets, EchoedInBase64AreCleaned) {
  auto asked = [&](const WebServer& server) { return "curl -sS --noproxy '' -u \\\"user:$TOKEN\\\" " + server.url("localhost", "/headers"); };
  const std::string id = make(R"({"name":"basic","network":"proxy","secrets":{"TOKEN@localhost":"tok_Real-1234567890"}})");
  for (const WebServer* server : {&web, &tls})
    for (const auto& answer : {execute(asked(*server), secrets), send("POST", cell(id, "/exec"), R"({"command":"sh","args":["-c",")" + asked(*server) + "\"]}")}) {
      EXPECT_TRUE(has(answer.body, "Basic dXNlcj")) << answer.body;
      EXPECT_FALSE(has(answer.body, "b2tfUmVhbC0xMjM0NTY3ODkw")) << answer.body;
    }
}

TEST_F(DaemonSecrets, StayWithinTheConfigurationAndMakeSense) {
  for (const std::string where : {"elsewhere.test", "elsewhere.test:443", "*.localhost.test", "10.0.0.1"}) {
    const std::string other = cat(R"("network":"proxy","secrets":{"TOKEN@)", where, R"(":"tok_Real-1234567890"})");
    auto answer = execute("true", cat(",", other));
    EXPECT_EQ(answer.status, 422) << answer.body;
    EXPECT_TRUE(has(answer.body, where) && has(answer.body, "network.allow") && !has(answer.body, value)) << answer.body;
    answer = send("POST", "/api/v1/cells", cat("{", other, "}"));
    EXPECT_EQ(answer.status, 422) << "a lasting cell: " << answer.body;
  }
  EXPECT_EQ(execute("true", R"(,"network":"proxy","secrets":{"TOKEN@localhost:443":"tok_Real-1234567890"})").status, 200) << "the control";
  EXPECT_EQ(execute("true", R"(,"secrets":{"TOKEN@localhost":"tok_Real-1234567890"})").status, 400);
  EXPECT_EQ(execute("true", R"(,"network":"proxy","secrets":{"TOKEN":"tok_Real-1234567890"})").status, 400);
  EXPECT_EQ(execute("true", R"(,"network":"proxy","secrets":{"TO KEN@localhost":"tok_Real-1234567890"})").status, 400);
  EXPECT_EQ(execute("true", R"(,"network":"proxy","env":{"TOKEN":"x"},"secrets":{"TOKEN@localhost":"tok_Real-1234567890"})").status, 400);
  auto brief = execute("true", R"(,"network":"proxy","secrets":{"TOKEN@localhost":"short"})");
  EXPECT_EQ(brief.status, 400);
  EXPECT_FALSE(has(brief.body, "\"short\"")) << brief.body;
}

TEST_F(DaemonSecrets, ByTheCommandLineThroughTheDaemon) {
  int code = -1;
  auto text = shell_output({"/bin/sh", "-c",
                            cat("HOME=", state, " HOTCELL_LISTEN=127.0.0.1:", port, " TOKEN=", value, " ", program_path(),
                                " run --daemon --network proxy --secret TOKEN@localhost -- sh -c 'echo $TOKEN; curl -sS --noproxy \"\" -o /dev/null \"", web.url("localhost", "/d?key="),
                                "$TOKEN\"' </dev/null 2>&1")},
                           "", &code);
  EXPECT_EQ(code, 0) << text;
  EXPECT_TRUE(text.starts_with("hc") && text.size() == value.size() + 1) << text;
  EXPECT_TRUE(has(web.asked(), "/d?key=" + value)) << web.asked() << text;
}

TEST_F(DaemonSecrets, ByMcp) {
  auto call = [&](const std::string& tool, const std::string& arguments) {
    return send("POST", "/mcp", R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":")" + tool + R"(","arguments":)" + arguments + "}}",
                {{"Accept", "application/json, text/event-stream"}, {"MCP-Protocol-Version", "2025-06-18"}})
        .body;
  };
  const std::string given = R"("network":true,"secrets":{"TOKEN@localhost":"tok_Real-1234567890"})";
  auto said = call("run_command", R"({"command":")" + script(web, "/m?key=") + R"(",)" + given + "}");
  EXPECT_TRUE(has(web.asked(), "/m?key=" + value)) << web.asked() << said;
  EXPECT_FALSE(has(said, value)) << said;
  said = call("cell_create", R"({"name":"mine",)" + given + "}");
  EXPECT_TRUE(has(said, "running")) << said;
  said = call("cell_exec", R"({"cell":"mine","command":")" + script(web, "/c?key=") + "\"}");
  EXPECT_TRUE(has(web.asked(), "/c?key=" + value)) << web.asked() << said;
  EXPECT_FALSE(has(said, value)) << said;
}

TEST_F(DaemonSecrets, OfALastingCellAndThoseOfItsOwnerAreNotForTheFront) {
  const std::string id = make(R"({"name":"work","network":"proxy","secrets":{"TOKEN@localhost":"tok_Real-1234567890"}})");
  auto line = [&](const std::string& path) { return send("POST", cell(id, "/exec"), R"({"command":"sh","args":["-c",")" + script(tls, path) + "\"]}"); };
  auto answer = line("/l?key=");
  EXPECT_TRUE(has(tls.asked(), "/l?key=" + value)) << tls.asked() << answer.body;
  EXPECT_TRUE(has(answer.body, "X-T: hc") && !has(answer.body, value)) << answer.body;
  EXPECT_FALSE(has(send("GET", cell(id)).body, value));
  // After the keeper's end they are given again.
  ::kill(keeper_pid(), SIGKILL);
  HttpAnswer started;
  for (int i = 0; i < 100 && started.status != 409; ++i, ::usleep(100'000)) started = send("POST", cell(id, "/start"));
  EXPECT_TRUE(has(started.body, "give them again")) << started.body;
  EXPECT_EQ(send("POST", cell(id, "/start"), R"({"secrets":{"TOKEN@localhost":"tok_Real-1234567890"}})").status, 200);
  line("/again?key=");
  EXPECT_TRUE(has(tls.asked(), "/again?key=" + value)) << tls.asked();
  // The owner's own cell, by the command line: a network that is within the daemon's, and a secret of his.
  int code = -1;
  shell_output({"/usr/bin/env", "TOKEN=" + value, program_path(), "cell", "create", "--name", "owners", "--state", state, "--network", "proxy", "--allow-domain", "localhost", "--allow-private",
                "localhost", "--label", "hotcell.client=local", "--network-bytes", "1G", "--network-rate", "1M", "--network-connections", "8", "--network-time", "1h",
                "--network-connection-time", "1h"},
               "", &code);
  EXPECT_EQ(code, 0);
  EXPECT_EQ(send("POST", cell("owners", "/exec"), R"({"command":"true"})").status, 200) << "the control: without a secret it may";
  shell_output({"/usr/bin/env", "TOKEN=" + value, program_path(), "cell", "create", "--name", "secret", "--state", state, "--network", "proxy", "--secret", "TOKEN@localhost", "--allow-private",
                "localhost", "--label", "hotcell.client=local"},
               "", &code);
  EXPECT_EQ(code, 0);
  auto denied = send("POST", cell("secret", "/exec"), R"({"command":"true"})");
  EXPECT_TRUE(has(denied.body, "its owner's")) << denied.status << denied.body;
  shell_output({program_path(), "cell", "rm", "secret", "--state", state}, "", &code);
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace hotcell::testing
