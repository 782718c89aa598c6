# codex, one of the backends, comes from npm for the tests alone, by the lock file in src/backends/npm: it is large. Without it
# `hotcell backend list` says what is missing.
if(BUILD_TESTING)
  include(NpmFetch)
  set(codex_fetched ${PROJECT_SOURCE_DIR}/build/codex)
  hotcell_npm_fetch("codex" ${PROJECT_SOURCE_DIR}/src/backends/npm ${codex_fetched} codex_failed)
  if(codex_failed)
    message(WARNING "the backend codex will be missing: ${codex_failed}")
  endif()
  set_source_files_properties(src/backends/codex_binary.cc PROPERTIES COMPILE_DEFINITIONS
    "HOTCELL_CODEX=\"${codex_fetched}/node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex\"")
endif()
