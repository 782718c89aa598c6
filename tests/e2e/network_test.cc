// --network proxy: the one way out of a cell, what it lets through, and that nothing goes round it. Every denial stands
// beside a request that succeeds.
#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>

#include "e2e/cli.h"
#include "e2e/json.h"
#include "e2e/web_server.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

class NetworkRun : public E2e {
 protected:
  // Two names for the same server; one of them is allowed.
  std::vector<std::string> options() const {
    return {"run", "--network", "proxy", "--allow-domain", "good.test", "--allow-private", "good.test", "--map-host", "good.test=127.0.0.1",
            "--map-host", "evil.test=127.0.0.1", "--state", state.path() + "/s"};
  }
  Called run(std::vector<std::string> more) const {
    auto args = options();
    args.insert(args.end(), more.begin(), more.end());
    return hotcell(args);
  }
  Called sh(const std::string& script, std::vector<std::string> more = {}) const {
    for (auto word : {"--", "/bin/sh", "-c"}) more.emplace_back(word);
    more.push_back(script);
    return run(more);
  }
  TempDir state;
  WebServer web;
};

TEST_F(NetworkRun, AnAllowedNameIsReachedAndAnotherIsNot) {
  auto called = run({"--", "/usr/bin/curl", "-sS", web.url("good.test", "/a")});
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_EQ(called.out, "hello from good.test:" + web.port() + "/a\n");
  called = run({"--", "/usr/bin/curl", "-sS", "-i", web.url("evil.test", "/b")});
  EXPECT_EQ(called.out.find("hello"), std::string::npos) << called.describe();
  EXPECT_NE(called.out.find("403 Forbidden"), std::string::npos) << called.describe();
  EXPECT_NE(called.out.find("X-Hotcell-Reason: evil.test:" + web.port() + " is refused: it is not on the list of allowed hosts"), std::string::npos) << called.out;
  EXPECT_NE(called.out.find("to allow it: --allow-domain evil.test"), std::string::npos) << called.out;
  EXPECT_EQ(web.asked(), "good.test:" + web.port() + "/a\n");
}

TEST_F(NetworkRun, ResultAndEventsTellWhatWasAskedAndWhatWouldAllowIt) {
  auto called = sh("curl -s " + web.url("good.test", "/x") + "; curl -s " + web.url("evil.test", "/y") + " " + web.url("evil.test", "/z") + "; true",
                   {"--json", "--status-fd", std::to_string(kStatusFd)});
  Json json(called.out);
  ASSERT_EQ(json.size("denials"), 1u) << called.out;
  EXPECT_EQ(json.text("denials/0/layer"), "proxy");
  EXPECT_EQ(json.text("denials/0/host"), "evil.test");
  EXPECT_EQ(json.text("denials/0/fix"), "--allow-domain evil.test");
  EXPECT_EQ(json.text("denials/0/count"), "2");
  EXPECT_NE(called.status.find(R"("type":"network.request")"), std::string::npos) << called.status;
  EXPECT_NE(called.status.find(R"("decision":"allowed")"), std::string::npos) << called.status;
  EXPECT_NE(called.status.find(R"("decision":"refused")"), std::string::npos) << called.status;
  auto log = hotcell({"proxy", "log", "--state", state.path() + "/s"});
  EXPECT_EQ(lines(log.out), 3u) << log.describe();
  EXPECT_NE(log.out.find("allowed  GET good.test:" + web.port()), std::string::npos) << log.out;
  EXPECT_NE(log.out.find("(--allow-domain evil.test)"), std::string::npos) << log.out;
  auto stats = hotcell({"proxy", "stats", "--json", "--state", state.path() + "/s"});
  Json sums(stats.out);
  EXPECT_EQ(sums.text("allowed"), "1") << stats.out;
  EXPECT_EQ(sums.text("blocked"), "2");
  EXPECT_EQ(sums.text("hosts/evil.test"), "2");
}

