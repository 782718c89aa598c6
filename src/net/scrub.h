// Values of secrets become placeholders in a stream, however it is cut, and nothing changes its length: as they are, in
// base64 at whatever place (Basic credentials), and with special characters written as addresses, JSON and HTML write
// them. Not what somebody makes of a value in any other way: packed, hashed, reversed, spaced out, cut short.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hotcell::net {

struct Secret;

class Scrub {
 public:
  Scrub() = default;
  explicit Scrub(const std::vector<Secret>& secrets);
  bool idle() const { return forms_.empty(); }
  // What could be the beginning of a value waits for the next piece.
  std::string push(std::string_view bytes);
  std::string finish();

 private:
  struct Form {
    std::string text, by;    // as long as each other
    bool base64 = false;     // of either alphabet; `text` is in the standard one
    unsigned edge_bits = 0;  // of the value in the character behind it, whose other bits are somebody else's
    unsigned edge = 0, edge_by = 0;
    std::vector<std::int32_t> fall =
        {};  // Knuth, Morris and Pratt's: where to go on when the next character is another one
    char as(char c) const;
  };
  struct Live {  // so many characters of a form have been seen
    std::uint32_t form, have;
    bool operator==(const Live&) const = default;
  };
  struct Mark {  // here an escape may have begun
    std::size_t at;
    std::vector<Live> live;
  };

  void add_form(Form form);
  void take(std::size_t at);
  void advance(const std::vector<Live>& from, char c);
  void reach(Live live);
  bool spells(const Form& form, std::size_t i, std::size_t at, std::size_t size) const;
  std::vector<std::size_t> borders(const Form& form, std::size_t have, std::size_t end) const;
  void replace(const Form& form, std::size_t end);
  void mend(std::size_t at);
  std::size_t needed_from() const;

  std::vector<Form> forms_;
  std::array<std::vector<std::uint32_t>, 256> starts_;  // the forms that begin with this character
  std::map<std::string, char> spelled_;                 // escapes, in small letters
  std::array<bool, 256> stirs_ = {}, second_ = {};      // what begins a form or an escape; what an escape goes on with
  std::string seen_, out_;  // from the first byte on that is needed: as it came, as it goes on
  std::vector<Live> live_, next_;
  std::vector<Mark> marks_;
  std::vector<std::uint32_t> ended_, edges_;
};
std::string scrubbed(std::string_view text, const std::vector<Secret>& secrets);

}  // namespace hotcell::net
