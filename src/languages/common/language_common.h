// What plugins share. Kept small: a language's own knowledge belongs into its own folder.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "hotcell/language.h"

namespace hotcell {

// The path of a tool, or the sentence that names the package that brings it.
Result<std::string> need_tool(const BuildInput& in, const Language& language, std::string_view program);

// `/work/NAME`. Always absolute: a source called `-o.c` or `@x.c` can then be neither an option nor a response file.
std::string in_work(std::string_view name);

// What the compiled program is called: the main file without its extension, or another name when that is taken.
std::string artefact_name(const Sources& sources);

// Of all sources, those with one of these extensions, the main one first; as absolute paths.
std::vector<std::string> sources_with(const Sources& sources, std::span<const std::string_view> extensions);

// `-lcrypto` for `#include <openssl/md5.h>`: the libraries that belong to the headers a C or C++ source names. The
// linker takes none that nothing is used of.
std::vector<std::string> libraries_of_headers(const Sources& sources);

// The run step of a program that was compiled into one file, and of one that an interpreter reads.
Result<RunStep> run_artefact(const BuildInput& in);
Result<RunStep> run_script(const BuildInput& in, const Language& language, std::string_view interpreter);

// What a compile step may use, whatever the program's own limits are.
Limits compile_limits();
Limits project_limits();  // a folder with its dependencies: longer, more of everything

// `FILE:LINE:COLUMN: severity: message`, as gcc, g++, tcc (without column), go and javac (without column) write it.
std::vector<Diagnostic> colon_diagnostics(std::string_view text);

// A diagnostic's file as the caller knows it: without the cell's own folder before it.
std::string_view without_work(std::string_view path);

}  // namespace hotcell
