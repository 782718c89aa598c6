// Secrets of lasting cells: used by programs that never have them, kept out of everything that is told or written down.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "cells/cells.h"
#include "e2e/web_server.h"

namespace hotcell::testing {
namespace {

class CellSecrets : public Cells {
 protected:
  void SetUp() override {
    Cells::SetUp();
    ::setenv("TOKEN", value.c_str(), 1);
    ::setenv("SSL_CERT_FILE", (tls.folder() + "/cert").c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("TOKEN");
    ::unsetenv("SSL_CERT_FILE");
    EXPECT_EQ(on_disk(), "") << "the value is in a file of the state folder";
    Cells::TearDown();
    EXPECT_TRUE(no_helper());
  }
  void make(const std::string& name, std::vector<std::string> more = {}) {
    std::vector<std::string> options = {"--network", "proxy", "--secret", "TOKEN@good.test", "--allow-domain", "other.test", "--allow-private", "127.0.0.1",
                                        "--map-host", "good.test=127.0.0.1", "--map-host", "other.test=127.0.0.1"};
    options.insert(options.end(), more.begin(), more.end());
    create(name, std::move(options));
  }
  // hotcell-tls of this test: its command line names what it trusts.
  bool no_helper() const { return gone_within("authorities=" + tls.folder(), std::chrono::seconds(10)); }
  // Any file below the state folder, of the keeper's or of a cell, that holds the value.
  std::string on_disk() const {
    std::error_code failed;  // what goes meanwhile is gone
    std::filesystem::recursive_directory_iterator at(state(), std::filesystem::directory_options::skip_permission_denied, failed), end;
    for (; !failed && at != end; at.increment(failed)) {
      std::error_code other;
      if (at->is_regular_file(other) && at->path().filename() != "leak" && read_text(at->path()).find(value) != std::string::npos) return at->path();
    }
    return {};
  }
  // As the control: the server has been told.
  bool was_told(const WebServer& server, const std::string& path) const { return server.asked().find(path + value) != std::string::npos; }

  std::string value = "tok_Real-1234567890";
  WebServer web, tls{WebServer::Kind::kTls};
};

TEST_F(CellSecrets, AreUsedAndNeverSeen) {
  make("work");
  std::string text = sh("work", "echo $TOKEN; env; curl -sS -H \"X-T: $TOKEN\" " + web.url("good.test", "/headers") + "; curl -sS -o /dev/null \"" + web.url("good.test", "/q?key=") + "$TOKEN\"");
  EXPECT_EQ(text.find(value), std::string::npos) << text;
  auto placeholder = text.substr(0, text.find('\n'));
  EXPECT_EQ(placeholder.size(), value.size()) << text;
  EXPECT_NE(text.find("X-T: " + placeholder), std::string::npos) << text;
  EXPECT_TRUE(was_told(web, "/q?key=")) << web.asked();
  // Another host is told the placeholder.
  sh("work", "curl -sS -o /dev/null \"" + web.url("other.test", "/e?key=") + "$TOKEN\"");
  EXPECT_NE(web.asked().find("/e?key=" + placeholder), std::string::npos) << web.asked();
  EXPECT_FALSE(was_told(web, "/e?key="));
  Json now = json({"network", "work"});
  EXPECT_EQ(now.text("secrets/0/name"), "TOKEN");
  EXPECT_EQ(now.text("secrets/0/host"), "good.test");
  EXPECT_EQ(now.text("secrets/0/held"), "true");
  EXPECT_EQ(good({"inspect", "work"}).find(value), std::string::npos);
  EXPECT_EQ(hotcell({"proxy", "log", "--state", state()}).out.find(value), std::string::npos);
}

// A host without a secret answers with its value: the program has it then, and nobody is told by us.
TEST_F(CellSecrets, WhatTheProxyCannotSeeIsCleanedFromEveryOutput) {
  make("work");
  web.file("/leak", value + "\n");
  const std::string fetch = "curl -sS -o leak " + web.url("other.test", "/leak") + "; ";
  const std::string placeholder = sh("work", "printf %s $TOKEN");
  // The control: it is there.
  EXPECT_EQ(sh("work", fetch + "wc -c < leak; tr -d 0-9 < leak"), std::to_string(value.size() + 1) + "\ntok_Real-\n");
  EXPECT_EQ(sh("work", "cat leak"), placeholder + "\n");
  EXPECT_EQ(exec("work", {"sh", "-c", "cat leak >&2"}).err, placeholder + "\n");
  EXPECT_EQ(sh("work", "head -c 7 leak; sleep 0.3; tail -c +8 leak"), placeholder + "\n") << "in two pieces";
  EXPECT_EQ(sh("work", "head -c 7 leak"), value.substr(0, 7)) << "the beginning of one is none, and is not kept back";
  Json report(cell({"exec", "work", "--json", "--", "cat", "leak"}).out);
  EXPECT_EQ(report.text("stdout"), placeholder + "\n");
  // A terminal, and an interpreter.
  EXPECT_EQ(shell("work", "cat leak").out.find(value), std::string::npos);
  EXPECT_NE(shell("work", "cat leak").out.find(placeholder), std::string::npos);
  good({"context", "work", "create", "python"});
  std::string said = cell({"context", "work", "run", "python", "open('/work/leak').read()"}).out;
  EXPECT_NE(said.find(placeholder), std::string::npos) << said;
  EXPECT_EQ(said.find(value), std::string::npos) << said;
}

TEST_F(CellSecrets, OutputIsWholeAndInOrder) {
  make("work");
  Called called = exec("work", {"sh", "-c", "seq 1 150000; echo last >&2"});
  EXPECT_EQ(called.code, 0);
  EXPECT_EQ(lines(called.out), 150000u);
  EXPECT_TRUE(called.out.ends_with("149999\n150000\n")) << called.out.substr(called.out.size() - 40);
  EXPECT_EQ(called.err, "last\n");
  // What a program leaves behind goes on when nobody listens to it, and is not waited for.
  called = exec("work", {"sh", "-c", "(sleep 1; seq 1 100000; echo through > done) & echo first"});
  EXPECT_EQ(called.out, "first\n") << called.describe();
  EXPECT_EQ(sh("work", "for i in $(seq 100); do [ -e done ] && break; sleep 0.1; done; cat done"), "through\n");
}

TEST_F(CellSecrets, OverTlsWithAnAuthorityOfTheCellsOwn) {
  make("work");
  std::string text = sh("work", "curl -sS -o /dev/null \"" + tls.url("good.test", "/q?key=") + "$TOKEN\" && curl -sS -H \"Authorization: Bearer $TOKEN\" " + tls.url("good.test", "/headers"));
  EXPECT_TRUE(was_told(tls, "/q?key=")) << tls.asked() << text;
  EXPECT_NE(text.find("Authorization: Bearer hc"), std::string::npos) << text;
  EXPECT_EQ(text.find(value), std::string::npos) << text;
  // Its own authority at each start, and the value is still held.
  good({"stop", "work"});
  EXPECT_TRUE(no_helper()) << "it goes with the cell";
  good({"start", "work"});
  sh("work", "curl -sS -o /dev/null \"" + tls.url("good.test", "/again?key=") + "$TOKEN\"");
  EXPECT_TRUE(was_told(tls, "/again?key="));
  // A cell made of it has it, too.
  good({"fork", "work", "child"});
  sh("child", "curl -sS -o /dev/null \"" + tls.url("good.test", "/child?key=") + "$TOKEN\"");
  EXPECT_TRUE(was_told(tls, "/child?key="));
}

TEST_F(CellSecrets, GoWithTheKeeperAndAreGivenAgain) {
  make("work");
  const std::string placeholder = sh("work", "printf %s $TOKEN");
  EXPECT_EQ(processes_with("authorities=" + tls.folder()).size(), 1u);
  kill_keeper();
  EXPECT_TRUE(no_helper()) << "it dies with the keeper, too";
  refused({"start", "work"}, "give them again: hotcell cell start work --secret TOKEN@good.test");
  EXPECT_EQ(json({"network", "work"}).text("secrets/0/held"), "false");
  refused({"start", "work", "--secret", "TOKEN@other.test"}, "TOKEN@other.test is no secret that work was created with");
  good({"start", "work", "--secret", "TOKEN@good.test"});
  EXPECT_EQ(sh("work", "printf %s $TOKEN"), placeholder) << "what was written down of it still stands for it";
  sh("work", "curl -sS -o /dev/null \"" + web.url("good.test", "/q?key=") + "$TOKEN\"");
  EXPECT_TRUE(was_told(web, "/q?key="));
}

TEST_F(CellSecrets, EndWithTheNetworkOfASealedCell) {
  make("work", {"--phases"});
  good({"seal", "work"});
  EXPECT_TRUE(no_helper());
  EXPECT_EQ(sh("work", "echo ${TOKEN-none}"), "none\n");
}

TEST_F(CellSecrets, WordsThatMakeNoSenseAreRefused) {
  refused({"create", "--name", "a", "--secret", "TOKEN@good.test"}, "--secret is for --network proxy");
  refused({"create", "--name", "a", "--network", "proxy", "--secret", "TOKEN"}, "--secret: expected NAME@HOST");
  refused({"create", "--name", "a", "--network", "proxy", "--secret", "NOT_SET_ANYWHERE@good.test"}, "is not set");
  refused({"create", "--name", "a", "--network", "proxy", "--secret", "TOKEN@10.0.0.0/8"}, "needs a host");
  refused({"create", "--name", "a", "--network", "proxy", "--env", "TOKEN=plain", "--secret", "TOKEN@good.test"}, "among their variables");
  EXPECT_EQ(Json(good({"list", "--json"})).size(""), 0u);
}

}  // namespace
}  // namespace hotcell::testing
