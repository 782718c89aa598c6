# The dashboard: bundled by esbuild and embedded into the server, so that there is no folder to install and nothing is
# loaded from elsewhere. What it is made of is fetched once for all presets by the lock file in web/, into build/web of
# the source tree; the bundle is made again when a source changes, in a tenth of a second.
find_program(HOTCELL_NPM npm REQUIRED)
find_program(HOTCELL_NODE NAMES node nodejs REQUIRED)
set(web_home ${PROJECT_SOURCE_DIR}/web)
set(web_fetched ${PROJECT_SOURCE_DIR}/build/web)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${web_home}/package-lock.json)
file(SHA256 ${web_home}/package-lock.json web_wanted)
set(web_have "")
if(EXISTS ${web_fetched}/.hotcell)
  file(READ ${web_fetched}/.hotcell web_have)
endif()
if(NOT web_have STREQUAL web_wanted)
  message(STATUS "fetching what the dashboard is made of")
  file(MAKE_DIRECTORY ${web_fetched})
  file(COPY ${web_home}/package.json ${web_home}/package-lock.json DESTINATION ${web_fetched})
  execute_process(COMMAND ${HOTCELL_NPM} ci --ignore-scripts --no-audit --no-fund
    WORKING_DIRECTORY ${web_fetched} RESULT_VARIABLE web_failed OUTPUT_VARIABLE web_said ERROR_VARIABLE web_said)
  if(web_failed)
    message(FATAL_ERROR "npm ci for the dashboard failed: ${web_said}")
  endif()
  file(WRITE ${web_fetched}/.hotcell ${web_wanted})
endif()

file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS ${web_home}/src/*.ts ${web_home}/src/*.tsx ${web_home}/src/*.css)
set(web_out ${PROJECT_BINARY_DIR}/web)
file(MAKE_DIRECTORY ${web_out})
add_custom_command(OUTPUT ${web_out}/assets_embed.S ${web_out}/assets_table.inc
  COMMAND ${HOTCELL_NODE} ${web_home}/build.mjs ${web_fetched}/node_modules ${web_out}
  DEPENDS ${web_sources} ${web_home}/build.mjs ${web_home}/index.html ${web_home}/icon.svg ${web_home}/package-lock.json
  COMMENT "bundling the dashboard" VERBATIM)
add_custom_target(hotcell-web DEPENDS ${web_out}/assets_embed.S ${web_out}/assets_table.inc)

enable_language(ASM)
target_sources(hotcell_server PRIVATE ${web_out}/assets_embed.S)
# Both come from one command, and the bytes are read while assembling.
set_source_files_properties(${web_out}/assets_embed.S PROPERTIES OBJECT_DEPENDS ${web_out}/assets_table.inc)
set_source_files_properties(${PROJECT_SOURCE_DIR}/src/server/assets.cc PROPERTIES
  OBJECT_DEPENDS ${web_out}/assets_table.inc COMPILE_OPTIONS "-iquote${web_out}")
add_dependencies(hotcell_server hotcell-web)
