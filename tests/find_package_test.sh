#!/usr/bin/env bash
# Installs a build into a temporary directory, builds examples/find_package against it and runs the program.
# Usage: find_package_test.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$2" --prefix "$work/prefix" >/dev/null
cmake -S "$1/examples/find_package" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld >/dev/null
cmake --build "$work/build" >/dev/null
"$work/build/use_onward" | grep -Fx 'y = [3.5, 0]'
"$work/prefix/bin/onward" version | grep -q '^onward '
