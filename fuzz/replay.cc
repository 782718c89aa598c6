// Runs a fuzz target over stored inputs without libFuzzer, so that every build replays what fuzzing once found.
#include <dirent.h>
#include <stdio.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

bool replay(const std::string& path) {
  FILE* file = fopen(path.c_str(), "rbe");
  if (file == nullptr) return false;
  std::vector<std::uint8_t> bytes;
  std::uint8_t chunk[4096];
  while (std::size_t n = fread(chunk, 1, sizeof chunk, file)) bytes.insert(bytes.end(), chunk, chunk + n);
  fclose(file);
  // Named before it runs: after a crash the last line says which input it was.
  fprintf(stderr, "%s\n", path.c_str());
  // An exact-size copy, so that ASan sees a read past the end; a vector's capacity would hide it.
  auto* exact = new std::uint8_t[bytes.size()];
  if (!bytes.empty()) memcpy(exact, bytes.data(), bytes.size());
  LLVMFuzzerTestOneInput(exact, bytes.size());
  delete[] exact;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  int replayed = 0;
  for (int i = 1; i < argc; ++i) {
    DIR* dir = opendir(argv[i]);
    if (dir == nullptr) {
      fprintf(stderr, "no corpus at %s\n", argv[i]);
      return 1;
    }
    while (const dirent* entry = readdir(dir)) {
      if (entry->d_name[0] == '.') continue;
      if (!replay(std::string(argv[i]) + "/" + entry->d_name)) return 1;
      ++replayed;
    }
    closedir(dir);
  }
  // An empty corpus would make this test pass without testing anything.
  fprintf(stderr, "%d inputs\n", replayed);
  return replayed > 0 ? 0 : 1;
}
