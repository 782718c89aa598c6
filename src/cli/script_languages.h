// Languages that need an interpreter and nothing else.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace hotcell {

struct ScriptLanguage {
  std::string_view name;
  std::string_view aliases;      // a|b
  std::string_view extensions;   // .a|.b
  std::string_view interpreter;
  std::string_view main_file;    // where -c CODE is put
  std::uint32_t processes = 0;   // tasks its runtime needs before the program's first line; 0: the policy's will do
};

inline constexpr std::array<ScriptLanguage, 5> kScriptLanguages = {{
    {"python", "py|python3", ".py", "python3", "main.py"},
    {"bash", "sh|shell", ".sh|.bash", "bash", "main.sh"},
    // node starts about eleven threads, and each worker of the program four more.
    {"javascript", "js|node", ".js|.mjs|.cjs", "node", "main.js", 64},
    {"perl", "pl", ".pl", "perl", "main.pl"},
    {"ruby", "rb", ".rb", "ruby", "main.rb"},
}};

}  // namespace hotcell
