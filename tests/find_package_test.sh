#!/usr/bin/env bash
# Installs a build into a temporary directory, builds examples/find_package and the examples against it and runs them.
# Usage: find_package_test.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$2" --prefix "$work/prefix" >/dev/null
configure() {
  cmake -S "$1" -B "$2" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld \
    >/dev/null
}
configure "$1/examples/find_package" "$work/build"
cmake --build "$work/build" >/dev/null
"$work/build/use_onward" | grep -Fx 'y = [3.5, 0]'
"$work/prefix/bin/onward" version | grep -q '^onward '

# What users copy does not see this tree: only the folder of the examples is there.
cp -r "$1/examples" "$work/examples"
configure "$work/examples" "$work/examples_build"
cmake --build "$work/examples_build" >/dev/null
"$1/tests/examples_test.sh" "$1" "$work/examples_build" "$work/prefix/bin/onward"
