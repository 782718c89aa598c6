// The same programs over TLS, each from two hosts, and refused at a third: told of the proxy and of what to trust by nothing
// but variables. The server's certificate is its own authority.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "e2e/cli.h"
#include "e2e/web_server.h"
#include "support/cells.h"

namespace hotcell::testing {
namespace {

const char* const kJavaClient = R"(import java.net.*;
import java.net.http.*;
class F {
  public static void main(String[] a) throws Exception {
    HttpClient client = HttpClient.newHttpClient();
    for (String url : a) {
      HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url));
      if (System.getenv("TOKEN") != null) request.header("X-T", System.getenv("TOKEN"));
      try { System.out.print(client.send(request.build(), HttpResponse.BodyHandlers.ofString()).body()); }
      catch (java.io.IOException e) { System.out.println("refused: " + e.getMessage()); }
    }
  }
}
)";
const char* const kGoClient = R"(package main

import ("fmt"; "io"; "net/http"; "os")

func main() {
  for _, url := range os.Args[1:] {
    request, _ := http.NewRequest("GET", url, nil)
    if t := os.Getenv("TOKEN"); t != "" { request.Header.Set("X-T", t) }
    answer, err := http.DefaultClient.Do(request)
    if err != nil { fmt.Println("refused:", err); continue }
    body, _ := io.ReadAll(answer.Body)
    fmt.Print(string(body))
  }
}
)";
const char* const kNodeClient = R"(const t = process.env.TOKEN, headers = t ? { 'X-T': t } : {};
for (const url of process.argv.slice(2)) {
  try { process.stdout.write(await (await fetch(url, { headers })).text()); }
  catch (e) { console.log('refused: ' + (e.cause ? e.cause.message : e.message)); }
}
)";

