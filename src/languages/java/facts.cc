// Java: what names mean (imports, wildcards, variables by their types) and which of them are referred to.
#include "base/strings.h"
#include "languages/analysers.h"
#include "languages/java/facts_escapes.h"
#include "languages/java/facts_walk.h"
#include "languages/lone_return.h"

namespace hotcell::java {
namespace {

const KindTable<Kind>::Names kKinds = {
    {"identifier", Kind::kIdentifier}, {"type_identifier", Kind::kTypeIdentifier}, {"scoped_type_identifier", Kind::kScopedType},
    {"import_declaration", Kind::kImport}, {"method_invocation", Kind::kMethodCall}, {"object_creation_expression", Kind::kNew},
    {"method_reference", Kind::kMethodReference}, {"field_access", Kind::kFieldAccess}, {"class_literal", Kind::kClassLiteral},
    {"variable_declarator", Kind::kDeclarator}, {"formal_parameter", Kind::kParameter}, {"resource", Kind::kParameter},
    {"spread_parameter", Kind::kParameter}, {"assignment_expression", Kind::kAssignment}, {"string_literal", Kind::kString},
    {"binary_expression", Kind::kBinary}, {"parenthesized_expression", Kind::kParenthesized}, {"cast_expression", Kind::kCast},
    {"method_declaration", Kind::kMethod}, {"class_declaration", Kind::kTypeDeclaration}, {"interface_declaration", Kind::kTypeDeclaration},
    {"record_declaration", Kind::kTypeDeclaration}, {"enum_declaration", Kind::kTypeDeclaration},
    {"annotation_type_declaration", Kind::kTypeDeclaration}, {"type_parameter", Kind::kTypeDeclaration}};

constexpr int kMostPlaces = 16;

// Classes that reach outside the program, by package.
struct Package {
  std::string_view name, classes;
};
constexpr Package kPackages[] = {
    {"java.lang", " Runtime ProcessBuilder ProcessHandle System Class ClassLoader SecurityManager Module ModuleLayer Thread "},
    {"java.lang.reflect", " Method Field Constructor Proxy InvocationHandler AccessibleObject "},
    {"java.lang.invoke", " MethodHandles MethodHandle MethodType VarHandle LambdaMetafactory "},
    {"java.lang.foreign", " Linker SymbolLookup Arena MemorySegment FunctionDescriptor "},
    {"java.lang.instrument", " Instrumentation ClassFileTransformer "},
    {"java.io", " File FileReader FileWriter FileInputStream FileOutputStream RandomAccessFile ObjectInputStream PrintWriter PrintStream "},
    {"java.nio.file", " Files Paths Path FileSystems "},
    {"java.nio.channels", " FileChannel SocketChannel ServerSocketChannel DatagramChannel AsynchronousFileChannel "},
    {"java.net", " Socket ServerSocket DatagramSocket MulticastSocket URL URI URLConnection HttpURLConnection URLClassLoader InetAddress "
                 "InetSocketAddress "},
    {"java.net.http", " HttpClient HttpRequest "},
    {"java.util", " ServiceLoader Scanner Formatter "},
    {"java.util.jar", " JarFile "},
    {"javax.script", " ScriptEngineManager ScriptEngine ScriptEngineFactory "},
    {"javax.tools", " ToolProvider JavaCompiler "},
    {"javax.annotation.processing", " AbstractProcessor Processor ProcessingEnvironment RoundEnvironment "},
    {"javax.naming", " InitialContext Context "},
    {"java.rmi", " Naming "},
    {"java.rmi.registry", " LocateRegistry "},
    {"sun.misc", " Unsafe Signal "},
    {"jdk.jshell", " JShell "},
    {"com.sun.tools.attach", " VirtualMachine "},
    {"java.beans", " Expression Statement XMLDecoder "},
};

}  // namespace

std::string_view known_class(std::string_view simple) {
  static const auto* table = [] {
    auto* t = new std::unordered_map<std::string_view, std::string_view>;  // lives as long as the process
    for (const Package& p : kPackages) {
      std::string_view rest = p.classes;
      while (!(rest = trim(rest)).empty()) {
        std::string_view word = rest.substr(0, rest.find(' '));
        (*t)[word] = p.name;
        rest.remove_prefix(word.size());
      }
    }
    return t;
  }();
  auto it = table->find(simple);
  return it == table->end() ? std::string_view() : it->second;
}

Walk::Walk(const SyntaxTree& tree, FactList& facts) : tree_(tree), facts_(facts), kinds_(kKinds) {}

void Walk::use(std::string name, std::string_view how, NodeId n) {
  if (name.starts_with("java.lang.System.out.") || name.starts_with("java.lang.System.err.")) return;  // printing
  bool watched = name.starts_with("java.lang.") || name.starts_with("sun.") || name.starts_with("java.n") || name.starts_with("java.io.");
  if (!watched && ++said_[name] > kMostPlaces) return;
  add(FactKind::kUse, std::move(name), std::string(how), n);
}

std::string Walk::class_of(std::string_view name) const {
  if (std::size_t at = name.find('<'); at != std::string_view::npos) name = name.substr(0, at);
  while (name.ends_with("[]")) name.remove_suffix(2);
  if (name.empty() || name.size() > 256) return {};
  if (name.find('.') != std::string_view::npos) {
    std::string plain;
    for (char c : name)
      if (is_word_char(c) || c == '.' || c == '$') plain += c;
    std::string head = plain.substr(0, plain.find('.'));
    if (std::string outer = class_of(head); !outer.empty()) return outer + plain.substr(head.size());
    return plain[0] >= 'a' && plain[0] <= 'z' ? plain : std::string();
  }
  if (auto it = imported_.find(name); it != imported_.end()) return it->second;
  if (own_classes_.contains(name)) return {};
  std::string_view package = known_class(name);
  if (package.empty()) return {};
  if (package == "java.lang") return cat(package, ".", name);
  for (const std::string& p : packages_)
    if (p == package) return cat(package, ".", name);
  return {};
}

std::string Walk::type_of(NodeId n, int depth) {
  if (n == kNoNode || depth > 16) return {};
  switch (kind(n)) {
    case Kind::kIdentifier: {
      if (auto it = variables_.find(tree_.text(n)); it != variables_.end()) return it->second;
      return class_of(tree_.text(n));
    }
    case Kind::kFieldAccess: {
      std::string_view field = field_text(n, "field");
      if (auto it = variables_.find(field); it != variables_.end() && field_text(n, "object") == "this") return it->second;
      return tree_.text(n).size() < 256 ? class_of(tree_.text(n)) : std::string();
    }
    case Kind::kNew: return class_of(field_text(n, "type"));
    case Kind::kCast: return class_of(field_text(n, "type"));
    case Kind::kClassLiteral: return "java.lang.Class";
    case Kind::kParenthesized: {
      auto inner = tree_.named_children(n);
      return inner.size() == 1 ? type_of(inner[0], depth + 1) : std::string();
    }
    case Kind::kMethodCall: {  // the few whose result matters
      std::string_view method = field_text(n, "name");
      bool own = own_classes_.contains("Runtime") && !imported_.contains("Runtime") && field_text(n, "object") == "Runtime";
      if (method == "getRuntime") return own ? "" : "java.lang.Runtime";
      if (method == "getClass" || method == "forName" || method == "loadClass") return "java.lang.Class";
      if (method == "lookup" || method == "publicLookup" || method == "privateLookupIn") return "java.lang.invoke.MethodHandles.Lookup";
      if (method == "getMethod" || method == "getDeclaredMethod") return "java.lang.reflect.Method";
      if (method == "getClassLoader" || method == "getSystemClassLoader" || method == "getContextClassLoader") return "java.lang.ClassLoader";
      return {};
    }
    default: return {};
  }
}

void Walk::see_import(NodeId n) {
  NodeId name = kNoNode;
  bool all = false, is_static = false;
  for (NodeId c = tree_.first_child(n); c != kNoNode; c = tree_.next_sibling(c)) {
    if (tree_.is(c, "static")) is_static = true;
    if (tree_.is(c, "scoped_identifier") || kind(c) == Kind::kIdentifier) name = c;
    if (tree_.is(c, "asterisk")) all = true;
  }
  if (name == kNoNode || tree_.text(name).size() > 256) return;
  std::string full;
  for (char c : tree_.text(name))
    if (is_word_char(c) || c == '.' || c == '$') full += c;
  add(FactKind::kImport, full, all ? "all" : is_static ? "static" : "", n);
  use(all ? full + ".*" : full, "import", n);
  std::string_view last = tree_.text(name);
  last.remove_prefix(last.rfind('.') == std::string_view::npos ? 0 : last.rfind('.') + 1);
  if (all && packages_.size() < 256) (is_static ? static_classes_ : packages_).push_back(full);
  else if (is_static) statics_[last] = full;
  else imported_[last] = full;
}

void Walk::see_type(NodeId n) {
  NodeId p = tree_.parent(n);
  if (p == kNoNode || kind(p) == Kind::kScopedType || kind(p) == Kind::kNew) return;
  if (std::string name = class_of(tree_.text(n)); !name.empty()) use(std::move(name), "reference", n);
}

void Walk::see_declarator(NodeId n) {
  NodeId holder = kind(n) == Kind::kDeclarator ? tree_.parent(n) : n;
  std::string_view name = field_text(n, "name"), type = field_text(holder, "type");
  NodeId value = tree_.child_by_field(n, "value");
  if (name.empty()) return;
  std::string known = type == "var" ? type_of(value) : class_of(type);
  if (known.empty()) variables_.erase(name);
  else variables_[name] = std::move(known);
  constants_.set(name, value == kNoNode ? std::nullopt : constant(value));
}

// A bare name: a class as an expression's receiver is seen with the call; here only what stands alone.
void Walk::see_identifier(NodeId n) {
  if (auto it = statics_.find(tree_.text(n)); it != statics_.end() && !tree_.is(tree_.parent(n), "scoped_identifier"))
    use(it->second, "reference", n);
}

void Walk::see_field(NodeId n) {
  NodeId p = tree_.parent(n);
  if (kind(p) == Kind::kFieldAccess || tree_.text(n).size() > 256) return;
  if (std::string name = class_of(tree_.text(n)); !name.empty()) use(std::move(name), "reference", n);
}

void Walk::collect_names() {
  for (NodeId n = 0; n < tree_.size(); ++n) {
    if (kind(n) == Kind::kTypeDeclaration) {
      NodeId name = tree_.child_by_field(n, "name");
      if (name == kNoNode) name = tree_.child_by_kind(n, "type_identifier");
      if (name != kNoNode) own_classes_.insert(tree_.text(name));
    } else if (kind(n) == Kind::kImport) {
      see_import(n);
    } else if (kind(n) == Kind::kDeclarator) {  // fields are known before they are declared
      NodeId p = tree_.parent(n);
      if (tree_.is(p, "field_declaration")) see_declarator(n);
    } else if ((kind(n) == Kind::kIdentifier || kind(n) == Kind::kTypeIdentifier) && tree_.text(n) == "Runtime") {
      runtime_seen_ = true;
    }
  }
  // The program's own class Runtime is another one, unless the library's is named in full as well.
  if (own_classes_.contains("Runtime") && !imported_.contains("Runtime"))
    runtime_seen_ = tree_.text().find("lang") != std::string_view::npos;
}

void Walk::run() {
  collect_names();
  for (NodeId n = 0; n < tree_.size(); ++n) {
    switch (kind(n)) {
      case Kind::kTypeIdentifier:
      case Kind::kScopedType: see_type(n); break;
      case Kind::kIdentifier: see_identifier(n); break;
      case Kind::kFieldAccess: see_field(n); break;
      case Kind::kMethodCall: see_call(n); break;
      case Kind::kNew: see_new(n); break;
      case Kind::kMethodReference: see_reference(n); break;
      case Kind::kClassLiteral: {
        NodeId type = tree_.first_child(n);
        std::string name = type == kNoNode || tree_.text(type).size() > 256 ? "" : class_of(tree_.text(type));
        if (!name.empty()) use(cat(name, ".class"), "reference", n);
        break;
      }
      case Kind::kDeclarator:
      case Kind::kParameter: see_declarator(n); break;
      case Kind::kAssignment: {
        NodeId left = tree_.child_by_field(n, "left"), right = tree_.child_by_field(n, "right");
        if (left == kNoNode || kind(left) != Kind::kIdentifier) break;
        std::string_view op = field_text(n, "operator");
        auto value = constant(right), before = constants_.get(tree_.text(left));
        if (op == "+=") value = value && before ? std::optional(*before + *value) : std::nullopt;
        constants_.set(tree_.text(left), op == "=" || op == "+=" ? value : std::nullopt);
        break;
      }
      case Kind::kMethod: {
        NodeId modifiers = tree_.child_by_kind(n, "modifiers");
        if (modifiers != kNoNode && tree_.child_by_kind(modifiers, "native") != kNoNode)
          add(FactKind::kConstruct, "native-method", std::string(field_text(n, "name")), n);
        break;
      }
      default: break;
    }
  }
}

}  // namespace hotcell::java

namespace hotcell {

std::vector<Fact> java_facts(const SyntaxTree& tree) {
  FactList facts;
  see_bidi(tree.text(), facts);
  if (!has_unicode_escapes(tree.text())) {
    see_lone_return(tree.text(), facts);
    java::Walk(tree, facts).run();
    return facts.take();
  }
  MappedText decoded = decode_unicode_escapes(tree.text());
  auto again = parse_source(Grammar::kJava, decoded.text);
  if (!again.ok() || again.value().has_error())
    facts.add(FactKind::kUnreadable, "what its escapes stand for is not Java", "", 0, 0);
  if (again.ok()) java::Walk(again.value(), facts).run();
  see_lone_return(decoded.text, facts);
  facts.move_origins(decoded);
  return facts.take();
}

}  // namespace hotcell
