// What is known of Python's library by name: which words are modules, which are modules by another name.
#pragma once
#include <string>
#include <string_view>

namespace hotcell::python {

// `_io` is io, `posixpath` is os.path, `__builtin__` is builtins; anything else is itself.
std::string canonical_module(std::string_view module);
bool is_stdlib(std::string_view top);
// A package that many programs use and that is not part of Python: code of others that was not read with this one.
bool is_package(std::string_view dotted);
// A module that is really below its package ("os.path", "urllib.request"), not another one seen through it.
bool is_submodule(std::string_view package, std::string_view name);
// Attribute `name` of module `holder` is another module (`random._os`, `json.codecs`, `re.enum.bltns`): which; or "".
std::string module_through(std::string_view holder, std::string_view name);
bool is_builtin(std::string_view name);
// Constants of the library that are texts: string.ascii_lowercase, os.sep. Empty: none known.
std::string_view constant_text(std::string_view dotted);

}  // namespace hotcell::python
