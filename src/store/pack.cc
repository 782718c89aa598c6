#include "store/pack.h"

#include <cstdint>
#include <cstring>

#include "base/sha256.h"

namespace hotcell {

namespace {

constexpr std::string_view kMagic = "hotcell1";
constexpr std::uint32_t kMostFiles = 1 << 16;

template <typename T>
void put(std::string& out, T number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

template <typename T>
bool take(std::string_view& in, T& number) {
  if (in.size() < sizeof number) return false;
  std::memcpy(&number, in.data(), sizeof number);
  in.remove_prefix(sizeof number);
  return true;
}

bool take_text(std::string_view& in, std::uint64_t size, std::string& text) {
  if (size > in.size()) return false;
  text.assign(in.substr(0, static_cast<std::size_t>(size)));
  in.remove_prefix(static_cast<std::size_t>(size));
  return true;
}

}  // namespace

std::string pack_files(std::span<const OutputFile> files) {
  std::string body;
  put(body, static_cast<std::uint32_t>(files.size()));
  for (const auto& f : files) {
    put(body, static_cast<std::uint64_t>(f.name.size()));
    put(body, static_cast<std::uint64_t>(f.bytes.size()));
    put(body, static_cast<std::uint8_t>(f.executable ? 1 : 0));
    body += f.name;
    body += f.bytes;
  }
  std::string out(kMagic);
  put(out, quick_checksum(body));
  return out += body;
}

std::optional<std::vector<OutputFile>> unpack_files(std::string_view in) {
  std::uint64_t checksum = 0;
  std::uint32_t count = 0;
  if (!in.starts_with(kMagic)) return std::nullopt;
  in.remove_prefix(kMagic.size());
  if (!take(in, checksum) || quick_checksum(in) != checksum) return std::nullopt;
  if (!take(in, count) || count > kMostFiles) return std::nullopt;
  std::vector<OutputFile> files;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::uint64_t name = 0, size = 0;
    std::uint8_t executable = 0;
    OutputFile f;
    if (!take(in, name) || !take(in, size) || !take(in, executable)) return std::nullopt;
    if (!take_text(in, name, f.name) || !take_text(in, size, f.bytes)) return std::nullopt;
    f.executable = executable != 0;
    files.push_back(std::move(f));
  }
  if (!in.empty()) return std::nullopt;
  return files;
}

}  // namespace hotcell
