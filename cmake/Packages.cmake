# `cmake --build build --target package`: Debian packages. `hotcell` is the program with its daemon, `libhotcell-dev` the
# library. What belongs to a system and not to a prefix (units, /etc) is the component `system`, which a plain
# `cmake --install` leaves out.
set(packaging ${PROJECT_SOURCE_DIR}/packaging)
set(system COMPONENT system EXCLUDE_FROM_ALL)
install(FILES ${packaging}/config.yaml DESTINATION /etc/hotcell ${system})
install(FILES ${packaging}/systemd/hotcell.service ${packaging}/systemd/hotcell.socket
  DESTINATION /usr/lib/systemd/system ${system})
install(FILES ${packaging}/systemd/sysusers.conf DESTINATION /usr/lib/sysusers.d RENAME hotcell.conf ${system})
install(FILES ${packaging}/systemd/tmpfiles.conf DESTINATION /usr/lib/tmpfiles.d RENAME hotcell.conf ${system})
install(FILES ${packaging}/debian/lintian-overrides DESTINATION /usr/share/lintian/overrides RENAME hotcell ${system})
foreach(package IN ITEMS "hotcell;system" "libhotcell-dev;dev-system")
  list(POP_FRONT package name)
  set(doc DESTINATION /usr/share/doc/${name})
  set(part COMPONENT ${package} EXCLUDE_FROM_ALL)
  install(FILES ${packaging}/debian/copyright ${doc} ${part})
  install(FILES ${packaging}/debian/changelog ${doc} RENAME changelog.Debian ${part})
  install(FILES ${PROJECT_SOURCE_DIR}/CHANGELOG.md ${doc} RENAME changelog ${part})
endforeach()
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/CompressPages.cmake)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME hotcell)
set(CPACK_PACKAGE_VENDOR hotcell)
set(CPACK_PACKAGE_CONTACT "The hotcell authors <hotcell@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "runs untrusted code in cells")
set(CPACK_PACKAGE_DESCRIPTION "Code nobody has read yet runs behind every wall the Linux kernel offers:
namespaces, a root of its own, Landlock, a seccomp allowlist, no
capabilities, and a ceiling on every resource. A command line, a daemon
with an HTTP and an MCP interface and a dashboard, and a C++ library.")
set(CPACK_STRIP_FILES ON)
# Absolute places (/etc) and relative ones (bin) in one package.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL Unspecified system dev dev-system)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENT_UNSPECIFIED_GROUP program)
set(CPACK_COMPONENT_SYSTEM_GROUP program)
set(CPACK_COMPONENT_DEV_GROUP library)
set(CPACK_COMPONENT_DEV-SYSTEM_GROUP library)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME hotcell)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS python3)
# Any of them is a language that cells can run then; none is needed.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "nodejs, perl, ruby, gcc, g++, golang-go, rustc, default-jdk-headless")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA
  "${packaging}/debian/postinst;${packaging}/debian/prerm;${packaging}/debian/postrm;${packaging}/debian/conffiles")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libhotcell-dev)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS "libyaml-cpp-dev, libseccomp-dev, libre2-dev, libvectorscan-dev, libicu-dev")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "The static library of hotcell, its headers, a CMake package and a
pkg-config file.")
include(CPack)

if(BUILD_TESTING)
  add_test(NAME packaging_test COMMAND ${PROJECT_SOURCE_DIR}/tests/packaging_test.sh ${PROJECT_BINARY_DIR})
  # `once`: packages are made of what is installed, by whoever may write there.
  set_tests_properties(packaging_test PROPERTIES LABELS "install;once" TIMEOUT 900)
endif()
