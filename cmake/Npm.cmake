# What languages need from npm: esbuild, which takes the types away from TypeScript, and Deno, by the lock file in
# src/languages/npm. The program is built without them, too: `hotcell language list` then says what is missing.
include(NpmFetch)
set(npm_fetched ${PROJECT_SOURCE_DIR}/build/npm)
hotcell_npm_fetch("esbuild and deno" ${PROJECT_SOURCE_DIR}/src/languages/npm ${npm_fetched} npm_failed)
if(npm_failed)
  message(WARNING "TypeScript and Deno will be missing: ${npm_failed}")
endif()
set_source_files_properties(src/languages/language_tools.cc PROPERTIES COMPILE_DEFINITIONS "HOTCELL_NPM_DIR=\"${npm_fetched}\"")
# The binary packages alone: the scripts around them are not used.
foreach(package IN ITEMS @esbuild @deno)
  install(DIRECTORY ${npm_fetched}/node_modules/${package} DESTINATION libexec/hotcell/npm/node_modules USE_SOURCE_PERMISSIONS OPTIONAL)
endforeach()
