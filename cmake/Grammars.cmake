# tree-sitter and its grammars come from npm by the lock file beside package.json; nothing of them is committed.
include(NpmFetch)
set(grammars_fetched ${PROJECT_SOURCE_DIR}/build/grammars)
hotcell_npm_fetch("tree-sitter and its grammars" ${PROJECT_SOURCE_DIR}/src/parse/grammars ${grammars_fetched} grammars_failed)
if(grammars_failed)
  message(FATAL_ERROR "${grammars_failed}")
endif()

set(modules ${grammars_fetched}/node_modules)
set(core ${modules}/tree-sitter/vendor/tree-sitter/lib)
set(grammar_sources ${core}/src/lib.c)
foreach(place IN ITEMS tree-sitter-python tree-sitter-c tree-sitter-cpp tree-sitter-rust tree-sitter-go tree-sitter-java
    tree-sitter-javascript tree-sitter-typescript/typescript tree-sitter-typescript/tsx)
  file(GLOB found ${modules}/${place}/src/parser.c ${modules}/${place}/src/scanner.c)
  set_source_files_properties(${found} PROPERTIES INCLUDE_DIRECTORIES ${modules}/${place}/src COMPILE_OPTIONS "-O1")
  list(APPEND grammar_sources ${found})
endforeach()
# Their code, their warnings. -O1: the tables are data, and the build is three times as fast as with -O2.
add_library(hotcell_grammars STATIC ${grammar_sources})
target_include_directories(hotcell_grammars SYSTEM PUBLIC ${core}/include PRIVATE ${core}/src)
target_compile_options(hotcell_grammars PRIVATE -w -fno-sanitize=all -fstack-protector-strong)
set_source_files_properties(${core}/src/lib.c PROPERTIES COMPILE_OPTIONS "-O2;-std=gnu11;-D_GNU_SOURCE")
