#include "base/time_text.h"

#include <cstdint>

namespace hotcell {
namespace {

// `count` digits of `n`, ending before `end`.
void put_digits(char* end, int count, std::uint64_t n) {
  for (; count > 0; --count, n /= 10) *--end = static_cast<char>('0' + n % 10);
}

}  // namespace

// By hand: every execution has a dozen of these, and what the C library does for one costs as much as the rest of an event.
std::string rfc3339(std::chrono::system_clock::time_point time) {
  using namespace std::chrono;
  const auto since = duration_cast<nanoseconds>(time.time_since_epoch());
  const auto day = floor<days>(since);
  const year_month_day date{sys_days(day)};
  const auto of_day = static_cast<std::uint64_t>((since - day).count());
  const std::uint64_t second = of_day / 1'000'000'000;
  std::string text = "0000-00-00T00:00:00.000000000Z";
  char* at = text.data();
  put_digits(at + 4, 4, static_cast<std::uint64_t>(static_cast<int>(date.year())));
  put_digits(at + 7, 2, static_cast<unsigned>(date.month()));
  put_digits(at + 10, 2, static_cast<unsigned>(date.day()));
  put_digits(at + 13, 2, second / 3600);
  put_digits(at + 16, 2, second / 60 % 60);
  put_digits(at + 19, 2, second % 60);
  put_digits(at + 29, 9, of_day % 1'000'000'000);
  return text;
}

}  // namespace hotcell
