// Another parser's opinion of the scripts this machine has: the same simple commands, by name and number.
#include <dirent.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <sstream>

#include "parse/shell.h"

namespace hotcell {
namespace {

using Names = std::map<std::string, int>;

// The few bits of JSON that matter: strings by key, and where objects and lists begin and end. shfmt's own output, so
// it is well-formed.
class Walker {
 public:
  explicit Walker(const std::string& text) : s_(text) {}
  Names calls() {
    value("");
    return std::move(names_);
  }
  int total = 0;

 private:
  struct Frame {
    std::string type, literal;
    bool plain = true;
    int parts = 0;
  };
  void skip() {
    while (at_ < s_.size() &&
           (s_[at_] == ' ' || s_[at_] == '\n' || s_[at_] == '\t' || s_[at_] == ',' || s_[at_] == ':'))
      ++at_;
  }
  std::string text() {
    std::string out;
    for (++at_; at_ < s_.size() && s_[at_] != '"'; ++at_) {
      if (s_[at_] != '\\')
        out += s_[at_];
      else if (s_[++at_] == 'n')
        out += '\n';
      else if (s_[at_] == 'u')
        out += static_cast<char>(std::stoi(s_.substr(at_ + 1, 4), nullptr, 16)), at_ += 4;
      else
        out += s_[at_];
    }
    ++at_;
    return out;
  }
  // Returns the literal of a word: an object whose Parts are all Lit; \1 when it is none.
  std::string value(const std::string& key) {
    skip();
    if (at_ >= s_.size()) return "\1";
    if (s_[at_] == '"') return text();
    if (s_[at_] == '[') {
      ++at_;
      std::string all;
      bool plain = true;
      int n = 0;
      for (skip(); at_ < s_.size() && s_[at_] != ']'; skip()) {
        std::string one = value(key);
        if (key == "Args" && n == 0) all = one;
        if (key == "Parts") plain = plain && one != "\1", all += one;
        ++n;
      }
      ++at_;
      return plain && n > 0 ? all : "\1";
    }
    if (s_[at_] == '{') {
      ++at_;
      std::string type, literal = "\1", args = "\2", parts = "\1";
      for (skip(); at_ < s_.size() && s_[at_] != '}'; skip()) {
        std::string name = text();
        std::string v = value(name);
        if (name == "Type") type = v;
        if (name == "Value") literal = v;
        if (name == "Args") args = v;
        if (name == "Parts") parts = v;
      }
      ++at_;
      if (type == "CallExpr" && args != "\2") {
        ++total;
        ++names_[unescaped(args)];
      }
      return type == "Lit" ? literal : parts;
    }
    std::size_t from = at_;
    while (at_ < s_.size() && s_[at_] != ',' && s_[at_] != '}' && s_[at_] != ']' && s_[at_] != '\n') ++at_;
    return s_.substr(from, at_ - from);
  }
  static std::string unescaped(const std::string& s) {
    if (s == "\1") return "?";
    std::string out;
    for (std::size_t i = 0; i < s.size(); ++i)
      if (s[i] != '\\')
        out += s[i];
      else if (i + 1 < s.size() && s[i + 1] != '\n')
        out += s[++i];
      else
        ++i;
    return out;
  }
  const std::string& s_;
  std::size_t at_ = 0;
  Names names_;
};

Names ours(const ShellScript& s) {
  Names names;
  for (const ShellNode& n : s.nodes) {
    if (n.kind != ShellNodeKind::kSimple || n.word_count == 0) continue;
    std::string name = s.plain(n.words).value_or("?");
    // shfmt has nodes of their own for these.
    if (name == "declare" || name == "local" || name == "export" || name == "readonly" || name == "typeset" ||
        name == "nameref" || name == "let")
      continue;
    const ShellWord& w = s.words[n.words];
    bool quoted = false;
    for (ShellId i = w.parts; i < w.parts + w.count; ++i)
      quoted = quoted || (s.parts[i].quoted && s.text()[s.parts[i].begin - 1] != '\\');
    ++names[quoted ? "?" : name];
  }
  return names;
}

std::string whole(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

bool is_script(const std::string& path) {
  struct stat st;
  if (stat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > 60000) return false;
  std::ifstream in(path, std::ios::binary);
  std::string line;
  return std::getline(in, line) && line.size() < 80 && line.starts_with("#!") &&
         (line.ends_with("/sh") || line.ends_with("/bash") || line.ends_with("sh -e"));
}

void gather(const std::string& folder, std::size_t most, std::vector<std::string>& out) {
  DIR* d = opendir(folder.c_str());
  if (d == nullptr) return;
  while (dirent* e = readdir(d))
    if (out.size() < most && is_script(folder + "/" + e->d_name)) out.push_back(folder + "/" + e->d_name);
  closedir(d);
}

TEST(ShellOracle, TheSameCommandsAsShfmtOverTheSystemsScripts) {
  if (access("/usr/bin/shfmt", X_OK) != 0) {
    printf("shfmt is not there: nothing was compared\n");
    return;
  }
  std::vector<std::string> files;
  for (const char* folder :
       {"/usr/bin", "/usr/sbin", "/etc/init.d", "/usr/lib/dpkg/methods/apt", "/usr/share/autoconf/build-aux",
        "/usr/lib/git-core", "/usr/share/libtool/build-aux", "/etc/cron.daily"})
    gather(folder, 70, files);
  int all = 0, different = 0, refused = 0;
  for (const std::string& file : files) {
    std::string command = "/usr/bin/shfmt --to-json -ln bash < '" + file + "' 2>/dev/null", json;
    FILE* pipe = popen(command.c_str(), "re");
    ASSERT_NE(pipe, nullptr);
    char chunk[65536];
    while (std::size_t n = fread(chunk, 1, sizeof chunk, pipe)) json.append(chunk, n);
    if (pclose(pipe) != 0) {
      ++refused;
      continue;
    }
    Walker walker(json);
    Names want = walker.calls();
    all += walker.total;
    ShellScript s = parse_shell(whole(file));
    EXPECT_FALSE(s.error) << file << ": " << s.error->what << " at " << s.error->at;
    Names got = ours(s);
    int off = 0;
    for (const auto& [name, n] : want) off += std::abs(n - got[name]);
    for (const auto& [name, n] : got)
      if (!want.contains(name)) off += n;
    if (off > 0) printf("%s: %d differ\n", file.c_str(), off);
    different += off;
  }
  printf("%zu scripts (%d not read by shfmt), %d commands, %d differ\n", files.size(), refused, all, different);
  EXPECT_LE(different * 1000, all);
}

}  // namespace
}  // namespace hotcell
