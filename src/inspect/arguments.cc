// Walks JSON text without building it: each string with its path and place.
#include <algorithm>
#include <array>

#include "base/strings.h"
#include "inspect/decode.h"
#include "inspect/examiner.h"
#include "inspect/inspect.h"

namespace hotcell {

namespace {

using inspect::Examiner;

constexpr int kMostDepth = 64;
constexpr std::size_t kMostStrings = 100'000;

class Walker {
 public:
  // `keys` looks for secrets, whatever is asked for: a key stands in every path below it.
  Walker(std::string_view text, Examiner& examiner, Examiner& keys, std::vector<InspectFinding>& to)
      : text_(text), examiner_(examiner), keys_(keys), to_(to) {}

  Result<void> walk() {
    TRY(value(0));
    space();
    if (at_ != text_.size()) return bad("something follows the value");
    return {};
  }

 private:
  Error bad(std::string_view what) const { return make_error(ErrorCode::kInvalid, cat("arguments: at byte ", at_, ": ", what)); }
  void space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    space();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Result<std::string> string() {
    if (!take('"')) return bad("a string is wanted");
    std::size_t begin = at_;
    bool escaped = false;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) return bad("a control character in a string");
      if (text_[at_] == '\\') escaped = true, ++at_;
      ++at_;
    }
    if (at_ >= text_.size()) return bad("a string has no end");
    std::string_view raw = text_.substr(begin, at_++ - begin);
    return escaped ? unescaped(raw) : std::string(raw);
  }

  // JSON's own escapes and nothing else: %41 is not A yet.
  static std::string unescaped(std::string_view raw) {
    std::string out;
    for (std::size_t i = 0; i < raw.size();) {
      if (raw[i] != '\\') {
        out += raw[i++];
        continue;
      }
      std::size_t size = i + 1 < raw.size() && raw[i + 1] == 'u' ? 6 : 2;
      if (size == 6 && i + 6 < raw.size() && raw.substr(i + 6).starts_with("\\u")) size = 12;
      std::string_view piece = raw.substr(i, size);
      std::string one = inspect::unescape(piece);
      out += one.empty() ? std::string(piece.substr(1)) : one;
      i += piece.size();
    }
    return out;
  }

  Result<void> value(int depth) {
    if (depth > kMostDepth) return bad("nested too deep");
    space();
    if (at_ >= text_.size()) return bad("a value is wanted");
    char c = text_[at_];
    if (c == '{') return object(depth);
    if (c == '[') return array(depth);
    if (c == '"') {
      std::size_t begin = at_;
      TRY_SET(std::string s, string());
      if (++strings_ > kMostStrings) return bad("too many strings");
      found(s, begin);
      return {};
    }
    std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || std::string_view("+-.").find(text_[at_]) != std::string_view::npos)) ++at_;
    std::string_view word = text_.substr(begin, at_ - begin);
    bool number = !word.empty() && (std::isdigit(static_cast<unsigned char>(word[0])) != 0 || word[0] == '-');
    if (!number && word != "true" && word != "false" && word != "null") return bad("no JSON value");
    return {};
  }

  Result<void> object(int depth) {
    ++at_;
    if (take('}')) return {};
    for (;;) {
      space();
      std::size_t begin = at_, size = path_.size();
      TRY_SET(std::string name, string());
      if (!take(':')) return bad("a colon is wanted");
      const bool examined = !is_plain_name(name), secret = examined && holds_secret(name);
      path_ += cat(path_.empty() ? "" : ".", printable(secret ? beginning_of(name) : name.substr(0, 100)));
      if (examined) found(name, begin, secret);
      TRY(value(depth + 1));
      path_.resize(size);
      if (take('}')) return {};
      if (!take(',')) return bad("a comma is wanted");
    }
  }

  Result<void> array(int depth) {
    ++at_;
    if (take(']')) return {};
    for (std::size_t i = 0;; ++i) {
      std::size_t size = path_.size();
      path_ += cat("[", i, "]");
      TRY(value(depth + 1));
      path_.resize(size);
      if (take(']')) return {};
      if (!take(',')) return bad("a comma is wanted");
    }
  }

  // Too short for a key or a sentence, and of letters that do no harm: most names.
  static bool is_plain_name(std::string_view name) {
    return name.size() < 16 && std::all_of(name.begin(), name.end(), [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == ' ' || c == '$' || c == '@';
    });
  }

  // a.command, cmd[0]: what stands there is run, whatever it begins with.
  static bool is_run(std::string_view path) {
    path = path.substr(path.rfind('.') + 1);  // all of it, where there is none
    path = path.substr(0, path.find('['));
    static constexpr std::array<std::string_view, 9> kNames = {"command", "commands", "cmd", "command_line", "commandLine", "script", "shell", "bash", "shell_command"};
    return std::find(kNames.begin(), kNames.end(), path) != kNames.end();
  }

  bool holds_secret(const std::string& name) {
    std::vector<InspectFinding> here;
    keys_.examine(name, 0, here);
    return std::any_of(here.begin(), here.end(), [](const auto& f) { return f.kind == InspectKind::kSecrets && f.type != "not_examined"; });
  }

  // Enough to find it, too little to use it.
  static std::string beginning_of(std::string_view secret) {
    return cat(secret.substr(0, std::min<std::size_t>(secret.size() / 3, 12)), "...");
  }

  // Argument 'a.b[1]': what (matched: '…').
  void found(const std::string& text, std::size_t begin, bool secret = false) {
    std::vector<InspectFinding> here;
    examiner_.examine(text, 0, here);
    if (inspect::is_command_text(text) || is_run(path_)) examiner_.examine_command(text, inspect::CommandPlace::kTyped, here);
    inspect::tidy(here);
    for (auto& f : here) {
      if (secret) f.snippet = beginning_of(text);  // whatever else was found in it
      f.message = cat("Argument '", path_, "': ", f.message, " (matched: '", printable(f.snippet.substr(0, 40)), "')");
      f.path = path_;
      f.offset = begin;
      to_.push_back(std::move(f));
    }
  }

  std::string_view text_;
  Examiner& examiner_;
  Examiner& keys_;
  std::vector<InspectFinding>& to_;
  std::size_t at_ = 0, strings_ = 0;
  std::string path_;
};

}  // namespace

Result<Inspection> inspect_arguments(std::string_view json, const InspectOptions& options) {
  TRY_SET(Examiner examiner, Examiner::create(options, Examiner::Source::kArgument));
  InspectOptions secrets;
  secrets.kinds = {};
  secrets.kinds.add(InspectKind::kSecrets);
  secrets.rules = options.rules;
  TRY_SET(Examiner keys, Examiner::create(secrets, Examiner::Source::kArgument));
  std::vector<InspectFinding> findings;
  TRY(Walker(json, examiner, keys, findings).walk());
  Inspection result;
  result.findings = std::move(findings);
  return result;
}

}  // namespace hotcell
