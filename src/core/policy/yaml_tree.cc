#include "core/policy/yaml_tree.h"

#include <algorithm>
#include <exception>
#include <sstream>
#include <unordered_set>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "base/strings.h"
#include "core/policy/units.h"

namespace hotcell {
namespace {

// Leaves yaml-cpp's recursion at the first fault; caught in parse_yaml and nowhere else.
struct Refused {
  int line;
  std::string message;
};

class TreeBuilder final : public YAML::EventHandler {
 public:
  YamlNode take() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnAnchor(const YAML::Mark& mark, const std::string&) override { refuse_anchor(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_anchor(mark); }

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    begin(mark, YamlNode::Kind::kNull, anchor, "?");
    end();
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    // yaml-cpp turns \_ and \N into one byte that is no character; writing the policy out again would change it.
    if (!is_valid_utf8(value))
      throw Refused{mark.line + 1, cat(quoted(value), " is not valid UTF-8; write the character itself, not its escape")};
    if (!open_.empty() && open_.back().node.is_map() && !open_.back().has_key) return key(mark, tag, anchor, value);
    begin(mark, YamlNode::Kind::kScalar, anchor, tag);
    open_.back().node.quoted = tag == "!";
    open_.back().node.text = value;
    end();
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    begin(mark, YamlNode::Kind::kSequence, anchor, tag);
  }
  void OnSequenceEnd() override { end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    begin(mark, YamlNode::Kind::kMap, anchor, tag);
  }
  void OnMapEnd() override { end(); }

 private:
  struct Open {
    YamlNode node;
    std::unordered_set<std::string> seen;
    std::string key;
    int key_line = 1;
    bool has_key = false;
  };

  [[noreturn]] static void refuse_anchor(const YAML::Mark& mark) {
    // A few lines of nested aliases stand for billions of nodes.
    throw Refused{mark.line + 1,
                  "anchors and aliases (& and *) are not accepted; quote the text, or write the value again"};
  }

  void check(const YAML::Mark& mark, YAML::anchor_t anchor, const std::string& tag) {
    if (anchor != YAML::NullAnchor) refuse_anchor(mark);
    if (tag != "?" && tag != "!" && !tag.empty())
      throw Refused{mark.line + 1, cat("the tag ", quoted(tag), " is not accepted")};
    if (++nodes_ > kMaxYamlNodes) throw Refused{mark.line + 1, cat("more than ", kMaxYamlNodes, " values")};
  }

  void key(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor, const std::string& value) {
    check(mark, anchor, tag);
    Open& map = open_.back();
    if (!map.seen.insert(value).second) {
      auto first =
          std::find_if(map.node.items.begin(), map.node.items.end(), [&](const auto& n) { return n.key == value; });
      throw Refused{mark.line + 1,
                    cat("the key ", quoted(value), " is there twice (first in line ", first->key_line, ")")};
    }
    map.key = value;
    map.key_line = mark.line + 1;
    map.has_key = true;
  }

  void begin(const YAML::Mark& mark, YamlNode::Kind kind, YAML::anchor_t anchor, const std::string& tag) {
    check(mark, anchor, tag);
    if (open_.size() >= static_cast<std::size_t>(kMaxYamlDepth)) throw Refused{mark.line + 1, "nested too deeply"};
    Open open;
    open.node.kind = kind;
    open.node.line = open.node.key_line = mark.line + 1;
    if (!open_.empty() && open_.back().node.is_map()) {
      if (!open_.back().has_key) throw Refused{mark.line + 1, "a key must be a word"};
      open.node.key = std::move(open_.back().key);
      open.node.key_line = open_.back().key_line;
      // The mark of nothing is wherever the next thing begins; what is missing is missing at its key.
      if (kind == YamlNode::Kind::kNull) open.node.line = open.node.key_line;
      open_.back().has_key = false;
    }
    open_.push_back(std::move(open));
  }

  void end() {
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    if (open_.empty())
      root_ = std::move(node);
    else
      open_.back().node.items.push_back(std::move(node));
  }

  std::vector<Open> open_;
  YamlNode root_;
  std::size_t nodes_ = 0;
};

Error at(std::string_view filename, int line, std::string_view message) {
  return make_error(ErrorCode::kInvalid, cat(printable(filename), ":", line, ": ", message));
}

int line_of(std::string_view text, std::size_t offset) {
  return 1 + static_cast<int>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

// Before yaml-cpp sees a byte: it guesses UTF-16 and UTF-32 from NULs, and takes a byte of 4 for the end of the file,
// so that what follows would be invisible to us and visible to a reader.
Result<void> check_bytes(std::string_view text, std::string_view filename) {
  if (text.size() > kMaxProfileBytes) return at(filename, 1, cat("larger than ", exact_bytes({kMaxProfileBytes})));
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7F)
      return at(filename, line_of(text, i), cat("control character ", quoted(text.substr(i, 1))));
  }
  if (is_valid_utf8(text)) return {};
  std::size_t start = 0;
  for (std::size_t end = text.find('\n'); end != text.npos && is_valid_utf8(text.substr(start, end - start));
       end = text.find('\n', start))
    start = end + 1;
  return at(filename, line_of(text, start), "not valid UTF-8");
}

}  // namespace

Result<YamlNode> parse_yaml(std::string_view text, std::string_view filename) {
  TRY(check_bytes(text, filename));
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder;
    if (!parser.HandleNextDocument(builder)) return at(filename, 1, "nothing in it");
    TreeBuilder second;
    if (parser.HandleNextDocument(second)) return at(filename, line_of(text, text.size()), "more than one document");
    return builder.take();
  } catch (const Refused& refused) {
    return at(filename, refused.line, refused.message);
  } catch (const YAML::Exception& e) {
    return at(filename, e.mark.is_null() ? 1 : e.mark.line + 1, printable(e.msg));
  } catch (const std::exception& e) {
    return at(filename, 1, cat("not readable as YAML: ", printable(e.what())));
  }
}

}  // namespace hotcell
