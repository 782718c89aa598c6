# What languages need from npm: esbuild, which takes the types away from TypeScript, and Deno. Fetched once for all
# presets by the lock file in src/languages/npm, into build/npm of the source tree. The program is built without them, too:
# `hotcell language list` then says what is missing.
set(npm_home ${PROJECT_SOURCE_DIR}/src/languages/npm)
set(npm_fetched ${PROJECT_SOURCE_DIR}/build/npm)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${npm_home}/package-lock.json)
file(SHA256 ${npm_home}/package-lock.json npm_wanted)
set(npm_have "")
if(EXISTS ${npm_fetched}/.hotcell)
  file(READ ${npm_fetched}/.hotcell npm_have)
endif()
if(NOT npm_have STREQUAL npm_wanted)
  message(STATUS "fetching esbuild and deno")
  file(MAKE_DIRECTORY ${npm_fetched})
  file(COPY ${npm_home}/package.json ${npm_home}/package-lock.json DESTINATION ${npm_fetched})
  execute_process(COMMAND ${HOTCELL_NPM} ci --ignore-scripts --no-audit --no-fund
    WORKING_DIRECTORY ${npm_fetched} RESULT_VARIABLE npm_failed OUTPUT_VARIABLE npm_said ERROR_VARIABLE npm_said)
  if(npm_failed)
    message(WARNING "npm ci for esbuild and deno failed, so TypeScript and Deno will be missing: ${npm_said}")
  else()
    file(WRITE ${npm_fetched}/.hotcell ${npm_wanted})
  endif()
endif()
target_compile_definitions(hotcell_languages PRIVATE HOTCELL_NPM_DIR="${npm_fetched}")
# The binary packages alone: the scripts around them are not used.
foreach(package IN ITEMS @esbuild @deno)
  install(DIRECTORY ${npm_fetched}/node_modules/${package} DESTINATION libexec/hotcell/npm/node_modules USE_SOURCE_PERMISSIONS OPTIONAL)
endforeach()
