// Which hosts well-known commands talk to.
#include "base/strings.h"
#include "languages/bash/facts_analyser.h"

namespace hotcell::bash {
namespace {

bool looks_like_host(std::string_view s) {
  if (s.find("://") != std::string_view::npos) return true;
  std::size_t dot = s.find('.');
  return dot != std::string_view::npos && dot > 0 && dot + 1 < s.size() && s.find('/') != 0 &&
         s.find_first_of(" ={}") == std::string_view::npos;
}

}  // namespace

void Analyser::host(const Field& f, const Call& c) {
  if (f.text.empty()) return;
  say(FactKind::kHost, f.text.substr(0, 300), f.known ? "" : "not constant", c.at);
}

void Analyser::hosts(const std::string& name, Args words, const Call& c) {
  std::vector<const Field*> operands;
  static constexpr std::pair<std::string_view, std::string_view> kValued[] = {
      {" curl ",
       " -d -X -H -o -w -u -A -e -b -c -F -T -x -m -r -K -E --data --data-binary --data-raw --data-urlencode --request "
       "--header --output --user --max-time "
       "--connect-timeout --retry --form --cookie --write-out --retry-delay --proxy --cacert --cert --key "
       "--upload-file --user-agent "},
      {" wget ",
       " -O -o -P -t -T -U --header --post-data --post-file --output-document --tries --timeout --user --password "
       "--user-agent "},
      {" nc ncat netcat ", " -w -p -s -e -c -i -q -x -X "},
      {" ssh scp sftp rsync ssh-copy-id ",
       " -i -p -P -o -l -F -L -R -D -J -e -b -c -S --exclude --include --rsh --port "},
      {" ping ping6 ", " -c -i -s -t -w -W -I -M "},
      {" dig host nslookup drill ", " -t -p -b -k -q -f "},
      {" nmap masscan hping3 traceroute telnet ", " -p -sV -iL -o -oN -oX -m -w -l --script --rate "}};
  std::string_view valued;
  for (const auto& [names, options] : kValued)
    if (one_of(name, names)) valued = options;
  bool url_option = false;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string& w = words[i].text;
    if (w == "--url" && i + 1 < words.size())
      host(words[i + 1], c), url_option = true;
    else if (w.starts_with("--url=")) {
      Field f = words[i];
      f.text = w.substr(6);
      host(f, c);
      url_option = true;
    }
    if (w.size() > 1 && w[0] == '-') {
      if (!valued.empty() && one_of(w, valued)) ++i;
      continue;
    }
    operands.push_back(&words[i]);
  }
  if (one_of(name, " curl wget wget2 aria2c lynx w3m links http https axel lftp ")) {
    for (const Field* f : operands)
      if (!one_of(f->text, " GET POST PUT DELETE HEAD ")) host(*f, c);
    (void)url_option;
  } else if (one_of(name,
                    " ssh sftp telnet ftp tftp ping ping6 ncat nc netcat traceroute mosh rlogin rsh arping whois "
                    "ssh-copy-id hping3 ")) {
    for (const Field* f : operands)
      if (f->text.find_first_not_of("0123456789-") != std::string::npos || !f->known) {
        host(*f, c);
        if (name != "ping") break;
      }
  } else if (one_of(name, " dig host nslookup drill nmap masscan ")) {
    for (const Field* f : operands)
      if (!one_of(f->text, " A AAAA TXT MX NS ANY SOA CNAME PTR +short ") && !f->text.starts_with('+')) {
        Field h = *f;
        if (h.text.starts_with('@')) h.text = h.text.substr(1);
        host(h, c);
      }
  } else if (name == "scp" || name == "rsync") {
    for (const Field* f : operands)
      if (f->text.find(':') != std::string::npos) host(*f, c);
  } else if (name == "git") {
    bool talks = false;
    for (const Field* f : operands) {
      talks = talks || one_of(f->text, " clone fetch pull push ls-remote remote submodule ");
      if (talks && (f->text.find("://") != std::string::npos ||
                    (f->text.find('@') != std::string::npos && f->text.find(':') != std::string::npos)))
        host(*f, c);
    }
    if (operands.size() >= 1 && one_of(operands[0]->text, " push pull fetch ") && words.size() >= 2) {
      Field remote = operands.size() > 1 ? *operands[1] : Field{};
      if (operands.size() < 2) remote.text = "origin";
      if (remote.text.find("://") == std::string::npos) host(remote, c);
    }
  } else if (name == "openssl") {
    for (std::size_t i = 1; i + 1 < words.size(); ++i)
      if (words[i].text == "-connect") host(words[i + 1], c);
  } else if (name == "socat") {
    for (const Field* f : operands)
      for (std::string_view kind : {"TCP", "tcp", "UDP", "udp", "OPENSSL", "openssl"})
        if (f->text.starts_with(kind)) {
          Field h = *f;
          h.text = f->text.substr(std::min(f->text.find(':') + 1, f->text.size()));
          host(h, c);
          break;
        }
  } else {
    for (const Field* f : operands)
      if (looks_like_host(f->text) && f->text.find("://") != std::string::npos) host(*f, c);
    for (std::size_t i = 1; i + 1 < words.size(); ++i)
      if (words[i].text == "-h" || words[i].text == "--host") host(words[i + 1], c);
  }
}

}  // namespace hotcell::bash