class NetworkTls : public E2e {
 protected:
  void SetUp() override {
    E2e::SetUp();
    write_text(work.path() + "/F.java", kJavaClient);
    write_text(work.path() + "/f.go", kGoClient);
    write_text(work.path() + "/f.mjs", kNodeClient);
    ::chmod(work.path().c_str(), 0755);
  }
  // Variables that Debian's and others' builds of these programs read.
  Called sh(const std::string& script, std::vector<std::string> more = {}) const {
    std::vector<std::string> args = {"run", "--network", "proxy", "--allow-private", "127.0.0.1", "--allow-domain", "good.test", "--allow-domain", "other.test",
                                     "--map-host", "good.test=127.0.0.1", "--map-host", "other.test=127.0.0.1", "--map-host", "evil.test=127.0.0.1",
                                     "--state", state.path() + "/s", "--processes", "128", "--memory", "1G", "--open-files", "1024", "--file", web.folder() + "/cert"};
    for (auto name : {"SSL_CERT_FILE", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS", "npm_config_cafile"})
      args.insert(args.end(), {"--env", std::string(name) + "=/work/cert"});
    args.insert(args.end(), more.begin(), more.end());
    for (auto word : {"--", "/bin/sh", "-c"}) args.emplace_back(word);
    args.push_back(script);
    return hotcell(args);
  }
  std::string greeting(const std::string& host, const std::string& path) const { return "hello from " + host + ":" + web.port() + path + "\n"; }
  std::string both(const std::string& path) const { return greeting("good.test", path) + greeting("other.test", path); }
  std::string urls(const std::string& path) const { return web.url("good.test", path) + " " + web.url("other.test", path); }
  bool was_asked(const std::string& host, const std::string& path) const { return web.asked().find(host + ":" + web.port() + path + "\n") != std::string::npos; }
  // The third host: the proxy's log says that it was asked for and refused, and the server was never reached by that name.
  void evil_was_refused() const {
    auto log = hotcell({"proxy", "log", "--state", state.path() + "/s"}).out;
    EXPECT_NE(log.find("refused  CONNECT evil.test"), std::string::npos) << log;
    EXPECT_EQ(web.asked().find("evil.test"), std::string::npos) << web.asked();
  }
  // Of f.go, made on this host: a compiler in the cell would be a test of limits.
  std::string go_client() const {
    int code = -1;
    auto said = shell_output({"/usr/bin/env", "-i", "PATH=/usr/bin:/bin", "HOME=" + work.path(), "GOCACHE=" + work.path() + "/cache", "GO111MODULE=off",
                              "/usr/bin/go", "build", "-o", work.path() + "/fgo", work.path() + "/f.go"},
                             "", &code);
    EXPECT_EQ(code, 0) << said;
    return work.path() + "/fgo";
  }

  TempDir state, work;
  WebServer web{WebServer::Kind::kTls};
};

TEST_F(NetworkTls, CurlAndWget) {
  auto called = sh("curl -sS " + urls("/c"));
  EXPECT_EQ(called.out, both("/c")) << called.describe();
  called = sh("wget -qO- --ca-certificate=/work/cert " + urls("/w"));
  EXPECT_EQ(called.out, both("/w")) << called.describe();
  EXPECT_EQ(sh("curl -sS " + web.url("evil.test")).code, 56);
  EXPECT_NE(sh("wget -qO- --ca-certificate=/work/cert " + web.url("evil.test")).code, 0);
  evil_was_refused();
  // The control: who is not told what to trust has nothing of it.
  EXPECT_EQ(sh("CURL_CA_BUNDLE= SSL_CERT_FILE= curl -sS " + urls("/c")).code, 60);
}

TEST_F(NetworkTls, Git) {
  TempDir home;
  int code = -1;
  std::string folder = web.folder() + "/files/r";
  shell_output({"/bin/sh", "-c",
                "export HOME=" + home.path() + "; set -e; git init -q " + folder + "/w; cd " + folder + "/w; echo text > file; git add file; "
                "git -c user.name=n -c user.email=e commit -qm first; git clone -q --bare . ../x; cd ../x; git update-server-info"},
               "", &code);
  ASSERT_EQ(code, 0);
  auto called = sh("git clone -q " + web.url("good.test", "/r/x") + " c && git clone -q " + web.url("other.test", "/r/x") + " d && cat c/file d/file");
  EXPECT_EQ(called.out, "text\ntext\n") << called.describe();
  EXPECT_TRUE(was_asked("other.test", "/r/x/info/refs?service=git-upload-pack")) << web.asked();
  EXPECT_EQ(sh("git clone -q " + web.url("evil.test", "/r/x") + " e").code, 128);
  evil_was_refused();
}

// The index is on one host, what it names on the other, as with the real one.
TEST_F(NetworkTls, Pip) {
  int code = -1;
  std::filesystem::create_directories(web.folder() + "/files");
  shell_output({"/usr/bin/python3", "-c",
                "import sys, zipfile\n"
                "z = zipfile.ZipFile(sys.argv[1], 'w')\n"
                "z.writestr('none.py', 'x = 1\\n')\n"
                "z.writestr('none-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: none\\nVersion: 1.0\\n')\n"
                "z.writestr('none-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n"
                "z.writestr('none-1.0.dist-info/RECORD', 'none.py,,\\nnone-1.0.dist-info/METADATA,,\\nnone-1.0.dist-info/WHEEL,,\\nnone-1.0.dist-info/RECORD,,\\n')\n"
                "z.close()\n",
                web.folder() + "/files/none-1.0-py3-none-any.whl"},
               "", &code);
  ASSERT_EQ(code, 0);
  const std::string wheel = "/none-1.0-py3-none-any.whl";
  web.file("/simple/none/index.html", "<html><body><a href=\"" + web.url("other.test", wheel) + "\">none-1.0-py3-none-any.whl</a></body></html>");
  web.file("/simple/bad/index.html", "<html><body><a href=\"" + web.url("evil.test", "/bad-1.0-py3-none-any.whl") + "\">bad-1.0-py3-none-any.whl</a></body></html>");
  std::vector<std::string> index = {"--env", "PIP_INDEX_URL=" + web.url("good.test", "/simple"), "--env", "PIP_DISABLE_PIP_VERSION_CHECK=1", "--env", "PIP_RETRIES=0"};
  auto called = sh("pip download -q --no-deps -d out none && ls out", index);
  EXPECT_EQ(called.out, "none-1.0-py3-none-any.whl\n") << called.describe();
  EXPECT_TRUE(was_asked("good.test", "/simple/none/") && was_asked("other.test", wheel)) << web.asked();
  EXPECT_NE(sh("pip download -q --no-deps -d out bad", index).code, 0);
  evil_was_refused();
}

TEST_F(NetworkTls, Npm) {
  int code = -1;
  shell_output({"/bin/sh", "-c",
                "set -e; d=$(mktemp -d); mkdir $d/package; echo '{\"name\":\"none\",\"version\":\"1.2.3\"}' > $d/package/package.json; echo 'module.exports=7' > $d/package/index.js; mkdir -p " +
                    web.folder() + "/files/t; tar czf " + web.folder() + "/files/t/none-1.2.3.tgz -C $d package; rm -r $d"},
               "", &code);
  ASSERT_EQ(code, 0);
  auto packument = [&](const std::string& name, const std::string& host) {
    web.file("/" + name, R"({"name":")" + name + R"(","dist-tags":{"latest":"1.2.3"},"versions":{"1.2.3":{"name":")" + name +
                             R"(","version":"1.2.3","dist":{"tarball":")" + web.url(host, "/t/none-1.2.3.tgz") + R"("}}}})");
  };
  packument("none", "other.test");
  packument("bad", "evil.test");
  std::vector<std::string> registry = {"--env", "npm_config_registry=" + web.url("good.test", "/"), "--env", "npm_config_update_notifier=false", "--env", "npm_config_audit=false",
                                       "--env", "npm_config_fund=false", "--env", "npm_config_fetch_retries=0", "--memory", "2G"};
  auto called = sh("npm install --silent none >/dev/null && node -e \"console.log(require('none'))\"", registry);
  EXPECT_EQ(called.out, "7\n") << called.describe();
  EXPECT_TRUE(was_asked("good.test", "/none") && was_asked("other.test", "/t/none-1.2.3.tgz")) << web.asked();
  EXPECT_NE(sh("npm install --silent bad", registry).code, 0);
  evil_was_refused();
}

