#include "languages/java/source_outline.h"

#include <vector>

namespace hotcell {

namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
         static_cast<unsigned char>(c) >= 0x80;
}

// Words and single marks, without comments and literals.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  std::string_view next() {
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (text_.substr(at_).starts_with("//")) {
        skip_to("\n");
      } else if (text_.substr(at_).starts_with("/*")) {
        at_ += 2;
        skip_to("*/");
      } else if (text_.substr(at_).starts_with("\"\"\"")) {
        at_ += 3;
        skip_to("\"\"\"");
      } else if (c == '"' || c == '\'') {
        skip_literal(c);
      } else if (is_word(c)) {
        auto begin = at_;
        while (at_ < text_.size() && is_word(text_[at_])) ++at_;
        return text_.substr(begin, at_ - begin);
      } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f') {
        ++at_;
      } else {
        return text_.substr(at_++, 1);
      }
    }
    return {};
  }

 private:
  void skip_to(std::string_view end) {
    auto found = text_.find(end, at_);
    at_ = found == std::string_view::npos ? text_.size() : found + end.size();
  }
  void skip_literal(char quote) {
    for (++at_; at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n'; ++at_)
      if (text_[at_] == '\\') ++at_;
    ++at_;
    if (at_ > text_.size()) at_ = text_.size();
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

bool names_type(std::string_view word) {
  return word == "class" || word == "interface" || word == "enum" || word == "record";
}

}  // namespace

JavaOutline java_outline(std::string_view text) {
  JavaOutline out;
  Words words(text);
  std::string_view type, before;
  bool is_public = false;
  int depth = 0;
  for (auto word = words.next(); !word.empty(); before = word, word = words.next()) {
    if (word == "{") ++depth;
    else if (word == "}") --depth;
    else if (depth == 0 && word == "package" && out.package.empty()) {
      for (word = words.next(); !word.empty() && word != ";"; word = words.next()) out.package += word;
    } else if (depth == 0 && word == "public") {
      is_public = true;
    } else if (depth == 0 && names_type(before) && is_word(word[0])) {
      type = word;
      if (is_public && out.public_type.empty()) out.public_type = std::string(type);
      is_public = false;
    } else if (depth == 1 && word == "(" && before == "main" && out.main_type.empty()) {
      out.main_type = std::string(type);
    }
  }
  return out;
}

}  // namespace hotcell
