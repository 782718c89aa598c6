#!/bin/bash
# install_test.sh BUILD_DIR: installs into a folder of its own, then builds and runs two users of the library: one by
# find_package, one by pkg-config. Neither sees the source tree.
set -euo pipefail
build=$(readlink -f "$1")
place=$(mktemp -d "${TMPDIR:-/tmp}/hotcell-install.XXXXXX")
trap 'rm -rf "$place"' EXIT
prefix=$place/prefix

fail() { echo "install_test: $*" >&2; exit 1; }

cmake --install "$build" --prefix "$prefix" >"$place/log" || { cat "$place/log"; fail 'cmake --install failed'; }
# Moved, since nothing that is installed may remember where it was put at first.
mv "$prefix" "$place/moved"
prefix=$place/moved

for f in bin/hotcell libexec/hotcell/hotcell-attack libexec/hotcell/hotcell-verify; do
  [ -x "$prefix/$f" ] || fail "$f is not there"
done
for f in include/hotcell/launcher.h include/hotcell/language.h include/hotcell/verify.h share/hotcell/profiles share/doc/hotcell/LICENSE share/man/man1/hotcell.1 \
  share/bash-completion/completions/hotcell; do
  [ -e "$prefix/$f" ] || fail "$f is not there"
done
cmake_dir=$(dirname "$(find "$prefix" -name hotcellConfig.cmake)")
pc_dir=$(dirname "$(find "$prefix" -name hotcell.pc)")
if grep -rqsF -e "$build" -e "$(dirname "$0")" "$cmake_dir" "$pc_dir"; then fail 'an installed file names the build tree'; fi

version=$("$prefix/bin/hotcell" --version) || fail "hotcell --version exits $?"
"$prefix/bin/hotcell" run -- /bin/true || fail "the installed hotcell run -- /bin/true exits $?"

mkdir "$place/user"
cat >"$place/user/main.cc" <<'END'
#include <hotcell/language.h>
#include <hotcell/launcher.h>
#include <hotcell/policy.h>
#include <hotcell/verify.h>

#include <cstdio>
#include <string>

int main(int, char** argv) {
  hotcell::Policy policy = hotcell::default_policy();
  auto launcher = hotcell::Launcher::create();
  if (!launcher) return std::fprintf(stderr, "%s\n", launcher.error().message.c_str()), 1;
  hotcell::Request request;
  request.argv = {"/bin/echo", "from a cell"};
  auto report = launcher.value()->run(policy, request);
  if (!report) return std::fprintf(stderr, "%s\n", report.error().message.c_str()), 1;
  const hotcell::Language* python = hotcell::find_language("python");
  if (python == nullptr || python->run == nullptr) return std::fprintf(stderr, "python is not there\n"), 1;
  hotcell::VerifierOptions options;
  options.program = argv[1];  // this user is not installed beside it
  hotcell::Verifier verifier(options);
  if (!verifier.verify("print(1)\n", "python", "a.py", policy).safe) return std::fprintf(stderr, "print(1) is not safe\n"), 1;
  auto seen = verifier.verify("import os\nos.system('id')\n", "python", "a.py", hotcell::strict_policy());
  if (seen.safe || seen.unverifiable) return std::fprintf(stderr, "os.system is safe\n"), 1;
  std::printf("%s %s %s", std::string(hotcell::version()).c_str(), policy.name.c_str(), report.value().out.c_str());
}
END
cat >"$place/user/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES CXX)
find_package(hotcell 0.1 REQUIRED)
add_executable(user main.cc)
target_link_libraries(user PRIVATE hotcell::hotcell)
END

check() {
  local out
  out=$("$1" "$prefix/libexec/hotcell/hotcell-verify") || fail "$1 exits $?"
  case $out in
    *' default from a cell') ;;
    *) fail "$1 printed: $out" ;;
  esac
  case $version in *"${out%% *}"*) ;; *) fail "library ${out%% *}, program $version" ;; esac
}

# The library of an instrumented build needs the runtime of that; a user's own flags would bring it.
sanitize=$(sed -n 's/^HOTCELL_SANITIZE:[A-Z]*=//p' "$build/CMakeCache.txt")
flags=${sanitize:+-fsanitize=$sanitize}
if grep -q '^HOTCELL_COVERAGE:[A-Z]*=ON' "$build/CMakeCache.txt"; then flags="$flags --coverage"; fi

if ! { cmake -S "$place/user" -B "$place/user/build" -G Ninja -Dhotcell_DIR="$cmake_dir" -DCMAKE_CXX_FLAGS="$flags" &&
  cmake --build "$place/user/build"; } >"$place/log" 2>&1; then
  cat "$place/log"
  fail 'a project with find_package(hotcell) does not build'
fi
check "$place/user/build/user"

export PKG_CONFIG_PATH=$pc_dir
# shellcheck disable=SC2046,SC2086
g++ -std=c++20 $flags "$place/user/main.cc" $(pkg-config --cflags --libs hotcell) -o "$place/user/by_pkg_config"
check "$place/user/by_pkg_config"
