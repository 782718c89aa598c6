// What calls do: programs started, classes reached by their names, files and hosts named by constants.
#include "base/strings.h"
#include "languages/java/facts_walk.h"

namespace hotcell::java {
namespace {

bool one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  for (auto n : names)
    if (n == name) return true;
  return false;
}

}  // namespace

void Walk::path(FactKind kind, NodeId argument, NodeId at) {
  auto value = constant(argument);
  if (!value || value->empty()) return;
  std::string_view text = *value;
  if (text.starts_with("file:")) text.remove_prefix(5);
  std::string normal = normalise_path(text);
  if (leaves_work_folder(normal)) add(kind, normal, "", at);
}

void Walk::command(const std::vector<NodeId>& arguments, NodeId at) {
  std::string line;
  int count = 0;
  std::vector<NodeId> words = arguments;
  if (!words.empty() && tree_.is(words[0], "array_creation_expression"))
    words = tree_.named_children(tree_.child_by_field(words[0], "value"));
  else if (!words.empty() && kind(words[0]) == Kind::kMethodCall)  // List.of("sh", "-c")
    words = tree_.named_children(tree_.child_by_field(words[0], "arguments"));
  for (NodeId w : words) {
    auto word = constant(w);
    if (!word || ++count > 64 || line.size() > 4096) break;
    line += cat(line.empty() ? "" : " ", *word);
  }
  std::string_view first = trim(line);
  first = first.substr(0, first.find(' '));
  if (!first.empty()) add(FactKind::kCommand, std::string(first), line, at);
}

void Walk::see_reflection(std::string_view method, const std::vector<NodeId>& arguments, NodeId n) {
  auto name = arguments.empty() ? std::nullopt : constant(arguments[0]);
  if (one_of(method, {"forName", "loadClass", "findClass", "findSystemClass"})) {
    // Class.forName(module, name)
    if (!name && arguments.size() == 2) name = constant(arguments[1]);
    // What the environment says is a place, but no name of a class.
    if (!name || leaves_work_folder(*name)) add(FactKind::kConstruct, "reflection-unknown-class", cat(method, " of an unknown name"), n);
    else {
      add(FactKind::kConstruct, "reflection-class", *name, n);
      add(FactKind::kUse, *name, "reflection", n);
    }
  } else {
    if (method.starts_with("find") && arguments.size() > 1) name = constant(arguments[1]);  // findVirtual(X.class, "exec", …)
    add(FactKind::kConstruct, "reflection", cat(method, " ", name.value_or("")), n);
  }
}

void Walk::see_files(std::string_view name, const std::vector<NodeId>& a, NodeId n) {
  if (a.empty()) return;
  if (name.starts_with("java.nio.file.Files.")) {
    name.remove_prefix(20);
    bool writes = one_of(name, {"write", "writeString", "delete", "deleteIfExists", "createFile", "createDirectory", "createDirectories",
                                "newBufferedWriter", "newOutputStream", "setPosixFilePermissions", "setOwner", "move", "createSymbolicLink",
                                "createLink", "setAttribute"});
    path(writes ? FactKind::kWritePath : FactKind::kReadPath, a[0], n);
    if (a.size() > 1 && one_of(name, {"copy", "move"})) path(FactKind::kWritePath, a[1], n);
    if (name == "newByteChannel" && a.size() > 1) path(FactKind::kWritePath, a[0], n);
  } else if (name == "java.nio.channels.FileChannel.open") {
    std::string_view options = tree_.text(tree_.parent(a[0]));
    bool writes = options.find("WRITE") != options.npos || options.find("APPEND") != options.npos || options.find("CREATE") != options.npos;
    path(writes ? FactKind::kWritePath : FactKind::kReadPath, a[0], n);
  } else if (one_of(name, {"java.io.File", "java.io.FileReader", "java.io.FileInputStream", "java.util.jar.JarFile"})) {
    path(FactKind::kReadPath, a[0], n);
  } else if (name == "java.util.Scanner") {
    if (kind(a[0]) != Kind::kString && kind(a[0]) != Kind::kIdentifier) path(FactKind::kReadPath, a[0], n);
  } else if (one_of(name, {"java.io.FileWriter", "java.io.FileOutputStream", "java.io.PrintWriter", "java.io.PrintStream", "java.util.Formatter"})) {
    path(FactKind::kWritePath, a[0], n);
  } else if (name == "java.io.RandomAccessFile") {
    auto mode = a.size() > 1 ? constant(a[1]) : std::nullopt;
    path(mode && *mode == "r" ? FactKind::kReadPath : FactKind::kWritePath, a[0], n);
  } else if (one_of(name, {"java.net.URL", "java.net.Socket", "java.net.InetSocketAddress", "java.net.URI.create", "java.net.InetAddress.getByName",
                           "java.net.URI"})) {
    if (auto host = constant(a[0]); host && !host->empty()) add(FactKind::kHost, *host, "", n);
  }
}

