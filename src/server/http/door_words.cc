#include "server/http/door_words.h"

#include <optional>

#include "base/json_write.h"
#include "base/strings.h"

namespace hotcell::server {
namespace {

// What stood behind the option is put for `$` as JSON, for `%` as it is. An option without a form for it leaves it where it stands.
struct Option {
  std::string_view name, alone, with_value = {};
};

constexpr Option kOptions[] = {
    {"--allow-domain", "allow_domains", "allow_domains: [$]"},
    {"--block-domain", "block_domains", "block_domains: [$]"},
    {"--allow-private", "network.private in the daemon's configuration", "network.private: [$] in the daemon's configuration"},
    {"--network-rules", "network.rules in the profile", "network: {rules: %} in the profile"},
    {"--network-bytes", "network.bytes in the daemon's configuration"},
    {"--network-time", "network.time in the daemon's configuration"},
    // A profile asks for it and the configuration lets it: no request shows a path of the host by itself.
    {"--read", "filesystem.read in the profile", "filesystem: {read: [$]} in the profile, within paths.read of the daemon's configuration"},
    {"--write", "filesystem.write in the profile", "filesystem: {write: [$]} in the profile, within paths.write of the daemon's configuration"},
    {"--backend", "backend in the daemon's configuration", "backend: % in the daemon's configuration"},
    {"--state", "state_dir in the daemon's configuration"},
    {"--processes", "limits.processes"},
    {"--cpus", "limits.cpus"},
    {"--network", "network", "network"},   // "proxy" for REST, true for MCP
    {"--phases", "phases"},
    {"--from", "from"},
    {"--secret", "secrets", "secrets: {$: VALUE}"},
    {"--session", "shell"},
    {"--inspect", "inspect"},
    {"--force", "force"},
    {"--dry-run", "dry_run"},
    {"--waive", "hotcell run --waive", "hotcell run --waive %"},   // as kNoWaivers says: no request does
};
constexpr Option kOfConfiguration[] = {
    {"--allow-domain", "network.allow in the daemon's configuration", "network.allow: [$] in the daemon's configuration"},
    {"--block-domain", "network.block in the daemon's configuration", "network.block: [$] in the daemon's configuration"},
};

// `*` is one word, whatever it is. The first that fits.
struct Phrase {
  std::string_view command, words;
};
constexpr Phrase kPhrases[] = {
    {"(hotcell cell rm, hotcell cell clean)", ""},
    {"see hotcell cell list", "see the list of cells"},
    {"see hotcell cell snapshots *", "see its snapshots"},
    {"see hotcell cell grants", "see its grants"},
    {"see hotcell cell start", "start it"},
    {"hotcell cell start *", "start it"},
    {"hotcell cell resume *", "resume it"},
    {"hotcell cell context * create LANGUAGE", "make it again"},
    {"hotcell cell context * restart *", "restart it"},
    {"the next hotcell cell apply *", "the next apply"},
    {"for hotcell cell create", "when the cell is made"},
    {"with cell create", "with"},
    {"what cell exec says by", "what exec says by"},
};

bool is_name(char c) { return (c >= 'a' && c <= 'z') || c == '-'; }
bool ends_value(char c) { return c == ' ' || c == '\n' || c == ')'; }

class Translation {
 public:
  Translation(std::string_view in, Hosts hosts) : in_(in), hosts_(hosts) {}

  std::string all() {
    while (at_ < in_.size()) {
      if (in_[at_] == '"') {
        copy_quoted();
      } else if (!begins_word() || (!option() && !phrase())) {
        out_ += in_[at_++];
        after_option_ = after_option_ && out_.back() == ' ';
      }
    }
    return std::move(out_);
  }

 private:
  bool begins_word() const { return at_ == 0 || in_[at_ - 1] == ' ' || in_[at_ - 1] == '('; }

  void copy_quoted() {
    do {
      if (in_[at_] == '\\' && at_ + 1 < in_.size()) out_ += in_[at_++];
      out_ += in_[at_++];
    } while (at_ < in_.size() && in_[at_] != '"');
    if (at_ < in_.size()) out_ += in_[at_++];
    after_option_ = false;
  }

  const Option* find(std::string_view name) const {
    if (hosts_ == Hosts::kOfConfiguration)
      for (const auto& o : kOfConfiguration)
        if (o.name == name) return &o;
    for (const auto& o : kOptions)
      if (o.name == name) return &o;
    return nullptr;
  }

