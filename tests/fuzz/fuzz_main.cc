// One libFuzzer program per harness; ONWARD_FUZZ_HARNESS names it.
#include <cstdlib>

#include "tests/fuzz/harnesses.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const onward::fuzz::Harness& harness : onward::fuzz::kHarnesses) {
    if (harness.name != ONWARD_FUZZ_HARNESS) continue;
    harness.run(data, size);
    return 0;
  }
  std::abort();
}
