// The files that go in beside a program's own text. Each is read as the code it is, or named as not read: a run is never
// called clean because nobody looked.
#pragma once
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/language.h"
#include "hotcell/report.h"
#include "hotcell/request.h"
#include "hotcell/result.h"

namespace hotcell {

struct FileReading {
  std::string language;     // whose rules read it; empty: none do
  std::string_view opaque;  // code that nobody here can read: why; empty: data
};

struct BesideFile {
  SourceFile file;          // without its text where nobody reads it
  FileReading reading;
};

// By its name, its first bytes, and whether the program's sources load it as code whatever it is called:
// `#include "rows.inc"`. Language and sources outlive it.
class FileReader {
 public:
  FileReader(const Language& language, const Sources& sources) : language_(language), sources_(sources) {}
  FileReading how(std::string_view name, std::string_view text);

 private:
  void note_loads();

  const Language& language_;
  const Sources& sources_;
  bool noted_ = false;
  std::set<std::string, std::less<>> loaded_;
};

// What the request brings in that is not among the sources. Called before the files of ours are laid beside them.
Result<std::vector<BesideFile>> files_beside(const Language& language, const Sources& sources, std::span<const InputFile> files);

// One finding, severity info, for all of them: data is no fault, and no verdict covers it.
Finding unread_finding(std::span<const std::string_view> names);
// A profile of another language than the program's: that its lists do not count is said, not passed over.
Finding other_language_finding(const Policy& policy, std::string_view language, std::string_view file);

}  // namespace hotcell
