// Writes JSON text, nothing else: every string that goes in comes out as valid JSON, whatever its bytes.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace hotcell {

enum class JsonStyle : std::uint8_t { kOneLine, kPretty };

class JsonWriter {
 public:
  explicit JsonWriter(JsonStyle style = JsonStyle::kOneLine) : style_(style) {}

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }
  void key(std::string_view name);

  void value(std::string_view text);
  void value(const char* text) { value(std::string_view(text)); }  // else a literal would become a bool
  void value(double number);                                       // null when it is not finite
  void null();
  template <typename T>
    requires std::is_same_v<T, bool>
  void value(T truth) { before(); out_ += truth ? "true" : "false"; }
  template <typename T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>)
  void value(T number) {
    before();
    out_ += std::to_string(number);
  }

  template <typename T>
  void field(std::string_view name, const T& v) {
    key(name);
    value(v);
  }

  const std::string& text() const { return out_; }
  std::string take() { return std::move(out_); }

 private:
  void open(char c);
  void close(char c);
  void before();
  void line();

  std::string out_;
  JsonStyle style_;
  int depth_ = 0;
  bool first_ = true;       // nothing yet in the innermost container
  bool after_key_ = false;
};

// The quoted form. Invalid UTF-8 becomes U+FFFD; DEL and the C1 controls are escaped as well as C0, since JSON shown
// on a terminal must not drive it.
void append_json_string(std::string& out, std::string_view text);

std::string base64(std::string_view bytes);

}  // namespace hotcell
