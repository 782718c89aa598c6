// A lasting cell with a network: its door, rules that change while it runs, and the phase that ends once and for ever. The
// server is on this host's loopback; every refusal stands beside a request that succeeded.
#include <signal.h>
#include <sys/stat.h>

#include <thread>

#include "cells/cells.h"
#include "e2e/web_server.h"

namespace hotcell::testing {
namespace {

class CellNetwork : public Cells {
 protected:
  void make(const std::string& name, std::vector<std::string> more = {}) {
    std::vector<std::string> options = {"--network", "proxy", "--allow-domain", "good.test", "--allow-domain", "other.test", "--allow-private", "good.test",
                                        "--allow-private", "other.test", "--map-host", "good.test=127.0.0.1", "--map-host", "other.test=127.0.0.1",
                                        "--map-host", "evil.test=127.0.0.1"};
    options.insert(options.end(), more.begin(), more.end());
    create(name, std::move(options));
  }
  Called fetch(const std::string& name, const std::string& host, const std::string& path = "/x") {
    return exec(name, {"curl", "-sS", "--max-time", "20", web.url(host, path)});
  }
  void reached(const std::string& name, const std::string& host) {
    Called called = fetch(name, host);
    EXPECT_EQ(called.code, 0) << called.describe();
    EXPECT_EQ(called.out, "hello from " + host + ":" + web.port() + "/x\n") << called.describe();
  }
  // No door at all: the connection to it is refused, whatever name was meant.
  void nobody_there(const std::string& name) {
    Called called = exec(name, {"curl", "-sS", "--max-time", "20", "--proxy", "http://127.0.0.1:3128", web.url("good.test")});
    EXPECT_EQ(called.code, 7) << called.describe();
    called = exec(name, {"curl", "-sS", "--max-time", "20", web.url("good.test")});
    EXPECT_NE(called.code, 0) << called.describe();
    EXPECT_EQ(called.out, "") << called.describe();
  }
  std::size_t doors() { return processes_with("allow=other.test").size(); }

