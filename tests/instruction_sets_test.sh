#!/usr/bin/env bash
# Code for AVX and later stands only where a CPUID check leads to: in namespaces named after an instruction set. The linker
# keeps one copy of an inline function, and must not keep one that a file for AVX-512 made for everybody.
# Usage: instruction_sets_test.sh PROGRAM
set -euo pipefail
strays=$(objdump -d -C --no-show-raw-insn "$1" |
  awk '/^[0-9a-f]+ <.*>:$/ { name = $0; sub(/^[0-9a-f]+ </, "", name); stray = 1 }
       stray && /\tv[a-z]+[0-9a-z]* .*%[xyz]mm/ { print name; stray = 0 }' |
  grep -vE '::(avx[0-9a-z]+|amx)::|\[clone \.arch_' || true)
if [ -n "$strays" ]; then
  echo "error: functions outside the namespaces of instruction sets use AVX:" >&2
  echo "$strays" | head -20 >&2
  exit 1
fi