void Walk::see_append(NodeId n) {  // sb.append("x"); as a statement, or the outermost of a chain
  NodeId root = n;
  for (int i = 0; i < 64 && root != kNoNode && kind(root) == Kind::kMethodCall; ++i) root = tree_.child_by_field(root, "object");
  if (root == kNoNode || kind(root) != Kind::kIdentifier || !constants_.has(tree_.text(root))) return;
  constants_.set(tree_.text(root), constant(n));
}

void Walk::see_call(NodeId n) {
  std::string_view method = field_text(n, "name");
  NodeId object = tree_.child_by_field(n, "object");
  auto arguments = tree_.named_children(tree_.child_by_field(n, "arguments"));
  if (one_of(method, {"append", "reverse"}) && tree_.is(tree_.parent(n), "expression_statement")) return see_append(n);
  std::string type;
  if (object == kNoNode || tree_.is(object, "this")) facts_.plain_call(method, tree_[n].begin, tree_[n].end);
  if (object == kNoNode) {  // a static import is seen as a name; import static a.B.*; here
    for (const std::string& c : static_classes_) use(cat(c, ".", method), "call", n);
  } else {
    type = type_of(object);
  }
  bool reflects = one_of(method, {"getMethod", "getDeclaredMethod", "getDeclaredMethods", "getMethods", "getDeclaredField", "getDeclaredFields",
                                  "getDeclaredConstructor", "getDeclaredConstructors", "setAccessible", "trySetAccessible", "findVirtual",
                                  "findStatic", "findConstructor", "findSpecial", "privateLookupIn", "unreflect", "defineClass",
                                  "defineHiddenClass", "newProxyInstance", "findVarHandle"});
  bool loads = method == "loadClass" || method == "findSystemClass" || (method == "forName" && type == "java.lang.Class");
  if (object != kNoNode && (reflects || loads)) see_reflection(method, arguments, n);
  if (method == "getEngineByName" || method == "getEngineByExtension") add(FactKind::kConstruct, "script-engine", std::string(method), n);
  if (type.empty() && method == "exec" && runtime_seen_ && object != kNoNode) type = "java.lang.Runtime";
  if (type.empty() && object == kNoNode) {
    if (auto it = statics_.find(method); it != statics_.end()) type = it->second.substr(0, it->second.rfind('.'));
  }
  if (type.empty()) return;
  std::string name = cat(type, ".", method);
  if (name == "java.lang.Runtime.exec") command(arguments, n);
  see_files(name, arguments, n);
  if (type == "java.io.File" && object != kNoNode) {
    bool writes = one_of(method, {"delete", "deleteOnExit", "createNewFile", "mkdir", "mkdirs", "renameTo", "setWritable", "setExecutable", "setReadable"});
    if (writes) path(FactKind::kWritePath, object, n);
  }
  use(std::move(name), "call", n);
}

void Walk::see_new(NodeId n) {
  NodeId type = tree_.child_by_field(n, "type");
  if (type == kNoNode || tree_.text(type).size() > 256) return;
  std::string name = class_of(tree_.text(type));
  if (name.empty()) return;
  auto arguments = tree_.named_children(tree_.child_by_field(n, "arguments"));
  if (name == "java.lang.ProcessBuilder") command(arguments, n);
  see_files(name, arguments, n);
  use(std::move(name), "call", n);
}

void Walk::see_reference(NodeId n) {  // Runtime::exec, ProcessBuilder::new
  NodeId object = tree_.first_child(n), last = kNoNode;
  for (NodeId c = object; c != kNoNode; c = tree_.next_sibling(c)) last = c;
  if (object == kNoNode || last == object || tree_.text(object).size() > 256) return;
  std::string type = type_of(object);
  if (type.empty()) type = class_of(tree_.text(object));
  if (!type.empty()) use(cat(type, ".", tree_.text(last)), "reference", n);
}

}  // namespace hotcell::java