  WebServer web;
};

TEST_F(CellNetwork, TheDoorReachesWhatIsAllowedForTheWholeLifeOfTheCell) {
  make("work");
  reached("work", "good.test");
  Called called = exec("work", {"curl", "-sS", "-i", web.url("evil.test")});
  EXPECT_NE(called.out.find("403 Forbidden"), std::string::npos) << called.describe();
  Json now = json({"network", "work"});
  EXPECT_EQ(now.text("mode"), "proxy");
  EXPECT_EQ(now.text("phase"), "null");
  EXPECT_EQ(now.text("serving"), "true");
  EXPECT_EQ(now.text("counters/allowed"), "1");
  EXPECT_EQ(now.text("counters/blocked"), "1");
  EXPECT_EQ(now.size("log"), 2u);
  EXPECT_EQ(doors(), 1u);
  good({"stop", "work"});
  EXPECT_TRUE(gone_within("allow=other.test", std::chrono::seconds(10))) << "the proxy dies with its cell";
  good({"start", "work"});
  reached("work", "good.test");
  std::string log = hotcell({"proxy", "log", "--state", state()}).out;
  EXPECT_NE(log.find("allowed  GET good.test:" + web.port()), std::string::npos) << log;
  std::string words = good({"network", "work"});
  EXPECT_NE(words.find("work: network proxy"), std::string::npos) << words;
  EXPECT_NE(words.find("allow  good.test"), std::string::npos) << words;
}

TEST_F(CellNetwork, AProgramsResultHasWhatItsDoorRefusedMeanwhile) {
  make("work");
  fetch("work", "evil.test");
  auto result = [&](const std::string& script) { return Json(cell({"exec", "work", "--json", "--", "sh", "-c", script}).out); };
  Json first = result("curl -s " + web.url("good.test") + " " + web.url("bad.test") + " " + web.url("bad.test") + "; true");
  ASSERT_EQ(first.size("denials"), 1u) << "nothing of earlier programs";
  EXPECT_EQ(first.text("denials/0/layer"), "proxy");
  EXPECT_EQ(first.text("denials/0/host"), "bad.test");
  EXPECT_EQ(first.text("denials/0/fix"), "--allow-domain bad.test for hotcell cell create");
  EXPECT_EQ(first.text("denials/0/count"), "2");
  EXPECT_EQ(result("curl -s " + web.url("good.test")).size("denials"), 0u);
  Json odd = result("curl -s http://" + std::string(45, 'a') + ".bad.test/; true");
  EXPECT_EQ(odd.text("notices/0"), "DNS tunnel? Names with long labels are asked for below bad.test");
  // The log is kept as far as it has come, whatever becomes of the keeper.
  EXPECT_NE(hotcell({"proxy", "log", "--state", state()}).out.find("refused  GET bad.test:" + web.port()), std::string::npos);
  kill_keeper();
  EXPECT_NE(hotcell({"proxy", "log", "--state", state()}).out.find("refused  GET bad.test:" + web.port()), std::string::npos);
}

TEST_F(CellNetwork, WhatIsAskedForIsInTheLogWhileItsProgramRuns) {
  make("work");
  good({"exec", "work", "--detach", "--", "sh", "-c", "curl -s " + web.url("good.test") + " " + web.url("evil.test") + "; sleep 600"});
  std::string log;
  for (int i = 0; i < 200 && lines(log) < 2; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    log = hotcell({"proxy", "log", "--state", state()}).out;
  }
  EXPECT_NE(log.find("allowed  GET good.test:" + web.port()), std::string::npos) << log;
  EXPECT_NE(log.find("refused  GET evil.test:" + web.port()), std::string::npos) << log;
  good({"stop", "work"});
  log = hotcell({"proxy", "log", "--state", state()}).out;
  EXPECT_EQ(lines(log), 2u) << "and not once more at its end: " << log;
}

TEST_F(CellNetwork, ItsLimitsAreThoseItWasCreatedWith) {
  make("work", {"--network-time", "2s"});
  reached("work", "good.test");
  std::this_thread::sleep_for(std::chrono::milliseconds(2500));
  Called called = fetch("work", "good.test");
  EXPECT_NE(called.out.find("to allow it: --network-time"), std::string::npos) << called.describe();
  good({"stop", "work"});
  good({"start", "work"});
  reached("work", "good.test");
}

TEST_F(CellNetwork, RulesChangeWhileItRunsWithinWhatItWasCreatedWith) {
  make("work");
  reached("work", "good.test");
  reached("work", "other.test");
  good({"network", "work", "--block-domain", "good.test"});
  Called called = exec("work", {"curl", "-sS", "-i", web.url("good.test")});
  EXPECT_NE(called.out.find("403 Forbidden"), std::string::npos) << called.describe();
  reached("work", "other.test");
  // It outlives the door it was told to.
  good({"stop", "work"});
  good({"start", "work"});
  called = exec("work", {"curl", "-sS", "-i", web.url("good.test")});
  EXPECT_NE(called.out.find("403 Forbidden"), std::string::npos) << called.describe();
  EXPECT_EQ(json({"network", "work"}).text("rules/block/0"), "good.test");
  good({"network", "work", "--allow-domain", "good.test"});
  reached("work", "good.test");
  refused({"network", "work", "--allow-domain", "evil.test"}, "evil.test is beyond what work was created with");
  refused({"network", "work", "--allow-domain", "*.good.test"}, "beyond what work was created with");
  refused({"network", "work", "--block-domain", "a b"}, "a b");
  called = exec("work", {"curl", "-sS", "-i", web.url("evil.test")});
  EXPECT_NE(called.out.find("403 Forbidden"), std::string::npos) << called.describe();
}

TEST_F(CellNetwork, SealedItHasNoNetworkAnyMoreForGood) {
  make("work", {"--phases"});
  EXPECT_EQ(inspect("work").text("network_phase"), "setup");
  reached("work", "good.test");
  good({"seal", "work"});
  EXPECT_EQ(doors(), 0u) << "who held the sockets is gone when seal returns";
  nobody_there("work");
  EXPECT_EQ(inspect("work").text("network_phase"), "agent");
  Json now = json({"network", "work"});
  EXPECT_EQ(now.text("mode"), "none");
  EXPECT_EQ(now.text("phase"), "agent");
  EXPECT_EQ(now.text("serving"), "false");
  EXPECT_EQ(now.text("counters/allowed"), "1") << "what went before is still told";
  EXPECT_EQ(exec("work", {"sh", "-c", "env | grep -ci proxy"}).out, "0\n");
  // SEEDS §4.5: the second call is an error, and neither a restart nor a new keeper undoes the first.
  refused({"seal", "work"}, "work is sealed already: phase agent, without a network, for good");
  refused({"network", "work", "--allow-domain", "good.test"}, "work is sealed");
  good({"stop", "work"});
  good({"start", "work"});
  nobody_there("work");
  kill_keeper();
  good({"start", "work"});
  nobody_there("work");
  refused({"seal", "work"}, "sealed already");
  // What comes out of it is sealed, too.
  good({"fork", "work", "child"});
  EXPECT_EQ(inspect("child").text("network_phase"), "agent");
  nobody_there("child");
  EXPECT_EQ(doors(), 0u);
  EXPECT_EQ(lines(web.asked()), 1u) << web.asked();
}

TEST_F(CellNetwork, SealingCutsWhatIsConnectedAndLeavesProgramsRunning) {
  make("work", {"--phases"});
  // A tunnel that is used again and again, by a program that goes on without it.
  std::string program =
      "import socket, time, sys\n"
      "s = socket.create_connection(('127.0.0.1', 3128), 20)\n"
      "s.sendall(b'CONNECT good.test:" + web.port() + " HTTP/1.1\\r\\nHost: good.test:" + web.port() + "\\r\\n\\r\\n')\n"
      "print(s.recv(4096).split(b'\\r\\n')[0].decode(), flush=True)\n"
      "s.sendall(b'GET /t HTTP/1.1\\r\\nHost: good.test:" + web.port() + "\\r\\n\\r\\n')\n"
      "print(s.recv(4096).split(b'\\r\\n')[0].decode(), flush=True)\n"
      "s.settimeout(60)\n"
      "try:\n"
      "  while s.recv(4096): pass\n"
      "  print('cut', flush=True)\n"
      "except OSError as e: print('cut' if e.errno in (104, 32) else e, flush=True)\n"
      "try: socket.create_connection(('127.0.0.1', 3128), 20); print('open', flush=True)\n"
      "except OSError as e: print(e.errno, flush=True)\n";
  Call tunnel(cell_words({"exec", "work", "--", "python3", "-c", program}));
  ASSERT_TRUE(tunnel.wait_for_output("HTTP/1.1 200 OK\n")) << tunnel.finish().describe();
  good({"seal", "work"});
  Called called = tunnel.finish();
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_NE(called.out.find("cut\n111\n"), std::string::npos) << called.describe();  // ECONNREFUSED
}

TEST_F(CellNetwork, ACellThatIsSealedWhileItIsStoppedNeverHasADoorAgain) {
  make("work", {"--phases", "--stopped"});
  good({"seal", "work"});
  good({"start", "work"});
  nobody_there("work");
  EXPECT_EQ(doors(), 0u);
}

TEST_F(CellNetwork, AProxyThatDiesLeavesTheDoorShut) {
  make("work");
  reached("work", "good.test");
  auto found = processes_with("allow=other.test");
  ASSERT_EQ(found.size(), 1u);
  ::kill(found[0], SIGKILL);
  EXPECT_TRUE(gone_within("allow=other.test", std::chrono::seconds(10)));
  Called called = exec("work", {"curl", "-sS", "--max-time", "20", web.url("good.test")});
  EXPECT_EQ(called.code, 7) << called.describe();
  EXPECT_NE(called.err.find("the cell has no network: hotcell-proxy has ended"), std::string::npos) << called.describe();
  Json now = json({"network", "work"});
  EXPECT_EQ(now.text("serving"), "false");
  EXPECT_EQ(now.text("error"), "hotcell-proxy has ended");
  good({"stop", "work"});
  good({"start", "work"});
  reached("work", "good.test");
}

TEST_F(CellNetwork, TheKeepersDeathTakesItsProxies) {
  make("work");
  reached("work", "good.test");
  EXPECT_EQ(doors(), 1u);
  kill_keeper();
  EXPECT_TRUE(gone_within("allow=other.test", std::chrono::seconds(10)));
}

TEST_F(CellNetwork, WordsThatMakeNoSenseAreRefused) {
  refused({"create", "--name", "a", "--phases"}, "--phases needs --network proxy");
  refused({"create", "--name", "a", "--network", "host", "--phases"}, "--phases needs --network proxy");
  refused({"create", "--name", "a", "--allow-domain", "good.test"}, "--allow-domain is for --network proxy");
  refused({"create", "--name", "a", "--network", "proxy", "--map-host", "x"}, "--map-host: expected NAME=ADDRESS");
  create("plain");
  refused({"seal", "plain"}, "plain has one phase only");
  refused({"network", "plain", "--block-domain", "good.test"}, "plain has network none: there are no rules to change");
  EXPECT_EQ(json({"network", "plain"}).text("mode"), "none");
  EXPECT_EQ(Json(good({"list", "--json"})).size(""), 1u) << "what was refused left nothing";
}

}  // namespace
}  // namespace hotcell::testing
