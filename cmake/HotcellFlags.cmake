# What every target of ours is compiled and linked with: warnings as errors, hardening, sanitizers, quick tools.
option(BUILD_TESTING "tests, examples and the replay of the fuzz corpora" ON)
option(HOTCELL_FUZZ "libFuzzer targets (needs clang)" OFF)
option(HOTCELL_COVERAGE "gcov counters" OFF)
set(HOTCELL_SANITIZE "" CACHE STRING "sanitizers, as for -fsanitize=: address,undefined or thread")

set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)   # users may put the library into a shared one
# -O3 buys nothing in code that waits for the kernel, and costs size and compile time.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo)
endif()

find_program(HOTCELL_CCACHE ccache)
if(HOTCELL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # A clone beside this one finds what was compiled here; the sloppiness is for what uses a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=${PROJECT_SOURCE_DIR}
    CCACHE_NOHASHDIR=1 ${HOTCELL_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

add_library(hotcell_flags INTERFACE)
target_include_directories(hotcell_flags INTERFACE ${PROJECT_SOURCE_DIR}/include)
# -iquote, because src/sys would otherwise answer for <sys/socket.h>.
target_compile_options(hotcell_flags INTERFACE "-iquote${PROJECT_SOURCE_DIR}/src")
target_compile_definitions(hotcell_flags INTERFACE HOTCELL_VERSION="${PROJECT_VERSION}")
target_compile_options(hotcell_flags INTERFACE -Wall -Wextra -Wshadow -Wformat=2 -Wundef -Wnull-dereference -Werror
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast>
  $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
  # g++ 12 at -O2 sees overlapping copies of 2^63 bytes inside std::string's own operator+, and unset members in the arm of a
  # std::variant that is not taken. The dev build has these warnings.
  $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<CONFIG:Release>>:-Wno-restrict>
  $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<CONFIG:Release>>:-Wno-maybe-uninitialized>
  $<$<AND:$<COMPILE_LANG_AND_ID:CXX,GNU>,$<CONFIG:Release>>:-Wno-null-dereference>
  # libstdc++ 12 uses in its own stable_sort what it has marked as deprecated.
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-deprecated-declarations>)

# Nobody interposes our functions: without this, position-independent code forbids inlining them.
target_compile_options(hotcell_flags INTERFACE -fno-semantic-interposition)

# The parent handles bytes from untrusted programs: a bug there must crash, not become an exploit.
target_compile_options(hotcell_flags INTERFACE -fstack-protector-strong -fstack-clash-protection)
target_link_options(hotcell_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  target_compile_options(hotcell_flags INTERFACE -fcf-protection=full)
endif()
if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
  target_compile_definitions(hotcell_flags INTERFACE _GLIBCXX_ASSERTIONS)
endif()
if(HOTCELL_SANITIZE)
  target_compile_options(hotcell_flags INTERFACE -fsanitize=${HOTCELL_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer
    # g++ 12 sees null pointers and unset variables in the checks it inserts itself.
    -Wno-null-dereference $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(hotcell_flags INTERFACE -fsanitize=${HOTCELL_SANITIZE})
  target_compile_definitions(hotcell_flags INTERFACE HOTCELL_SANITIZED=1)
elseif(CMAKE_BUILD_TYPE MATCHES "Rel")
  # Sanitizers check more than fortify does and do not see through its wrappers. It needs an optimised build.
  target_compile_options(hotcell_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()
if(HOTCELL_COVERAGE)
  target_compile_options(hotcell_flags INTERFACE --coverage)
  target_link_options(hotcell_flags INTERFACE --coverage)
endif()

find_program(HOTCELL_MOLD mold)
if(HOTCELL_MOLD)
  target_link_options(hotcell_flags INTERFACE -fuse-ld=mold)
endif()

# hotcell_precompile(TARGET): headers that every file wants, read once. For tests, whose time to compile is mostly the
# test framework, and which need no optimiser; for libraries only with sanitizers, so that the other builds show what a
# file forgot to include.
function(hotcell_precompile target)
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL EXECUTABLE AND NOT HOTCELL_SANITIZE)
    return()
  endif()
  # One for each kind: position independence is part of what a precompiled header is made for.
  set(headers hotcell_headers_${type})
  if(NOT TARGET ${headers})
    file(WRITE ${CMAKE_BINARY_DIR}/headers.cc "int main() {}\n")
    if(type STREQUAL EXECUTABLE)
      add_executable(${headers} ${CMAKE_BINARY_DIR}/headers.cc)
      target_link_libraries(${headers} PRIVATE GTest::gtest_main)
      target_precompile_headers(${headers} PRIVATE <gtest/gtest.h>)
      target_compile_options(${headers} PRIVATE -O0 -U_FORTIFY_SOURCE)
    else()
      add_library(${headers} STATIC ${CMAKE_BINARY_DIR}/headers.cc)
    endif()
    target_link_libraries(${headers} PRIVATE hotcell_flags)
    target_precompile_headers(${headers} PRIVATE <algorithm> <array> <chrono> <condition_variable> <cstdint>
      <functional> <map> <memory> <mutex> <optional> <set> <span> <string> <string_view> <thread> <unordered_map>
      <utility> <variant> <vector>)
  endif()
  if(type STREQUAL EXECUTABLE)
    target_compile_options(${target} PRIVATE -O0 -U_FORTIFY_SOURCE)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${headers})
endfunction()
