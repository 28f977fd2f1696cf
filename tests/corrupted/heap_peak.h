// The peak of the heap that a piece of code takes. Linking this replaces malloc by one that counts;
// under sanitizers their hooks count.
#pragma once

#include <cstdint>

namespace onward::fuzz {

// Counts from here on, for the whole process.
void StartHeapPeak();
// Most bytes taken at a time since then, less what was taken then.
int64_t HeapPeak();

}  // namespace onward::fuzz