  bool option() {
    std::string_view rest = in_.substr(at_);
    if (!rest.starts_with("--")) return false;
    std::size_t n = 2;
    while (n < rest.size() && is_name(rest[n])) ++n;
    const Option* found = find(rest.substr(0, n));
    if (found == nullptr) return false;
    if (found->name == "--waive" && out_.ends_with("hotcell run ")) return false;
    at_ += n;
    auto value = found->with_value.empty() ? std::nullopt : take_value();
    if (after_option_) out_ += "and ";
    else if (after_command_) out_ += "with ";
    after_command_ = false;
    after_option_ = true;
    std::string_view form = value ? found->with_value : found->alone;
    // "remove --block-domain a" is the way back, and no field to set.
    if (value && found->name == "--block-domain" && out_.ends_with("remove ")) {
      out_ += cat(json(*value), " from ", found->alone);
      return true;
    }
    for (char c : form) {
      if (c == '$' && value) out_ += json(*value);
      else if (c == '%' && value) out_ += *value;
      else out_ += c;
    }
    return true;
  }

  static std::string json(std::string_view text) {
    JsonWriter w;
    w.value(text);
    return w.take();
  }

  // One word, or what a shell would take for one.
  std::optional<std::string> take_value() {
    if (at_ + 1 >= in_.size() || in_[at_] != ' ') return std::nullopt;
    std::string_view rest = in_.substr(at_ + 1);
    if (rest.starts_with("--") || rest.starts_with("or ") || rest.starts_with("and ")) return std::nullopt;
    std::string value;
    std::size_t n = 0;
    for (bool quoted = false; n < rest.size() && (quoted || !ends_value(rest[n])); ++n) {
      if (rest[n] == '\'') quoted = !quoted;
      else if (!quoted && rest[n] == '\\' && n + 1 < rest.size()) value += rest[++n];
      else value += rest[n];
    }
    // What the sentence goes on with is its own.
    while (n < rest.size() && !value.empty() && std::string_view(":;,").find(value.back()) != std::string_view::npos) value.pop_back(), --n;
    if (value.empty()) return std::nullopt;
    at_ += 1 + n;
    return value;
  }

  bool phrase() {
    for (const auto& p : kPhrases) {
      const std::size_t n = length_of(p.command, in_.substr(at_));
      if (n == 0) continue;
      at_ += n;
      out_ += p.words;
      if (p.words.empty() && out_.ends_with(' ')) out_.pop_back();
      after_command_ = in_.substr(at_).starts_with(" --") && !p.words.ends_with("with") && !p.words.ends_with(" by");
      return true;
    }
    return false;
  }

  static std::size_t length_of(std::string_view pattern, std::string_view text) {
    std::size_t n = 0;
    for (char c : pattern) {
      if (c != '*') {
        if (n == text.size() || text[n] != c) return 0;
        ++n;
        continue;
      }
      const std::size_t from = n;
      while (n < text.size() && !ends_value(text[n]) && text[n] != ';' && text[n] != ',') ++n;
      if (n == from) return 0;
    }
    return n == text.size() || !is_name(text[n]) ? n : 0;
  }

  std::string_view in_;
  Hosts hosts_;
  std::size_t at_ = 0;
  std::string out_;
  bool after_option_ = false, after_command_ = false;
};

}  // namespace

std::string door_words(std::string_view sentence, Hosts hosts) {
  if (sentence.find("--") == sentence.npos && sentence.find("cell ") == sentence.npos) return std::string(sentence);
  return Translation(sentence, hosts).all();
}

std::string door_words_in(std::string json, std::string_view member) {
  // Inside of a string every quotation mark has a backslash before it: this is a member, and nothing else looks like it.
  const std::string head = cat("\"", member, "\":\"");
  for (std::size_t at = json.find(head); at != json.npos; at = json.find(head, at)) {
    at += head.size();
    const std::size_t end = json.find('"', at);
    if (end == json.npos) break;
    const std::string_view value = std::string_view(json).substr(at, end - at);
    if (value.find('\\') != value.npos) continue;   // no sentence of ours
    JsonWriter w;
    w.value(std::string_view(door_words(value)));
    const std::string text = w.take();
    json.replace(at - 1, end + 1 - (at - 1), text);
    at += text.size() - 1;
  }
  return json;
}

}  // namespace hotcell::server