TEST_F(NetworkTls, NodeFetch) {
  auto called = sh("node f.mjs " + urls("/n") + " " + web.url("evil.test"), {"--file", work.path() + "/f.mjs"});
  EXPECT_TRUE(called.out.starts_with(both("/n") + "refused: evil.test:" + web.port() + " is refused")) << called.describe();
  called = sh("node -e \"require('https').get('" + web.url("other.test", "/h") + "',r=>r.pipe(process.stdout))\"");
  EXPECT_EQ(called.out, greeting("other.test", "/h")) << called.describe();
  evil_was_refused();
}

TEST_F(NetworkTls, JavaHttpClient) {
  // Its own file of what it trusts, made by its own tool.
  int code = -1;
  auto said = shell_output({"/usr/bin/keytool", "-importcert", "-noprompt", "-alias", "t", "-file", web.folder() + "/cert", "-keystore", work.path() + "/store", "-storepass", "changeit"}, "", &code);
  ASSERT_EQ(code, 0) << said;
  ::chmod((work.path() + "/store").c_str(), 0644);
  auto called = sh("java -Djavax.net.ssl.trustStore=/work/store -Djavax.net.ssl.trustStorePassword=changeit -XX:TieredStopAtLevel=1 F.java " + urls("/j") + " " + web.url("evil.test") + " 2>/dev/null",
                   {"--file", work.path() + "/F.java", "--file", work.path() + "/store"});
  EXPECT_TRUE(called.out.starts_with(both("/j") + "refused: ")) << called.describe();
  evil_was_refused();
}

TEST_F(NetworkTls, GoNetHttp) {
  const std::string program = go_client();
  auto called = sh("./fgo " + urls("/g") + " " + web.url("evil.test"), {"--file", program});
  EXPECT_TRUE(called.out.starts_with(both("/g") + "refused: ")) << called.describe();
  evil_was_refused();
}

// With a secret the cell has an authority of its own, and each program is told of it by its own variable: nothing else is set here.
class NetworkTlsSecrets : public NetworkTls {
 protected:
  std::string secret(const std::string& script, std::vector<std::string> files = {}) const {
    std::vector<std::string> args = {"/usr/bin/env", "-i", "PATH=/usr/bin:/bin", "SSL_CERT_FILE=" + web.folder() + "/cert", "TOKEN=" + value, hotcell_path(), "run",
                                     "--network", "proxy", "--secret", "TOKEN@good.test", "--allow-domain", "other.test", "--allow-private", "127.0.0.1",
                                     "--map-host", "good.test=127.0.0.1", "--map-host", "other.test=127.0.0.1", "--state", state.path() + "/s",
                                     "--processes", "128", "--memory", "1G", "--open-files", "1024"};
    for (const auto& f : files) args.insert(args.end(), {"--file", f});
    for (auto word : {"--", "/bin/sh", "-c"}) args.emplace_back(word);
    args.push_back(script);
    int code = -1;
    return shell_output(args, "", &code);
  }
  // It had the value, said it back, and that came in as the placeholder.
  void used(const std::string& text) const {
    EXPECT_NE(text.find("X-T: hc"), std::string::npos) << text;
    EXPECT_EQ(text.find(value), std::string::npos) << text;
  }
  std::string headers() const { return web.url("good.test", "/headers"); }
  std::string value = "tok_Real-1234567890";
};

