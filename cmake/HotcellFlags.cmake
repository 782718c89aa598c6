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
  set(CMAKE_C_COMPILER_LAUNCHER ${HOTCELL_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${HOTCELL_CCACHE})
endif()

add_library(hotcell_flags INTERFACE)
target_include_directories(hotcell_flags INTERFACE ${PROJECT_SOURCE_DIR}/include)
# -iquote, because src/sys would otherwise answer for <sys/socket.h>.
target_compile_options(hotcell_flags INTERFACE "-iquote${PROJECT_SOURCE_DIR}/src")
target_compile_definitions(hotcell_flags INTERFACE HOTCELL_VERSION="${PROJECT_VERSION}")
target_compile_options(hotcell_flags INTERFACE -Wall -Wextra -Wshadow -Wformat=2 -Wundef -Wnull-dereference -Werror
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor> $<$<COMPILE_LANGUAGE:CXX>:-Wold-style-cast>
  $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
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
