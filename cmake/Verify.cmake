# hotcell-verify: the limited child that reads sources (languages/verify_main.cc). Static, since it starts faster and needs
# nothing of the system once it is confined.
include(GNUInstallDirs)
add_executable(hotcell-verify ${PROJECT_SOURCE_DIR}/src/languages/verify_main.cc)
target_link_libraries(hotcell-verify PRIVATE hotcell_languages)
if(NOT HOTCELL_SANITIZE)
  target_link_options(hotcell-verify PRIVATE -static)
endif()
install(TARGETS hotcell-verify RUNTIME DESTINATION libexec/hotcell)
set_source_files_properties(src/languages/verify_program.cc PROPERTIES
  COMPILE_DEFINITIONS "HOTCELL_LIBEXEC_DIR=\"${CMAKE_INSTALL_PREFIX}/libexec/hotcell\"")
# Whoever builds the program gets the child beside it.
cmake_language(DEFER CALL add_dependencies hotcell hotcell-verify)
function(hotcell_verify_dependencies)
  foreach(test IN ITEMS languages_test manager_test)
    if(TARGET ${test})
      add_dependencies(${test} hotcell-verify)
    endif()
  endforeach()
endfunction()
cmake_language(DEFER CALL hotcell_verify_dependencies)
# Boost.JSON reads what the reports and the development data say, in tests alone.
foreach(test IN ITEMS verify_test languages_test)
  if(TARGET ${test})
    target_link_libraries(${test} PRIVATE boost_json)
  endif()
endforeach()