TEST_F(NetworkRun, NothingGoesRoundTheDoor) {
  // The control: the same server, through the door.
  EXPECT_EQ(sh("curl -sS " + web.url("good.test")).code, 0);
  // Without the proxy the name may be known, and there is nobody at its address: the cell's loopback is its own.
  auto called = sh("curl -sS --noproxy '*' " + web.url("good.test"));
  EXPECT_EQ(called.code, 7) << called.describe();
  called = sh("env -u http_proxy -u HTTP_PROXY -u all_proxy -u ALL_PROXY curl -sS http://127.0.0.1:" + web.port());
  EXPECT_EQ(called.code, 7) << called.describe();
  called = run({"--", "/usr/bin/python3", "-c",
                "import socket\n"
                "for a in ('203.0.113.1', '169.254.169.254', '10.0.0.1'):\n"
                "  try: socket.create_connection((a, 80), 3); print('through')\n"
                "  except OSError as e: print(e.errno)\n"
                "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                "try: s.sendto(b'x', ('203.0.113.1', 53)); print('through')\n"
                "except OSError as e: print(e.errno)\n"});
  EXPECT_EQ(called.out, "101\n101\n101\n101\n") << called.describe();  // ENETUNREACH
}

TEST_F(NetworkRun, AddressesThatLeadInwardAreRefusedInEverySpelling) {
  EXPECT_EQ(sh("curl -sS " + web.url("good.test")).code, 0);
  for (std::string target : {"127.0.0.1:" + web.port(), "2130706433:" + web.port(), "0x7f.1:" + web.port(), "[::ffff:127.0.0.1]:" + web.port(), std::string("169.254.169.254"),
                             std::string("metadata.google.internal"), std::string("10.1.2.3"), "localhost:" + web.port()}) {
    auto called = sh("curl -sS -i --noproxy '' -x $http_proxy 'http://" + target + "/'", {"--network-rules", "open"});
    EXPECT_NE(called.out.find("X-Hotcell-Rule: private"), std::string::npos) << target << "\n" << called.describe();
  }
  // A name that anybody may have, with an address inside.
  auto called = sh("curl -sS -i " + web.url("evil.test"), {"--network-rules", "open"});
  EXPECT_NE(called.out.find("its address 127.0.0.1 is loopback"), std::string::npos) << called.describe();
  EXPECT_EQ(web.asked(), "good.test:" + web.port() + "/\n");
}

TEST_F(NetworkRun, TheHostFieldMustSayTheSame) {
  std::string script = "curl -sS -i -H 'Host: NAME:" + web.port() + "' " + web.url("good.test");
  auto with = [&](const std::string& name) {
    auto text = script;
    return sh(text.replace(text.find("NAME"), 4, name)).out;
  };
  EXPECT_NE(with("good.test").find("200 OK"), std::string::npos) << with("good.test");
  EXPECT_NE(with("evil.test").find("400 Bad Request"), std::string::npos) << with("evil.test");
  EXPECT_EQ(web.asked().find("evil"), std::string::npos);
}

TEST_F(NetworkRun, TlsMustAskForTheHostItWasLetThroughFor) {
  WebServer tls(WebServer::Kind::kTls);
  std::vector<std::string> file = {"--file", tls.folder() + "/cert"};
  auto called = sh("curl -sS --cacert cert " + tls.url("good.test", "/t"), file);
  EXPECT_EQ(called.out, "hello from good.test:" + tls.port() + "/t\n") << called.describe();
  called = sh("curl -sS -k --connect-to evil.test:" + tls.port() + ":good.test:" + tls.port() + " " + tls.url("evil.test", "/t"), file);
  EXPECT_NE(called.err.find("unrecognized name"), std::string::npos) << called.describe();
  EXPECT_EQ(tls.asked(), "good.test:" + tls.port() + "/t\n");
}

TEST_F(NetworkRun, SocksTakesNamesAndTheSameRules) {
  auto called = sh("curl -sS --proxy socks5h://127.0.0.1:3128 " + web.url("good.test", "/s"));
  EXPECT_EQ(called.out, "hello from good.test:" + web.port() + "/s\n") << called.describe();
  called = sh("curl -sS --proxy socks5h://127.0.0.1:3128 " + web.url("evil.test"));
  EXPECT_EQ(called.code, 97) << called.describe();
}

