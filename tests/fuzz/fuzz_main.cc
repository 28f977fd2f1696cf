// One libFuzzer program per harness; ONWARD_FUZZ_HARNESS is its function.
#include "tests/fuzz/harnesses.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  onward::fuzz::ONWARD_FUZZ_HARNESS(data, size);
  return 0;
}
