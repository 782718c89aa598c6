// A state folder for one test.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "base/strings.h"
#include "store/history.h"
#include "store/schema.h"

namespace hotcell {

class TestFolder {
 public:
  TestFolder() {
    const char* tmp = std::getenv("TMPDIR");
    std::string name = cat(tmp == nullptr ? "/tmp" : tmp, "/hotcell-store-XXXXXX");
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(std::string_view name) const { return cat(path_, "/", name); }
  std::string file() const { return store_file(path_); }
  std::string read(std::string_view name) const {
    std::ostringstream out;
    out << std::ifstream(*this / name, std::ios::binary).rdbuf();
    return out.str();
  }
  void write(std::string_view name, std::string_view text) const {
    std::ofstream(*this / name, std::ios::binary | std::ios::trunc) << text;
  }

 private:
  std::string path_;
};

inline ExecutionRecord test_record(std::uint64_t number) {
  ExecutionRecord r;
  r.number = number;
  r.id = cat("id-", number);
  r.door = "rest";
  r.client = "local";
  r.language = "python";
  r.profile = "default";
  r.tier = "light";
  r.command = cat("print(", number, ")");
  r.created = std::chrono::system_clock::now();
  return r;
}

inline ExecutionRecord ended_record(std::uint64_t number, int exit_code = 0) {
  auto r = test_record(number);
  r.status = exit_code == 0 ? RunStatus::kCompleted : RunStatus::kFailed;
  r.exit_reason = "exited";
  r.exit_code = exit_code;
  r.started = r.created + std::chrono::microseconds(50);
  r.ended = r.created + std::chrono::milliseconds(3);
  r.duration = std::chrono::milliseconds(3);
  return r;
}

}  // namespace hotcell