TEST_F(NetworkRun, NamesAreAnsweredWhenTheyAreAllowed) {
  auto called = sh("getent hosts good.test | cut -d' ' -f1; getent hosts evil.test; echo $?", {"--json"});
  Json json(called.out);
  EXPECT_EQ(json.text("stdout"), "127.0.0.1\n2\n") << called.out;
  ASSERT_GE(json.size("denials"), 1u) << called.out;
  EXPECT_EQ(json.text("denials/0/host"), "evil.test");
  EXPECT_EQ(json.text("denials/0/fix"), "--allow-domain evil.test");
}

TEST_F(NetworkRun, BytesAreLimited) {
  web.file("/big", std::string(1 << 20, 'x'));
  EXPECT_EQ(sh("curl -sS " + web.url("good.test", "/big") + " | wc -c").out, "1048576\n");
  auto called = sh("curl -sS " + web.url("good.test", "/big") + " | wc -c; curl -s -i " + web.url("good.test", "/x"), {"--network-bytes", "100K"});
  EXPECT_LT(std::atoi(called.out.c_str()), 200 << 10) << called.describe();
  EXPECT_NE(called.out.find("the cell has used up the bytes it may move"), std::string::npos) << called.describe();
}

TEST_F(NetworkRun, TheRateIsLimited) {
  web.file("/big", std::string(1 << 20, 'x'));
  const std::string fetch = "curl -sS -w '%{time_total} %{size_download}' -o /dev/null " + web.url("good.test", "/big");
  auto called = sh(fetch, {"--network-rate", "256K"});
  EXPECT_NE(called.out.find(" 1048576"), std::string::npos) << called.describe();
  EXPECT_GT(std::atof(called.out.c_str()), 2.0) << "a megabyte at a quarter of one in a second: " << called.out;
}

TEST_F(NetworkRun, ConnectionsAreLimitedAndTheOnesTooManyAreToldOf) {
  const std::string program =
      "import socket\n"
      "held = socket.create_connection(('127.0.0.1', 3128))\n"
      "held.sendall(b'CONNECT good.test:" + web.port() + " HTTP/1.1\\r\\nHost: good.test:" + web.port() + "\\r\\n\\r\\n')\n"
      "print(held.recv(99).split(b'\\r')[0].decode())\n"
      "for i in range(3): print(socket.create_connection(('127.0.0.1', 3128)).recv(99).split(b'\\r')[0].decode())\n";
  auto called = run({"--network-connections", "1", "--json", "--", "/usr/bin/python3", "-c", program});
  Json json(called.out);
  EXPECT_EQ(json.text("stdout"), "HTTP/1.1 200 Connection Established\n" + std::string("HTTP/1.1 503 Service Unavailable\n") +
                                     "HTTP/1.1 503 Service Unavailable\nHTTP/1.1 503 Service Unavailable\n") << called.out;
  ASSERT_EQ(json.size("denials"), 1u) << called.out;
  EXPECT_EQ(json.text("denials/0/what"), "more than 1 connections at once");
  EXPECT_EQ(json.text("denials/0/fix"), "--network-connections");
  EXPECT_EQ(json.text("denials/0/count"), "3");
  EXPECT_EQ(lines(hotcell({"proxy", "log", "--state", state.path() + "/s"}).out), 4u);
}

