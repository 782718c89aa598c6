// Errors are values. Result<T> is [[nodiscard]] as a class, so a dropped `drop_caps();` does not compile;
// `ignore("why")` is the only way to drop one.
#pragma once
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace hotcell {

// What went wrong on *our* side. How the program ended is a Verdict, never one of these.
enum class ErrorCode {
  kInvalid,        // the request or policy makes no sense
  kNotFound,       // a program, file, profile or layer that is not there
  kNotExecutable,  // there, but cannot be executed
  kUnsupported,    // this host cannot enforce what was asked
  kDenied,         // we may not do that here
  kLimit,          // one of our own ceilings
  kIo,             // the kernel said no where we expected yes
  kCancelled,
  kInternal,       // a broken promise inside hotcell
};

std::string_view to_string(ErrorCode code);
int exit_code_of(ErrorCode code);  // what the CLI exits with: 125, 126 or 127

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  int err = 0;          // errno, 0 when none
  std::string message;  // outermost context first: "start cell: mount /usr: Operation not permitted"

  Error context(std::string_view what) && {
    message = std::string(what) + ": " + message;
    return std::move(*this);
  }
};

Error make_error(ErrorCode code, std::string message);
Error errno_error(std::string_view what, int err);  // picks the code from errno

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : v_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return v_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& value() & { return std::get<0>(v_); }
  const T& value() const& { return std::get<0>(v_); }
  T&& value() && { return std::get<0>(std::move(v_)); }
  Error& error() & { return std::get<1>(v_); }
  const Error& error() const& { return std::get<1>(v_); }
  Error&& error() && { return std::get<1>(std::move(v_)); }
  T value_or(T other) && { return ok() ? std::get<0>(std::move(v_)) : std::move(other); }
  Result context(std::string_view what) && {
    if (ok()) return std::move(*this);
    return std::get<1>(std::move(v_)).context(what);
  }
  void ignore(std::string_view why) const { (void)why; }

 private:
  std::variant<T, Error> v_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool ok() const { return !error_; }
  explicit operator bool() const { return ok(); }
  Error& error() & { return *error_; }
  const Error& error() const& { return *error_; }
  Error&& error() && { return *std::move(error_); }
  Result context(std::string_view what) && {
    if (ok()) return {};
    return (*std::move(error_)).context(what);
  }
  void ignore(std::string_view why) const { (void)why; }

 private:
  std::optional<Error> error_;
};

}  // namespace hotcell

// Statements, not expressions: a `return` out of a braced initialiser leaks the members already built (g++ 12).
#define HOTCELL_CAT_(a, b) a##b
#define HOTCELL_CAT(a, b) HOTCELL_CAT_(a, b)
#define TRY(expr)                                                             \
  do {                                                                        \
    auto try_result_ = (expr);                                                \
    if (!try_result_.ok()) [[unlikely]] return std::move(try_result_).error(); \
  } while (0)
#define TRY_SET_(tmp, decl, expr)                                \
  auto tmp = (expr);                                             \
  if (!tmp.ok()) [[unlikely]] return std::move(tmp).error();     \
  decl = std::move(tmp).value()
#define TRY_SET(decl, expr) TRY_SET_(HOTCELL_CAT(try_tmp_, __LINE__), decl, expr)
