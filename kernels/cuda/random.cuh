// Numbers of a node's random stream on the device: those that the CPU draws.
#pragma once

#include "kernels/cuda/launch.cuh"
#include "kernels/device_run.h"
#include "kernels/random_source.h"

namespace onward::kernels::cuda {

// The stream of a step.
struct DeviceStream {
  RandomStream stream;
  const uint32_t* run;  // the number of the run that holds in place of the stream's; null: none

  __device__ RandomStream Now() const {
    RandomStream now = stream;
    if (run != nullptr) now.run = *run;
    return now;
  }
};

// A pass through a body draws by a number of its own, which is the launch's.
inline DeviceStream DeviceStreamOf(const RandomSource& source, const RunContext& context) {
  const RandomStream stream = source.Stream(context);
  const auto* run = static_cast<const DeviceRun*>(context.services()->device_fault().fault);
  const bool is_runs = run != nullptr && run->number == stream.run;
  return {stream, is_runs ? &run->number : nullptr};
}

// Calls use(i, number) for the elements that are this thread's.
template <typename Numbers, typename C, typename Use>
__device__ void ForEachNumber(const RandomStream& stream, const BatchElements& elements,
                              int64_t count, const Use& use) {
  constexpr int64_t kPerBlock = Numbers::kPerBlock;
  C numbers[kPerBlock];
  if (elements.in_place()) {
    for (int64_t block = GlobalIndex(); block * kPerBlock < count; block += GlobalSize()) {
      Numbers::Draw(stream, static_cast<uint64_t>(block), numbers);
      for (int64_t k = 0, i = block * kPerBlock; k < kPerBlock && i < count; ++k, ++i)
        use(i, numbers[k]);
    }
    return;
  }
  for (int64_t i = GlobalIndex(); i < count; i += GlobalSize()) {
    const int64_t at = elements.At(i);
    Numbers::Draw(stream, static_cast<uint64_t>(at / kPerBlock), numbers);
    // An index that varies would put the numbers into memory.
    C number = numbers[0];
    for (int64_t k = 1; k < kPerBlock; ++k) number = at % kPerBlock == k ? numbers[k] : number;
    use(i, number);
  }
}

// Threads for the loop above.
template <typename Numbers>
unsigned NumberBlocks(const BatchElements& elements, int64_t count) {
  constexpr int64_t kPerBlock = Numbers::kPerBlock;
  return Blocks(elements.in_place() ? (count + kPerBlock - 1) / kPerBlock : count);
}

}  // namespace onward::kernels::cuda
