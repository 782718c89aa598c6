// Values to bytes and back, for what our own processes say to each other: little-endian numbers of eight bytes, lengths before contents. Reading stops for good at the
// first thing that does not fit, and never reserves more than the bytes that are there could fill.
#pragma once
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "hotcell/units.h"

namespace hotcell::archive {

class Packer {
 public:
  static constexpr bool kReading = false;
  std::string out;

  template <typename... T>
  void operator()(const T&... values) { (put(values), ...); }

  void number(std::uint64_t v) {
    char b[8];
    for (int i = 0; i < 8; ++i) b[i] = static_cast<char>(v >> (8 * i));
    out.append(b, 8);
  }

 private:
  void put(const std::string& s) {
    number(s.size());
    out += s;
  }
  void put(double v) { number(std::bit_cast<std::uint64_t>(v)); }
  void put(Bytes b) { number(b.n); }
  template <typename T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  void put(T v) { number(static_cast<std::uint64_t>(v)); }
  template <typename R, typename P>
  void put(std::chrono::duration<R, P> d) { number(static_cast<std::uint64_t>(d.count())); }
  template <typename C, typename D>
  void put(std::chrono::time_point<C, D> t) { put(t.time_since_epoch()); }
  template <typename A, typename B>
  void put(const std::pair<A, B>& p) { put(p.first), put(p.second); }
  template <typename T>
  void put(const std::optional<T>& o) {
    number(o ? 1 : 0);
    if (o) put(*o);
  }
  template <typename T>
  void put(const std::vector<T>& list) { put_all(list); }
  template <typename T>
  void put(const std::set<T>& list) { put_all(list); }
  template <typename K, typename V>
  void put(const std::map<K, V>& list) { put_all(list); }
  template <typename L>
  void put_all(const L& list) {
    number(list.size());
    for (const auto& v : list) put(v);
  }
  template <typename T>
    requires std::is_class_v<T>
  void put(const T& value) { fields(*this, const_cast<T&>(value)); }
};

class Unpacker {
 public:
  static constexpr bool kReading = true;
  explicit Unpacker(std::string_view bytes) : in_(bytes) {}

  template <typename... T>
  void operator()(T&... values) { (get(values), ...); }

  bool finished() const { return ok_ && in_.empty(); }
  void fail() { ok_ = false; }
  bool ok() const { return ok_; }

  std::uint64_t number() {
    if (!ok_ || in_.size() < 8) {
      ok_ = false;
      return 0;
    }
    std::uint64_t v = 0;
    for (int i = 0; i < 8; ++i) v |= static_cast<std::uint64_t>(static_cast<unsigned char>(in_[static_cast<std::size_t>(i)])) << (8 * i);
    in_.remove_prefix(8);
    return v;
  }

 private:
  // Every element takes at least eight bytes, so a number beyond what is left is a lie.
  std::size_t count() {
    std::uint64_t n = number();
    if (n > in_.size() / 8) ok_ = false;
    return ok_ ? static_cast<std::size_t>(n) : 0;
  }
  std::size_t length() {
    std::uint64_t n = number();
    if (n > in_.size()) ok_ = false;
    return ok_ ? static_cast<std::size_t>(n) : 0;
  }
  void get(std::string& s) {
    std::size_t n = length();
    s.assign(in_.substr(0, n));
    in_.remove_prefix(n);
  }
  void get(double& v) { v = std::bit_cast<double>(number()); }
  void get(Bytes& b) { b.n = number(); }
  void get(bool& v) {
    auto n = number();
    if (n > 1) ok_ = false;
    v = n == 1;
  }
  template <typename T>
    requires std::is_integral_v<T>
  void get(T& v) {
    auto n = number();
    v = static_cast<T>(n);
    if (static_cast<std::uint64_t>(v) != n) ok_ = false;
  }
  // Whoever uses an enum checks that it is one of its values; here it only has to fit.
  template <typename T>
    requires std::is_enum_v<T>
  void get(T& v) {
    auto n = number();
    if (n > 255) ok_ = false;
    v = static_cast<T>(n);
  }
  template <typename R, typename P>
  void get(std::chrono::duration<R, P>& d) { d = std::chrono::duration<R, P>(static_cast<R>(number())); }
  template <typename C, typename D>
  void get(std::chrono::time_point<C, D>& t) {
    D since{};
    get(since);
    t = std::chrono::time_point<C, D>(since);
  }
  template <typename A, typename B>
  void get(std::pair<A, B>& p) { get(p.first), get(p.second); }
  template <typename T>
  void get(std::optional<T>& o) {
    bool there = false;
    get(there);
    o.reset();
    if (there) get(o.emplace());
  }
  template <typename T>
  void get(std::vector<T>& list) {
    list.clear();
    for (std::size_t n = count(); ok_ && n > 0; --n) get(list.emplace_back());
  }
  template <typename T>
  void get(std::set<T>& list) {
    list.clear();
    for (std::size_t n = count(); ok_ && n > 0; --n) {
      T v{};
      get(v);
      list.insert(std::move(v));
    }
  }
  template <typename K, typename V>
  void get(std::map<K, V>& list) {
    list.clear();
    for (std::size_t n = count(); ok_ && n > 0; --n) {
      std::pair<K, V> entry;
      get(entry);
      list.insert(std::move(entry));
    }
  }
  template <typename T>
    requires std::is_class_v<T>
  void get(T& value) { fields(*this, value); }

  std::string_view in_;
  bool ok_ = true;
};

}  // namespace hotcell::archive
