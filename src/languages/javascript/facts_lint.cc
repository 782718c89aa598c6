// What ESLint's security plugin looks for and the rest does not see: nothing that attacks by itself, habits that let others in.
#include <algorithm>
#include <array>
#include <cctype>

#include "base/strings.h"
#include "languages/javascript/facts_walk.h"

namespace hotcell::javascript {
namespace {

constexpr std::array kSecretWords = {"password", "passwd", "secret", "token", "apikey", "hmac", "digest", "signature"};

bool is_secret_name(std::string_view name) {
  std::string low;
  for (char c : name)
    if (c != '_') low += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return std::any_of(kSecretWords.begin(), kSecretWords.end(), [&](std::string_view word) { return std::string_view(low).ends_with(word); });
}

}  // namespace

// The last name of `user.password`, or of `password`.
std::string_view Walk::last_name(NodeId n) const {
  n = model_.inside(n);
  if (model_.kind(n) == K::kMember) n = tree().child_by_field(n, "property");
  else if (model_.kind(n) != K::kIdentifier) return {};
  return n == kNoNode ? std::string_view() : tree().text(n);
}

// A comparison that ends at the first difference tells how far a guess was right. One with a constant (`token === null`) is no
// guess.
void Walk::look_at_comparison(NodeId n) {
  std::string_view sign = tree().text(tree().child_by_field(n, "operator"));
  if (sign != "===" && sign != "==" && sign != "!==" && sign != "!=") return;
  NodeId left = tree().child_by_field(n, "left"), right = tree().child_by_field(n, "right");
  std::string_view a = last_name(left), b = last_name(right);
  if (a.empty() || b.empty() || a == "undefined" || b == "undefined" || a == "length" || b == "length") return;
  if (is_secret_name(a) || is_secret_name(b)) construct("timing-comparison", cat(a, " ", sign, " ", b), n);
}

void Walk::look_at_assignment(NodeId n) {
  NodeId to = model_.inside(tree().child_by_field(n, "left"));
  if (model_.kind(to) == K::kMember && tree().text(tree().child_by_field(to, "property")) == "escapeMarkup" &&
      tree().text(tree().child_by_field(n, "right")) == "false")
    construct("escape-off", "escapeMarkup = false", n);
  if (model_.kind(to) == K::kSubscript && model_.key_of(to).kind == Model::Key::kUnknown)
    construct("computed-property", std::string(tree().text(to).substr(0, 80)), n);
}

void Walk::look_at_habits(const Model::Call& call, NodeId n) {
  if (call.path == "RegExp" && !call.arguments.empty() && argument(call, 0).kind != Value::kText &&
      (call.nodes.empty() || model_.kind(model_.inside(call.nodes[0])) != K::kRegex))
    construct("computed-regex", std::string(tree().text(n).substr(0, 80)), n);
  // The protection looks at a request's method, which the other changes: it has to come later.
  if (call.path == "express.methodOverride" || call.path == "method-override") method_override_ = std::max(method_override_, tree()[n].begin);
  if (call.path == "express.csrf" || call.path == "csurf") csrf_.push_back(n);
}

void Walk::look_at_order() {
  for (NodeId n : csrf_)
    if (tree()[n].begin < method_override_) construct("csrf-order", "csrf before methodOverride", n);
}

}  // namespace hotcell::javascript
