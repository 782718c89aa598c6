# `cmake --install`: the program, one static library with its headers, CMake package and pkg-config file.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The program knows its own options: what the shells complete is asked of it.
function(hotcell_completions)
  set(out ${PROJECT_BINARY_DIR}/completions)
  file(MAKE_DIRECTORY ${out})
  set(bash ${CMAKE_INSTALL_DATADIR}/bash-completion/completions hotcell)
  set(zsh ${CMAKE_INSTALL_DATADIR}/zsh/site-functions _hotcell)
  set(fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d hotcell.fish)
  foreach(shell IN ITEMS bash zsh fish)
    list(GET ${shell} 0 folder)
    list(GET ${shell} 1 name)
    add_custom_command(OUTPUT ${out}/${shell} COMMAND hotcell completion ${shell} > ${out}/${shell} DEPENDS hotcell VERBATIM)
    list(APPEND files ${out}/${shell})
    install(FILES ${out}/${shell} DESTINATION ${folder} RENAME ${name})
  endforeach()
  add_custom_target(hotcell_completions ALL DEPENDS ${files})
endfunction()

# hotcell/inspect.h: an archive, a target (hotcell::inspect) and a pkg-config file of its own, since it brings ICU and Vectorscan, which
# nobody else should have to link.
function(hotcell_install_inspect)
  add_library(hotcell_inspect_merged STATIC $<TARGET_OBJECTS:hotcell_inspect_rules> $<TARGET_OBJECTS:hotcell_inspect>)
  set_target_properties(hotcell_inspect_merged PROPERTIES OUTPUT_NAME hotcell_inspectors EXPORT_NAME inspect LINKER_LANGUAGE CXX)
  get_target_property(link hotcell_inspect INTERFACE_LINK_LIBRARIES)
  list(FILTER link EXCLUDE REGEX "^(hotcell_|Threads::)")
  target_link_libraries(hotcell_inspect_merged INTERFACE hotcell_merged ${link})
  add_library(hotcell::inspect ALIAS hotcell_inspect_merged)
  install(TARGETS hotcell_inspect_merged EXPORT hotcell ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
  list(TRANSFORM link PREPEND "-l")
  list(JOIN link " " HOTCELL_PC_LIBS)
  file(RELATIVE_PATH HOTCELL_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" HOTCELL_PC_PREFIX ${HOTCELL_PC_PREFIX})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/hotcell-inspect.pc.in ${PROJECT_BINARY_DIR}/hotcell-inspect.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/hotcell-inspect.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
endfunction()

# hotcell_install(LIBRARIES base sys … PROGRAMS hotcell)
function(hotcell_install)
  cmake_parse_arguments(A "" "" "LIBRARIES;PROGRAMS" ${ARGN})

  # One archive of all our objects: users link one thing, and the split into libraries stays our own affair.
  set(objects "")
  set(link "")
  foreach(name IN LISTS A_LIBRARIES)
    get_target_property(more hotcell_${name} INTERFACE_LINK_LIBRARIES)
    if(more)
      list(APPEND link ${more})
    endif()
    get_target_property(type hotcell_${name} TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
      list(APPEND objects $<TARGET_OBJECTS:hotcell_${name}>)
    endif()
  endforeach()
  list(FILTER link EXCLUDE REGEX "^(hotcell_|Threads::)")   # what remains is other people's, and users link it too; threads are named below
  list(REMOVE_DUPLICATES link)
  add_library(hotcell_merged STATIC ${objects})
  set_target_properties(hotcell_merged PROPERTIES OUTPUT_NAME hotcell EXPORT_NAME hotcell LINKER_LANGUAGE CXX)
  target_include_directories(hotcell_merged INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(hotcell_merged INTERFACE ${link} Threads::Threads)
  target_compile_features(hotcell_merged INTERFACE cxx_std_20)
  add_library(hotcell::hotcell ALIAS hotcell_merged)

  install(TARGETS hotcell_merged EXPORT hotcell ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/hotcell DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
    FILES_MATCHING PATTERN "*.h")

  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/hotcell)
  install(EXPORT hotcell NAMESPACE hotcell:: FILE hotcellTargets.cmake DESTINATION ${package_dir} COMPONENT dev)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/hotcellConfig.cmake.in
    ${PROJECT_BINARY_DIR}/hotcellConfig.cmake INSTALL_DESTINATION ${package_dir})
  # Before 1.0 a minor version may change the API.
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/hotcellConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/hotcellConfig.cmake ${PROJECT_BINARY_DIR}/hotcellConfigVersion.cmake
    DESTINATION ${package_dir} COMPONENT dev)

  list(TRANSFORM link PREPEND "-l" OUTPUT_VARIABLE flags)
  list(JOIN flags " " HOTCELL_PC_LIBS)
  # Relative, so that the tree may be moved; LIBDIR has one part or, with Debian's multiarch, two.
  file(RELATIVE_PATH HOTCELL_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  string(REGEX REPLACE "/$" "" HOTCELL_PC_PREFIX ${HOTCELL_PC_PREFIX})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/hotcell.pc.in ${PROJECT_BINARY_DIR}/hotcell.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/hotcell.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

  hotcell_install_inspect()

  foreach(program IN LISTS A_PROGRAMS)
    if(TARGET ${program})
      install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    endif()
  endforeach()
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/profiles/ DESTINATION ${CMAKE_INSTALL_DATADIR}/hotcell/profiles
    FILES_MATCHING PATTERN "*.yaml")
  install(FILES ${PROJECT_SOURCE_DIR}/packaging/apparmor/hotcell-cell DESTINATION ${CMAKE_INSTALL_DATADIR}/hotcell/apparmor)
  install(PROGRAMS ${PROJECT_SOURCE_DIR}/packaging/fips_check.py DESTINATION ${CMAKE_INSTALL_DATADIR}/hotcell)
  if(TARGET hotcell AND NOT HOTCELL_SANITIZE)
    hotcell_completions()
  endif()
  file(GLOB manuals CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/packaging/man/*.1)
  install(FILES ${manuals} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

  if(BUILD_TESTING)
    add_test(NAME install_test COMMAND ${PROJECT_SOURCE_DIR}/tests/install_test.sh ${PROJECT_BINARY_DIR})
    # `once`: it writes into the build folder, so it is not repeated as an ordinary user.
    set_tests_properties(install_test PROPERTIES LABELS "install;once" TIMEOUT 300)
  endif()
endfunction()
