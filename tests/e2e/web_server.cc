#include "e2e/web_server.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "e2e/cli.h"

namespace hotcell::testing {
namespace {

constexpr const char* kScript = R"(
import http.server, os, ssl, sys
folder, tls = sys.argv[1], sys.argv[2]
class H(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def answer(self):
        size = int(self.headers.get('Content-Length') or 0)
        sent = self.rfile.read(size)
        with open(folder + '/asked', 'a') as log: log.write(self.headers.get('Host', '') + self.path + '\n')
        path = os.path.realpath(folder + '/files/' + self.path.split('?')[0])
        if self.path.startswith('/headers'): body = str(self.headers).encode() + sent
        elif os.path.isdir(path) and os.path.isfile(path + '/index.html'): body = open(path + '/index.html', 'rb').read()
        elif os.path.isfile(path): body = open(path, 'rb').read()
        elif self.path.startswith('/missing') or '.git' in self.path or 'objects' in self.path: return self.send_error(404)
        else: body = ('hello from ' + self.headers.get('Host', '') + self.path + '\n').encode()
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        kind = 'application/json' if body[:1] == b'{' else 'text/html' if body[:1] == b'<' else 'text/plain'
        self.send_header('Content-Type', kind)
        self.end_headers()
        if self.command != 'HEAD': self.wfile.write(body)
    do_GET = do_POST = do_PUT = do_HEAD = answer
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(('127.0.0.1', 0), H)
if tls:
    c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER); c.load_cert_chain(folder + '/cert', folder + '/key')
    s.socket = c.wrap_socket(s.socket, server_side=True)
print(s.server_address[1], flush=True)
s.serve_forever()
)";

}  // namespace

WebServer::WebServer(Kind kind) : tls_(kind == Kind::kTls) {
  std::filesystem::create_directory(folder() + "/files");
  if (tls_) {
    int code = -1;
    shell_output({"/usr/bin/openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                  "/CN=good.test", "-addext", "subjectAltName=DNS:good.test,DNS:other.test,DNS:localhost", "-keyout", folder() + "/key", "-out", folder() + "/cert"},
                 "", &code);
    EXPECT_EQ(code, 0) << "openssl makes the certificate";
  }
  int out[2];
  if (::pipe2(out, O_CLOEXEC) != 0) ::abort();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(out[1], STDOUT_FILENO);
    ::execl("/usr/bin/python3", "python3", "-c", kScript, folder().c_str(), tls_ ? "1" : "", nullptr);
    ::_exit(127);
  }
  ::close(out[1]);
  said_ = out[0];
  std::string line;
  for (char c; ::read(said_, &c, 1) == 1 && c != '\n';) line += c;
  port_ = std::atoi(line.c_str());
  EXPECT_NE(port_, 0) << "the web server has not started";
}

WebServer::~WebServer() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  ::close(said_);
}

void WebServer::file(const std::string& path, std::string_view text) const {
  std::filesystem::create_directories(std::filesystem::path(folder() + "/files" + path).parent_path());
  write_text(folder() + "/files" + path, text);
}

std::string WebServer::url(const std::string& host, const std::string& path) const { return (tls_ ? "https://" : "http://") + host + ":" + port() + path; }

std::string WebServer::asked() const { return read_text(folder() + "/asked"); }

}  // namespace hotcell::testing
