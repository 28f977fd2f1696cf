#!/usr/bin/env bash
# Compiles each installed header alone, with GCC and, where it is there, clang, and all warnings.
# Usage: public_headers_test.sh BUILD_DIR
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$1" --prefix "$work" >/dev/null
compilers=$(command -v g++ clang++ || true)
[ -n "$compilers" ]
for compiler in $compilers; do
  (cd "$work/include" && find onward -name '*.h') | xargs -P "$(nproc)" -I{} \
    sh -c 'echo "#include <$3>" | "$1" -std=c++20 -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I "$2/include" -x c++ -' _ \
    "$compiler" "$work" {}
done
(cd "$work/include" && find . -type f -not -path './onward/*' | grep . && exit 1) || true
