// A file that the program writes and loads as code: what it will be is not here to be read.
#include <algorithm>

#include "languages/constant_paths.h"
#include "languages/javascript/facts_walk.h"
#include "languages/one_of.h"

namespace hotcell::javascript {

// `function`: of fs, without Sync; the path is at `i` of its arguments.
void Walk::keep_written(std::string_view function, const Model::Call& call, std::size_t i) {
  if (!one_of(function, {"writeFile", "appendFile", "createWriteStream", "write", "writeTextFile", "create",
                         "outputFile", "open", "rename", "copyFile", "cp", "link", "symlink", "move", "copy"}))
    return;
  const Value& path = argument(call, i);
  if (path.kind == Value::kText && written_.size() < 256) written_.insert(normal_path(path.text));
}

// { eval: true }, also under a computed name.
bool Walk::evaluates(NodeId options) {
  if (tree().text(options).find("eval") != std::string_view::npos) return true;
  for (NodeId c : tree().named_children(options)) {
    NodeId key = model_.kind(c) == K::kPair ? tree().child_by_field(c, "key") : kNoNode;
    if (model_.kind(key) != K::kComputed) continue;
    auto inside = tree().named_children(key);
    if (inside.size() == 1 && model_.value_of(inside[0]).text == "eval") return true;
  }
  return false;
}

void Walk::look_at_written() {
  if (written_.empty()) return;
  for (const auto& [specifier, at] : loaded_) {
    std::string name = specifier.starts_with("file://") ? specifier.substr(7) : specifier;
    // A bare name is looked for below node_modules; what was put together, as from __dirname, is none.
    const std::string_view there = tree().text(at);
    bool written_out = false;
    for (char quote : {'\'', '"', '`'}) {
      const std::string literal = quote + specifier + quote;
      written_out = written_out || there == literal || there.find("(" + literal) != there.npos;
    }
    const bool bare = written_out && !name.starts_with("./") && !name.starts_with("../") && !name.starts_with("/");
    name = normal_path(bare ? "node_modules/" + name : name);
    bool found = false;
    for (std::string_view ending : {"", ".js", ".cjs", ".mjs", ".ts", ".mts", ".cts", ".tsx", ".jsx", ".node",
                                    "/index.js", "/index.ts", "/package.json"})
      found = found || (!name.ends_with(".json") && written_.contains(name + std::string(ending)));
    for (const std::string& path : written_) found = found || (bare && path.starts_with(name + "/"));
    if (found) construct("writes-module", specifier, at);
  }
}

}  // namespace hotcell::javascript