TEST_F(NetworkRun, TimeIsLimitedOfTheDoorAndOfAConnection) {
  auto called = sh("curl -sS " + web.url("good.test", "/a") + "; sleep 5; curl -sS " + web.url("good.test", "/b") + "; getent hosts good.test; echo $?",
                   {"--network-time", "4s", "--json"});
  Json json(called.out);
  EXPECT_NE(json.text("stdout").find("hello from good.test:" + web.port() + "/a\n"), std::string::npos) << called.out;
  EXPECT_NE(json.text("stdout").find("to allow it: --network-time\n2\n"), std::string::npos) << called.out;
  EXPECT_EQ(json.text("denials/0/fix"), "--network-time") << called.out;
  EXPECT_EQ(web.asked(), "good.test:" + web.port() + "/a\n");
  const std::string program =
      "import socket, time\n"
      "s = socket.create_connection(('127.0.0.1', 3128))\n"
      "s.sendall(b'CONNECT good.test:" + web.port() + " HTTP/1.1\\r\\nHost: good.test:" + web.port() + "\\r\\n\\r\\n')\n"
      "s.recv(99)\n"
      "s.settimeout(20)\n"
      "begun = time.time()\n"
      "print(s.recv(99), time.time() - begun < 10)\n";
  called = run({"--network-connection-time", "300ms", "--", "/usr/bin/python3", "-c", program});
  EXPECT_EQ(called.out, "b'' True\n") << called.describe();
  called = run({"--network-time", "never", "--", "/bin/true"});
  EXPECT_EQ(called.code, 125) << called.describe();
}

// A refusal, and then more names than the log holds, allowed and refused ones.
TEST_F(NetworkRun, AFloodDoesNotTalkARefusalOutOfTheResultTheEventsOrTheLog) {
  const std::string program =
      "import socket, urllib.request\n"
      "s = socket.create_connection(('127.0.0.1', 3128))\n"
      "s.sendall(b'CONNECT evil.test:443 HTTP/1.1\\r\\nHost: evil.test:443\\r\\n\\r\\n')\n"
      "print(s.recv(12).decode())\n"
      "u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
      "u.settimeout(20)\n"
      "for i in range(5000):\n"
      "  labels = (b'good', b'test') if i % 2 else (b'n%d' % i, b'flood', b'test')\n"
      "  q = b'\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0' + b''.join(bytes([len(l)]) + l for l in labels) + b'\\0\\0\\1\\0\\1'\n"
      "  u.sendto(q, ('127.0.0.1', 53))\n"
      "  u.recv(600)\n";
  auto called = run({"--json", "--status-fd", std::to_string(kStatusFd), "--", "/usr/bin/python3", "-c", program});
  Json json(called.out);
  EXPECT_EQ(json.text("stdout"), "HTTP/1.1 403\n") << called.out.substr(0, 2000);
  EXPECT_EQ(json.text("denials/0/host"), "evil.test") << called.out.substr(0, 2000);
  EXPECT_NE(called.status.find(R"("host":"evil.test")"), std::string::npos);
  EXPECT_NE(called.out.find("DNS tunnel? 50 different names were asked for below flood.test"), std::string::npos) << "notices: in the result";
  EXPECT_NE(called.out.find("906 requests are not among the events: there were more than are held"), std::string::npos) << "4096 of 5002 entries are";
  EXPECT_NE(called.status.find(R"("type":"network.notice")"), std::string::npos);
  auto log = hotcell({"proxy", "log", "--limit", "100000", "--state", state.path() + "/s"});
  EXPECT_NE(log.out.find("refused  CONNECT evil.test:443"), std::string::npos);
  // Written as it goes, the log on disk has more of them than are held at once; each is there or counted.
  Json stats(hotcell({"proxy", "stats", "--json", "--state", state.path() + "/s"}).out);
  auto number = [&](const char* name) { return std::stoul(stats.text(name)); };
  EXPECT_EQ(number("allowed") + number("blocked") + number("dropped"), 5001u);
  EXPECT_GE(number("allowed") + number("blocked"), 4095u);
  EXPECT_EQ(stats.size("notices"), 1u);
}

