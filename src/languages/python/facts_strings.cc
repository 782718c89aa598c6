// What texts themselves give away: secrets, statements of SQL put together from parts, parent folders, names of a walk.
#include <algorithm>

#include "base/strings.h"
#include "languages/common/telling_words.h"
#include "languages/python/facts_walk.h"

namespace hotcell::python {
namespace {

bool is_upper_or_digit(char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

bool is_sql(std::string_view text) {
  std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return false;
  std::string head = ascii_lower(text.substr(begin, 200));
  auto has = [&](std::string_view word) { return head.find(word) != std::string::npos; };
  return (head.starts_with("select ") && has(" from ")) || head.starts_with("insert into ") ||
         (head.starts_with("update ") && has(" set ")) || head.starts_with("delete from ") ||
         head.starts_with("drop table ") || head.starts_with("drop database ") || head.starts_with("alter table ") ||
         head.starts_with("create table ") || head.starts_with("exec ") ||
         (head.starts_with("union ") && has("select "));
}

}  // namespace

bool Analyser::built_from_parts(NodeId n) {
  for (NodeId c = t_.first_named(n); c != kNoNode; c = t_.next_named(c))
    if (t_.kind(c) == K::kInterpolation) return true;
  NodeId parent = t_.parent(n);
  if (t_.kind(parent) == K::kConcatenated) {
    n = parent;
    parent = t_.parent(n);
  }
  if (t_.kind(parent) == K::kBinary && tree_.field(n) == "left") {
    std::string_view op = t_.text(t_.field(parent, "operator"));
    return op == "%" || (op == "+" && !e_.constant(parent));
  }
  return t_.kind(parent) == K::kAttribute && t_.text(t_.field(parent, "attribute")) == "format";
}

void Analyser::on_string(NodeId n) {
  std::string_view raw = t_.text(n);
  if (raw.find('`') < raw.find_first_of("\"'")) fact(FactKind::kUnreadable, "`…` is no Python", "", n);
  if (raw.size() < 6) return;
  if (runs_examples_ && raw.find(">>>") != std::string_view::npos) run_examples(n);
  bool statement = t_.kind(t_.parent(n)) == K::kExpressionStatement;  // a docstring
  if (statement) return;
  if (raw.find('{') != std::string_view::npos) {
    NodeId start = t_.first_named(n);
    if (t_.kind(start) == K::kStringStart && !string_prefix(t_.text(start)).formatted)
      if (auto text = e_.constant(n)) check_format(*text, n);
  }
  if (raw.find('_') != std::string_view::npos && raw.size() < 40)
    if (auto text = e_.constant(n); text && is_hard_dunder(*text) && t_.kind(t_.parent(n)) != K::kSubscript)
      dunder_texts_.emplace_back(*text, n);
  if (holds_personal_data(raw)) construct("personal-data", "a text", n);
  if (declares_harm(raw)) construct("declared-harm", std::string(raw.substr(0, 60)), n);
  if (raw.size() < 14) return;
  // After the prefix and the quotes. The grammar also takes a backtick for one, so there may be none of ours.
  std::size_t quote = raw.find_first_of("\"'");
  std::size_t begin = quote == std::string_view::npos ? quote : raw.find_first_not_of("\"'", quote);
  std::string_view inner = begin == std::string_view::npos ? raw : raw.substr(begin);
  if (is_sql(inner) && built_from_parts(n)) construct("sql-interpolation", std::string(inner.substr(0, 60)), n);
  if (raw.find("../../") != std::string_view::npos || (raw.find("/../") != std::string_view::npos && raw.size() >= 18))
    construct("path-traversal", std::string(raw.substr(0, 80)), n);
  check_secret(raw, n);
  check_markup(raw, inner, n);
  if (evaluates_annotations_ && raw.find('(') != std::string_view::npos)
    if (auto text = e_.constant(n)) nested(*text, n, true);  // what get_type_hints would evaluate
}

void Analyser::check_secret(std::string_view text, NodeId at) {
  std::size_t key = text.find("AKIA");
  if (key != std::string_view::npos && text.size() >= key + 20 &&
      std::all_of(text.begin() + static_cast<std::ptrdiff_t>(key), text.begin() + static_cast<std::ptrdiff_t>(key) + 20,
                  is_upper_or_digit))
    return construct("secret-literal", "an AWS access key", at);
  if (text.find("-----BEGIN ") != std::string_view::npos && text.find("PRIVATE KEY-----") != std::string_view::npos)
    return construct("secret-literal", "a private key", at);
  for (std::string_view prefix : {"ghp_", "github_pat_", "xoxb-", "sk-live-", "sk_live_", "sk-proj-", "glpat-"}) {
    std::size_t hit = text.find(prefix);
    if (hit != std::string_view::npos && hit <= 4 && text.size() >= hit + prefix.size() + 16)
      return construct("secret-literal", "an access token", at);
  }
  // name = "…" inside a text: configuration that is carried along.
  std::string low = ascii_lower(text.substr(0, 4096));
  for (std::string_view word :
       {"api_key", "api-key", "apikey", "api_secret", "secret_key", "password", "passwd", "auth_token"}) {
    std::size_t hit = low.find(word);
    if (hit == std::string::npos) continue;
    std::size_t i = low.find_first_not_of(" \t\"'", hit + word.size());
    if (i == std::string::npos || (low[i] != '=' && low[i] != ':')) continue;
    i = low.find_first_not_of(" \t", i + 1);
    if (i != std::string::npos && is_word_char(low[i])) {  // password=hunter2
      std::size_t end = i;
      bool digit = false;
      for (; end < low.size() && is_word_char(low[end]); ++end) digit = digit || (low[end] >= '0' && low[end] <= '9');
      if (digit && end - i >= 6) return construct("secret-literal", std::string(word), at);
    }
    if (i == std::string::npos || (low[i] != '"' && low[i] != '\'')) continue;
    std::size_t length = 0;
    while (i + 1 + length < low.size() && (is_word_char(low[i + 1 + length]) || low[i + 1 + length] == '-' ||
                                           low[i + 1 + length] == '+' || low[i + 1 + length] == '/'))
      ++length;
    if (length >= 16) return construct("secret-literal", std::string(word), at);
  }
}

bool names_secret(std::string_view variable) {
  for (std::string_view word :
       {"SECRET", "TOKEN", "PASSWORD", "PASSWD", "CREDENTIAL", "API_KEY", "APIKEY", "PRIVATE_KEY", "ACCESS_KEY"})
    if (variable.find(word) != std::string_view::npos) return true;
  return false;
}

}  // namespace hotcell::python
