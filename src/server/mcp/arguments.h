// The arguments of a tool call, read one by one. The first mistake is kept; whoever reads asks for it once, at the end.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/policy/patch.h"
#include "hotcell/result.h"
#include "manager/job.h"
#include "server/json/json_value.h"

namespace hotcell::server::mcp {

class Arguments {
 public:
  explicit Arguments(const JsonValue& object) : object_(object) {}

  std::string string(std::string_view name);                         // empty when it is not there
  std::string choice(std::string_view name, std::initializer_list<std::string_view> words);   // empty when it is not there
  std::optional<bool> boolean(std::string_view name);
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t least, std::int64_t most);
  std::vector<std::string> strings(std::string_view name);
  std::map<std::string, std::string> string_map(std::string_view name);
  const JsonValue* object(std::string_view name);                    // nullptr when it is not there
  std::vector<JobFile> files(std::string_view name);  // {"name":"text"} or [{"name","content","encoding"}]
  LimitsPatch limits(std::string_view name);
  InspectMode inspect(std::string_view name);                        // report, mark or block; off when it is not there
  bool has(std::string_view name) const { return object_.find(name) != nullptr; }

  void mistake(std::string sentence);
  // The first mistake, or a name that none of the calls above asked for.
  Result<void> done();

 private:
  const JsonValue* find(std::string_view name);
  void wrong(std::string_view name, std::string_view expected, const JsonValue& value);
  JobFile file(const JsonValue& entry);

  const JsonValue& object_;
  std::vector<std::string_view> known_;
  std::optional<std::string> mistake_;
};

}  // namespace hotcell::server::mcp