// What was asked is on disk while the program runs, under the name of its run, and when nobody could say goodbye.
TEST_F(NetworkRun, TheLogIsKeptAsItGoes) {
  auto args = options();
  for (auto word : {"--", "/bin/sh", "-c"}) args.emplace_back(word);
  args.push_back("curl -s " + web.url("good.test", "/x") + " " + web.url("evil.test", "/y") + "; echo $HOTCELL_ID asked; sleep 600");
  Call call(args);
  ASSERT_TRUE(call.wait_for_output(" asked"));
  auto log = [&] { return hotcell({"proxy", "log", "--state", state.path() + "/s"}).out; };
  for (int i = 0; i < 200 && lines(log()) < 2; ++i) ::usleep(50'000);
  EXPECT_EQ(lines(log()), 2u) << "while it runs: " << log();
  call.send(SIGKILL);
  auto called = call.finish();
  auto end = called.out.find(" asked");
  ASSERT_GE(end, 36u) << called.describe();
  const std::string id = called.out.substr(end - 36, 36);
  EXPECT_EQ(lines(log()), 2u) << "after it was killed: " << log();
  EXPECT_NE(log().find("allowed  GET good.test:" + web.port()), std::string::npos) << log();
  EXPECT_NE(log().find("refused  GET evil.test:" + web.port()), std::string::npos) << log();
  EXPECT_NE(log().find(id), std::string::npos) << id << "\n" << log();
  EXPECT_EQ(hotcell({"run", "--", "/bin/true"}).code, 0);  // which removes what the killed one has left
}

// Clients keep their connections: one that has not ended is in the log all the same.
TEST_F(NetworkRun, AConnectionThatLastsIsInTheLogBeforeItEnds) {
  auto args = options();
  const std::string program =
      "import socket, time\n"
      "s = socket.create_connection(('127.0.0.1', 3128))\n"
      "s.sendall(b'CONNECT good.test:" + web.port() + " HTTP/1.1\\r\\nHost: good.test:" + web.port() + "\\r\\n\\r\\n')\n"
      "print(s.recv(12).decode(), flush=True)\n"
      "time.sleep(600)\n";
  for (auto word : {"--", "/usr/bin/python3", "-c"}) args.emplace_back(word);
  args.push_back(program);
  Call call(args);
  ASSERT_TRUE(call.wait_for_output("HTTP/1.1 200"));
  auto log = [&] { return hotcell({"proxy", "log", "--state", state.path() + "/s"}).out; };
  for (int i = 0; i < 200 && log().empty(); ++i) ::usleep(100'000);
  EXPECT_NE(log().find("  open     CONNECT good.test:" + web.port()), std::string::npos) << log();
  call.send(SIGTERM);
  call.finish();
  EXPECT_EQ(lines(log()), 2u) << log();
  EXPECT_NE(log().find("  allowed  CONNECT good.test:" + web.port()), std::string::npos) << log();
  EXPECT_EQ(Json(hotcell({"proxy", "stats", "--json", "--state", state.path() + "/s"}).out).text("allowed"), "1");
}

// The same run, to its end: nothing is written twice.
TEST_F(NetworkRun, WhatWasKeptAsItWentIsNotKeptAgainAtTheEnd) {
  auto called = sh("for i in 1 2 3 4 5; do curl -s " + web.url("good.test", "/x") + " > /dev/null; sleep 0.15; done; curl -s " + web.url("evil.test"), {"--json"});
  auto log = hotcell({"proxy", "log", "--state", state.path() + "/s"}).out;
  EXPECT_EQ(lines(log), 6u) << log;
  const std::string id = Json(called.out).text("id");
  for (std::size_t at = 0, next; (next = log.find('\n', at)) != std::string::npos; at = next + 1)
    EXPECT_TRUE(log.substr(at, next - at).ends_with("  " + id)) << id << "\n" << log;
}

TEST_F(NetworkRun, RulesWithoutAProxyAreRefused) {
  for (auto option : {"--allow-domain", "--allow-private"}) {
    auto called = hotcell({"run", option, "good.test", "--", "/bin/true"});
    EXPECT_EQ(called.code, 125) << called.describe();
    EXPECT_NE(called.err.find("is for --network proxy"), std::string::npos) << called.err;
  }
  auto called = run({"--backend", "landlock", "--", "/bin/true"});
  EXPECT_EQ(called.code, 125) << called.describe();
  EXPECT_NE(called.err.find("needs a network namespace"), std::string::npos) << called.err;
}

TEST_F(NetworkRun, ALanguageRunHasTheDoorToo) {
  auto called = run({"--language", "python", "-c", "import urllib.request; print(urllib.request.urlopen('" + web.url("good.test", "/p") + "').read().decode(), end='')"});
  EXPECT_EQ(called.out, "hello from good.test:" + web.port() + "/p\n") << called.describe();
  called = run({"--language", "c", "-c", "#include <stdio.h>\nint main(void) { puts(\"compiled\"); }"});
  EXPECT_EQ(called.out, "compiled\n") << called.describe();
}

TEST_F(NetworkRun, ProxyCheckSaysWhatWouldHappen) {
  auto called = hotcell({"proxy", "check", "--allow-domain", "*.good.test", "x.good.test", "good.test:22"});
  EXPECT_EQ(called.code, 0) << called.describe();
  called = hotcell({"proxy", "check", "--allow-domain", "*.good.test", "good.test.evil.test", "127.0.0.1", "0x7f000001"});
  EXPECT_EQ(called.code, 1) << called.describe();
  EXPECT_EQ(lines(called.out), 3u) << called.out;
  EXPECT_NE(called.out.find("(--allow-domain good.test.evil.test)"), std::string::npos) << called.out;
  EXPECT_NE(called.out.find("loopback addresses are out of reach"), std::string::npos) << called.out;
  EXPECT_NE(called.out.find("(--allow-domain 127.0.0.1 --allow-private 127.0.0.1)"), std::string::npos) << called.out;
  // Not the name alone: where it leads is known of those that are mapped.
  called = hotcell({"proxy", "check", "--network-rules", "open", "--map-host", "in.test=10.0.0.1", "--map-host", "out.test=203.0.113.5", "in.test", "out.test"});
  EXPECT_EQ(called.code, 1) << called.describe();
  EXPECT_TRUE(called.out.starts_with("refused  in.test:443 is refused: its address 10.0.0.1 is private network")) << called.out;
  EXPECT_NE(called.out.find("allowed  out.test:443"), std::string::npos) << called.out;
}

TEST_F(NetworkRun, ProxyByItselfServesUntilItIsTold) {
  int code = -1;
  std::string port = shell_output({"/usr/bin/python3", "-c", "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1], end='')"}, "", &code);
  Call proxy({"proxy", "start", "--listen", "127.0.0.1:" + port, "--allow-domain", "good.test", "--allow-private", "good.test", "--map-host", "good.test=127.0.0.1",
              "--state", state.path() + "/s"});
  ASSERT_TRUE(proxy.wait_for_output("http://127.0.0.1:" + port));
  auto curl = [&](const std::string& host) { return shell_output({"/usr/bin/curl", "-sS", "--noproxy", "", "-x", "http://127.0.0.1:" + port, web.url(host, "/o")}, "", &code); };
  EXPECT_EQ(curl("good.test"), "hello from good.test:" + web.port() + "/o\n");
  EXPECT_NE(curl("evil.test").find("to allow it: --allow-domain evil.test"), std::string::npos);
  proxy.send(SIGTERM);
  auto called = proxy.finish();
  EXPECT_EQ(called.code, 0) << called.describe();
  EXPECT_NE(called.err.find("1 allowed, 1 refused"), std::string::npos) << called.describe();
  EXPECT_EQ(lines(hotcell({"proxy", "log", "--state", state.path() + "/s"}).out), 2u);
}

// What was asked is on disk while it serves, and when nobody could say goodbye.
TEST_F(NetworkRun, ProxyByItselfKeepsItsLogAsItGoes) {
  int code = -1;
  std::string port = shell_output({"/usr/bin/python3", "-c", "import socket; s = socket.socket(); s.bind(('127.0.0.1', 0)); print(s.getsockname()[1], end='')"}, "", &code);
  Call proxy({"proxy", "start", "--listen", "127.0.0.1:" + port, "--allow-domain", "good.test", "--allow-private", "good.test", "--map-host", "good.test=127.0.0.1",
              "--state", state.path() + "/s"});
  ASSERT_TRUE(proxy.wait_for_output("http://127.0.0.1:" + port));
  auto curl = [&](const std::string& host) {
    return shell_output({"/usr/bin/curl", "-sS", "--noproxy", "", "-x", "http://127.0.0.1:" + port, web.url(host, "/o")}, "", &code);
  };
  auto log = [&] { return hotcell({"proxy", "log", "--state", state.path() + "/s"}).out; };
  EXPECT_EQ(curl("good.test"), "hello from good.test:" + web.port() + "/o\n");
  curl("evil.test");
  for (int i = 0; i < 200 && lines(log()) < 2; ++i) ::usleep(50'000);
  EXPECT_EQ(lines(log()), 2u) << "while it runs";
  EXPECT_EQ(Json(hotcell({"proxy", "stats", "--json", "--state", state.path() + "/s"}).out).text("blocked"), "1");
  proxy.send(SIGKILL);
  proxy.finish();
  EXPECT_EQ(lines(log()), 2u);
}

// In a cell, whose loopback is its own: the port may be in use outside.
TEST_F(NetworkRun, ProxyEnvSaysWhereProxyStartListens) {
  const std::string program = hotcell_path(), folder = std::filesystem::path(program).parent_path();
  auto called = hotcell({"run", "--read", folder, "--", "/bin/sh", "-c",
                         program + " proxy start --state /tmp/s > /tmp/said & pid=$!\n"
                         "while [ ! -s /tmp/said ]; do sleep 0.05; done\n"
                         "eval \"$(" + program + " proxy env)\"\n"
                         "[ \"$http_proxy\" = \"$(cat /tmp/said)\" ] && echo same\n"
                         "curl -sS http://evil.test/ | grep -o 'allow-domain evil.test'\n"
                         "kill $pid; wait $pid"});
  EXPECT_EQ(called.out, "same\nallow-domain evil.test\n") << called.describe();
  auto env = [](const std::string& listen) { return hotcell({"proxy", "env", "--listen", listen}).out; };
  EXPECT_NE(env("10.1.2.3:99").find("export http_proxy='http://10.1.2.3:99'\n"), std::string::npos) << env("10.1.2.3:99");
  EXPECT_NE(env("[::1]:99").find("export HTTPS_PROXY='http://[::1]:99'\n"), std::string::npos);
  EXPECT_NE(env("[::1]:99").find("-Dhttp.proxyHost=::1 -Dhttp.proxyPort=99"), std::string::npos);
  EXPECT_NE(env("0.0.0.0:99").find("export http_proxy='http://127.0.0.1:99'\n"), std::string::npos);
  EXPECT_EQ(hotcell({"proxy", "env", "--listen", "127.0.0.1:0"}).code, 125);
}

TEST_F(NetworkRun, DevelopmentRulesComeFromThisHostsTools) {
  TempDir home;
  std::filesystem::create_directories(home.path() + "/.config/pip");
  write_text(home.path() + "/.config/pip/pip.conf", "[global]\nindex-url = https://wheels.corner.test/simple\n");
  int code = -1;
  auto check = [&](const std::string& host, const std::string& list) {
    shell_output({"/usr/bin/env", "-i", "HOME=" + home.path(), hotcell_path(), "proxy", "check", "--allow-domain", list, host}, "", &code);
    return code;
  };
  EXPECT_EQ(check("wheels.corner.test", "@registries"), 0);
  EXPECT_EQ(check("wheels.corner.test:80", "@registries"), 1);
  EXPECT_EQ(check("other.corner.test", "@registries"), 1);
  EXPECT_EQ(check("api.github.com", "@registries"), 1);
  EXPECT_EQ(check("api.github.com", "@development"), 0);
  EXPECT_EQ(check("wheels.corner.test", "@development"), 0);
  EXPECT_EQ(check("10.0.0.1", "@development"), 1);
  EXPECT_EQ(check("good.test", "@nonsense"), 125) << "a name that nobody knows is an error";
}

}  // namespace
}  // namespace hotcell::testing
