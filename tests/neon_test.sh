#!/usr/bin/env bash
# Compiles the vector loops for aarch64 and compares NEON's with the baseline's under an emulator.
# Usage: neon_test.sh SOURCE_DIR BUILD_DIR
set -euo pipefail
launcher=()
if command -v ccache >/dev/null; then launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache); fi
cmake -S "$1/tests/neon" -B "$2" -G Ninja -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
  -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ "${launcher[@]}" >/dev/null
cmake --build "$2" >"$2/build.log" 2>&1 || { tail -40 "$2/build.log" >&2; exit 1; }
qemu-aarch64-static "$2/neon_loops"