TEST_F(NetworkTlsSecrets, Curl) {
  auto text = secret("curl -sS -H \"X-T: $TOKEN\" " + headers() + "; curl -sS " + web.url("other.test", "/plain"));
  used(text);
  EXPECT_NE(text.find(greeting("other.test", "/plain")), std::string::npos) << "hosts without a secret are trusted as before: " << text;
  EXPECT_EQ(secret("env -u CURL_CA_BUNDLE -u SSL_CERT_FILE curl -sS -H \"X-T: $TOKEN\" " + headers() + " 2>/dev/null"), "") << "the control";
}

TEST_F(NetworkTlsSecrets, Git) {
  auto text = secret("git -c http.extraHeader=\"X-T: $TOKEN\" ls-remote " + web.url("good.test", "/g") + " 2>&1; true");
  EXPECT_TRUE(was_asked("good.test", "/g/info/refs?service=git-upload-pack")) << web.asked() << text;
  EXPECT_NE(secret("env -u GIT_SSL_CAINFO git ls-remote " + web.url("good.test", "/x") + " 2>&1; true").find("certificate"), std::string::npos) << "the control";
  EXPECT_FALSE(was_asked("good.test", "/x/info/refs?service=git-upload-pack"));
}

TEST_F(NetworkTlsSecrets, Pip) {
  web.file("/simple/none/index.html", "<html><body><a href=\"../../none-1.0.tar.gz\">none-1.0.tar.gz</a></body></html>");
  auto text = secret("PIP_RETRIES=0 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_INDEX_URL=" + web.url("good.test", "/simple") + " pip index versions none 2>/dev/null; true");
  EXPECT_NE(text.find("1.0"), std::string::npos) << text;
  EXPECT_TRUE(was_asked("good.test", "/simple/none/")) << web.asked();
}

TEST_F(NetworkTlsSecrets, Npm) {
  web.file("/none", R"({"name":"none","dist-tags":{"latest":"1.2.3"},"versions":{"1.2.3":{"name":"none","version":"1.2.3","dist":{"tarball":"https://good.test/x.tgz"}}}})");
  auto text = secret("npm_config_update_notifier=false npm_config_fetch_retries=0 npm_config_registry=" + web.url("good.test", "/") + " npm view none version");
  EXPECT_EQ(text, "1.2.3\n");
}

TEST_F(NetworkTlsSecrets, NodeFetch) { used(secret("node f.mjs " + headers(), {work.path() + "/f.mjs"})); }

TEST_F(NetworkTlsSecrets, JavaHttpClient) {
  auto text = secret("java -XX:TieredStopAtLevel=1 F.java " + headers() + " " + web.url("other.test", "/j") + " 2>/dev/null", {work.path() + "/F.java"});
  used(text);
  EXPECT_NE(text.find(greeting("other.test", "/j")), std::string::npos) << "what the host trusts is in the file, too: " << text;
}

TEST_F(NetworkTlsSecrets, GoNetHttp) { used(secret("./fgo " + headers(), {go_client()})); }

TEST_F(NetworkTlsSecrets, Cargo) {
  auto fetch = [&](const std::string& before) {
    return secret("mkdir -p p/src && cd p && printf '[package]\\nname=\"p\"\\nversion=\"0.1.0\"\\n[dependencies]\\nnone={version=\"1\",registry=\"r\"}\\n' > Cargo.toml && touch src/lib.rs && " + before +
                  " CARGO_NET_RETRY=0 CARGO_REGISTRIES_R_INDEX=" + web.url("good.test", "/cargo/x") + " cargo fetch 2>&1; true");
  };
  // Its old client leaves the port out of Host, which is refused: that an answer was read at all is what shows its trust.
  auto text = fetch("env");
  EXPECT_TRUE(text.find("got 400") != std::string::npos || was_asked("good.test", "/cargo/x/info/refs?service=git-upload-pack")) << text;
  text = fetch("env -u CARGO_HTTP_CAINFO -u SSL_CERT_FILE");
  EXPECT_NE(text.find("SSL"), std::string::npos) << "the control: " << text;
  EXPECT_EQ(text.find("got 400"), std::string::npos) << text;
}

}  // namespace
}  // namespace hotcell::testing
