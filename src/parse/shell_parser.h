// The parser behind shell.h. Recursive descent, at most kShellDepth deep; after the first error every cursor function
// reports the end, so that all loops run out.
#pragma once
#include "parse/shell.h"

namespace hotcell {

class ShellParser {
 public:
  explicit ShellParser(std::string text);
  ShellScript run();

 private:
  using Parts = std::vector<ShellPart>;
  enum class Mode : std::uint8_t { kWord, kDouble, kHere, kBraced, kBracedQuoted, kArithmetic, kIndex, kRegex };

  // Where reading goes on; replaced while the inside of `…` with escapes is read, which is a text of its own.
  struct Cursor {
    std::string_view text;
    std::uint32_t pos = 0, end = 0;
    std::uint32_t fixed = kNoShell;  // not kNoShell: the place in the source that stands for all of this text
  };
  struct Pending {
    std::string delimiter;
    bool quoted = false, strip_tabs = false;
    ShellId slot = 0;
  };
  struct Lists {  // of one command, gathered here since those of commands inside it are stored before
    std::vector<ShellWord> words;
    std::vector<ShellAssignment> assignments;
    std::vector<ShellRedirect> redirects;
  };
  class Nest {
   public:
    explicit Nest(ShellParser& p) : p_(p) {
      if (++p_.depth_ > kShellDepth) p_.fail("nested too deeply");
    }
    ~Nest() { --p_.depth_; }
    Nest(const Nest&) = delete;
    Nest& operator=(const Nest&) = delete;

   private:
    ShellParser& p_;
  };

  // shell.cc: cursor, nodes, here-documents
  bool at_end() const { return failed_ || c_.pos >= c_.end; }
  char cur() const { return at_end() ? '\0' : c_.text[c_.pos]; }
  char peek(std::uint32_t n) const { return failed_ || c_.pos + n >= c_.end ? '\0' : c_.text[c_.pos + n]; }
  bool looking_at(std::string_view s) const;
  std::uint32_t place(std::uint32_t pos) const { return c_.fixed != kNoShell ? c_.fixed : pos; }
  std::uint32_t here() const { return place(c_.pos); }
  std::string_view slice(std::uint32_t from, std::uint32_t to) const { return c_.text.substr(from, to - from); }
  void fail(std::string_view what) { fail_at(here(), what); }
  void fail_at(std::uint32_t at, std::string_view what);
  void skip_blanks();
  void skip_newlines();
  void newline();
  void read_here_document(const Pending& p);
  ShellId open(ShellNodeKind kind);
  void close(ShellId node);
  void close(ShellId node, Lists& lists);
  ShellId store(ShellWord word, const Parts& parts);
  std::string_view keep(std::string text);

  // shell_words.cc
  void read_parts(Mode mode, std::string_view stops, Parts& out);
  bool read_sign(Mode mode, std::uint32_t start, std::uint32_t& literal, int& braces, Parts& out);
  bool ends_here(Mode mode, std::string_view stops, int& brackets) const;
  void add_literal(std::uint32_t from, std::uint32_t to, bool quoted, Parts& out);
  void read_backslash(Mode mode, std::uint32_t& literal, Parts& out);
  void read_single(Parts& out);
  void read_ansi(Parts& out);
  void read_double(Parts& out);
  bool read_dollar(Mode mode, std::uint32_t& literal, Parts& out);
  void read_parameter(bool quoted, Parts& out);
  void read_parameter_operator(ShellPart& part, bool quoted);
  void read_arithmetic(bool quoted, std::uint32_t end, Parts& out);
  void read_substitution(ShellPart part, std::uint32_t skip, Parts& out);
  void read_backtick(bool quoted, Parts& out);
  void read_extended_glob(Parts& out);
  ShellId sub_word(Mode mode, std::string_view stops);
  ShellWord word(Mode mode = Mode::kWord);
  std::uint32_t arithmetic_end(std::uint32_t from) const;  // of the )) that closes, kNoShell when it is no arithmetic

  // shell_commands.cc
  void list();
  void and_or();
  void pipeline(char op, std::vector<ShellId>& joined);
  void command();
  void simple();
  bool read_redirect(Lists& lists);
  bool read_assignment(Lists& lists, bool arrays_only);
  void read_array(ShellAssignment& a);
  void here_document(ShellRedirect& r, bool strip_tabs);
  bool closes() const;
  bool unexpected_here();

  // shell_compound.cc
  bool compound(std::string_view reserved);
  std::string_view plain_ahead() const;  // the unquoted letters before the next sign or blank; empty when quoted
  bool take_word(std::string_view w);
  void expect_word(std::string_view w);
  void expect_sign(char sign);
  void close_compound(ShellId node, Lists& lists);
  void group(ShellNodeKind kind, std::uint32_t skip, char closer);
  void if_command();
  void loop(ShellNodeKind kind);
  void for_command(ShellNodeKind kind);
  void do_group();
  void case_command();
  void test_command();
  void arithmetic_command(std::uint32_t end);
  void function_keyword();
  void function_body(ShellId node, std::string_view name);
  void coprocess();

  ShellScript s_;
  Cursor c_;
  std::vector<Pending> pending_;
  int depth_ = 0;
  bool failed_ = false;
};

inline bool shell_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
inline bool shell_name_char(char c) { return shell_name_start(c) || (c >= '0' && c <= '9'); }
inline bool shell_blank(char c) { return c == ' ' || c == '\t'; }
inline bool shell_meta(char c) {
  return c == '\0' || c == ' ' || c == '\t' || c == '\n' || c == ';' || c == '&' || c == '|' || c == '<' || c == '>' ||
         c == '(' || c == ')';
}

}  // namespace hotcell
