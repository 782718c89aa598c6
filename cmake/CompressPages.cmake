# Run by cpack on what it is about to pack: Debian wants manual pages and changes compressed, without the time of day in them,
# and libraries without what only a debugger reads.
file(GLOB pages "${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/man/man1/*.1" "${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/doc/*/changelog*")
list(FILTER pages EXCLUDE REGEX "\\.gz$")
foreach(page IN LISTS pages)
  execute_process(COMMAND gzip -9nf "${page}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(GLOB libraries "${CPACK_TEMPORARY_DIRECTORY}/*/usr/lib/*.a" "${CPACK_TEMPORARY_DIRECTORY}/*/usr/lib/*/*.a")
foreach(library IN LISTS libraries)
  execute_process(COMMAND strip --strip-debug --enable-deterministic-archives "${library}" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
