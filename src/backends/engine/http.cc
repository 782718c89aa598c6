#include "backends/engine/http.h"

#include <algorithm>
#include <charconv>

#include "base/strings.h"

namespace hotcell::backends {
namespace {

constexpr std::size_t kMostHead = 64u << 10, kMostLine = 4096;

Error bad(std::string_view what) { return make_error(ErrorCode::kIo, cat("the engine's answer is no HTTP: ", what)); }

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : static_cast<char>(c); });
  return out;
}

std::optional<std::uint64_t> number(std::string_view text, int base) {
  std::uint64_t n = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n, base);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return n;
}

}  // namespace

Result<void> ResponseReader::add(std::string_view bytes) {
  pending_.append(bytes);
  while (!pending_.empty() && state_ != State::kDone) {
    std::string line;
    switch (state_) {
      case State::kHead: {
        auto before = pending_.size();
        TRY(read_head());
        if (pending_.size() == before) return {};
        break;
      }
      case State::kSized:
      case State::kChunk:
        TRY(keep(static_cast<std::size_t>(std::min<std::uint64_t>(left_, pending_.size()))));
        if (left_ == 0) state_ = state_ == State::kSized ? State::kDone : State::kChunkEnd;
        break;
      case State::kUntilEnd:
      case State::kUpgraded:
        left_ = pending_.size();
        TRY(keep(pending_.size()));
        break;
      case State::kChunkSize: {
        TRY_SET(bool whole, read_line(line));
        if (!whole) return {};
        auto size = number(trim(std::string_view(line).substr(0, line.find(';'))), 16);
        if (!size || *size > (1ULL << 40)) return bad("a chunk without a size");
        left_ = *size;
        state_ = left_ == 0 ? State::kTrailer : State::kChunk;
        break;
      }
      case State::kChunkEnd: {
        TRY_SET(bool whole, read_line(line));
        if (!whole) return {};
        if (!line.empty()) return bad("a chunk longer than it says");
        state_ = State::kChunkSize;
        break;
      }
      case State::kTrailer: {
        TRY_SET(bool whole, read_line(line));
        if (!whole) return {};
        if (line.empty()) state_ = State::kDone;
        break;
      }
      case State::kDone: break;
    }
  }
  return {};
}

Result<void> ResponseReader::end() {
  if (state_ == State::kUntilEnd) state_ = State::kDone;
  if (state_ == State::kDone || state_ == State::kUpgraded) return {};
  return make_error(ErrorCode::kIo, "the engine closed the connection in the middle of its answer");
}

Result<void> ResponseReader::read_head() {
  auto at = pending_.find("\r\n\r\n");
  if (at == pending_.npos) {
    if (pending_.size() > kMostHead) return bad("a head without an end");
    // A server that speaks something else is not waited for.
    if (!std::string_view("HTTP/1.").starts_with(std::string_view(pending_).substr(0, 7))) return bad("it does not begin as one");
    return {};
  }
  std::string head = pending_.substr(0, at);
  pending_.erase(0, at + 4);
  auto lines = split(head, '\n');
  std::string_view first = trim(lines.empty() ? std::string_view() : std::string_view(lines[0]));
  auto code = first.size() >= 12 && first.starts_with("HTTP/1.") && first[8] == ' ' ? number(first.substr(9, 3), 10) : std::nullopt;
  if (!code || *code < 100 || *code > 599) return bad("no status");
  status_ = static_cast<int>(*code);
  std::optional<std::uint64_t> length;
  bool chunked = false;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    std::string_view line = trim(lines[i]);
    auto colon = line.find(':');
    if (colon == line.npos) return bad("a field without a colon");
    std::string name = lower(line.substr(0, colon));
    std::string_view value = trim(line.substr(colon + 1));
    if (name == "content-length") {
      if (length) return bad("two lengths");
      length = number(value, 10);
      if (!length) return bad("a length that is no number");
    }
    if (name == "transfer-encoding") {
      if (lower(value) != "chunked") return bad("an unknown encoding");
      chunked = true;
    }
  }
  if (length && chunked) return bad("a length and chunks");
  if (status_ == 101) state_ = State::kUpgraded;
  else if (status_ < 200) state_ = State::kHead;  // another head follows
  else if (status_ == 204 || status_ == 304) state_ = State::kDone;
  else if (chunked) state_ = State::kChunkSize;
  else if (length) {
    left_ = *length;
    state_ = left_ == 0 ? State::kDone : State::kSized;
  } else {
    state_ = State::kUntilEnd;
  }
  return {};
}

Result<bool> ResponseReader::read_line(std::string& line) {
  auto at = pending_.find("\r\n");
  if (at == pending_.npos) {
    if (pending_.size() > kMostLine) return bad("a line without an end");
    return false;
  }
  line = pending_.substr(0, at);
  pending_.erase(0, at + 2);
  return true;
}

Result<void> ResponseReader::keep(std::size_t count) {
  if (body_.size() + count > most_) return make_error(ErrorCode::kIo, "the engine's answer is too long");
  body_.append(pending_, 0, count);
  pending_.erase(0, count);
  left_ -= count;
  return {};
}

Result<std::vector<FrameReader::Piece>> FrameReader::add(std::string_view bytes) {
  std::vector<Piece> out;
  while (!bytes.empty()) {
    if (left_ == 0) {
      std::size_t take = std::min<std::size_t>(8 - head_.size(), bytes.size());
      head_.append(bytes.substr(0, take));
      bytes.remove_prefix(take);
      if (head_.size() < 8) break;
      auto at = [&](int i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(head_[static_cast<std::size_t>(i)])); };
      if (at(0) > 2 || at(1) != 0 || at(2) != 0 || at(3) != 0) return make_error(ErrorCode::kIo, "the engine's stream is not framed");
      stream_ = static_cast<int>(at(0)) == 2 ? 2 : 1;
      left_ = at(4) << 24 | at(5) << 16 | at(6) << 8 | at(7);
      head_.clear();
      continue;
    }
    std::size_t take = std::min<std::size_t>(left_, bytes.size());
    out.push_back({stream_, std::string(bytes.substr(0, take))});
    bytes.remove_prefix(take);
    left_ -= static_cast<std::uint32_t>(take);
  }
  return out;
}

}  // namespace hotcell::backends
